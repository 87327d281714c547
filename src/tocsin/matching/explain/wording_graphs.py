"""What graph patterns ask for and what event graphs have, in words."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import assert_never

from tocsin.markup.graphs.graph_pattern import All, Any, Compared, Like, Opposite, Spoken, Test
from tocsin.matching.explain.wording import constant_text, number_text, shortened
from tocsin.model.literal import Kind, Value
from tocsin.semantics.events.event_graph import Vertex

Short = Callable[[str], str]  # an IRI as people know it
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def test_text(test: Test) -> str:
    """What follows `is` or `is not`."""
    match test:
        case Compared(how, value):
            return f"{how} {value_text(value)}"
        case Like(regex, flags):
            return f"like /{shortened(regex)}/{flags}"
        case Spoken(language):
            return f"in the language {language}"
        case All(tests):
            return " and ".join(map(_inside, tests))
        case Any(tests):
            return " or ".join(map(_inside, tests))
        case Opposite(negated):
            return f"not ({test_text(negated)})"
        case _:
            assert_never(test)


def _inside(test: Test) -> str:
    return f"({test_text(test)})" if isinstance(test, All | Any) else test_text(test)


def value_text(value: Value) -> str:
    match value.kind:
        case Kind.NUMBER:
            return number_text(value.number)
        case Kind.BOOLEAN:
            return constant_text(bool(value.number))
        case Kind.TIME:
            return _time_text(value.number)
        case Kind.STRING:
            return constant_text(value.text)
    return shortened(value.text)


def _time_text(seconds: float) -> str:
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:  # of a year with five digits
        return f"{number_text(seconds)} s"


def vertex_text(vertex: Vertex, short: Short) -> str:
    """A literal by what it says, a thing by its name, or by its classes where it has none."""
    if vertex.lexical is not None:
        return constant_text(vertex.lexical)
    name = term_text(vertex.term, short)
    return f"{name} ({' and '.join(map(short, vertex.classes))})" if vertex.term.startswith("_:") else name


def term_text(term: str, short: Short) -> str:
    return short(term[1:-1]) if term.startswith("<") else shortened(term)
