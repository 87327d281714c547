"""Filters, conditions, tests and terms written as text for people."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import assert_never

from tocsin.markup import cesql_terms as terms
from tocsin.markup.cesql_terms import Term
from tocsin.markup.conditions import (
    Attribute,
    Compare,
    Computed,
    Condition,
    Constant,
    Every,
    Exists,
    JsonPath,
    Negated,
    Path,
    Some,
    XmlPath,
)
from tocsin.markup.graphs.graph_pattern import All, Any, Compared, Like, Opposite, Spoken, Test
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.mediation.expressions import BoxAsSaid, box_text
from tocsin.model.content_topic import write_box, write_point
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    ForNotifier,
    Graph,
    InBox,
    Not,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.space import Coordinate, Dimension, InformationSpace, Interval, Side
from tocsin.model.topics import written_path
from tocsin.semantics.events.event_graph import Vertex

LONGEST = 120
_CATEGORY = "category:"
_NONE: Mapping[str, InformationSpace] = {}


def filter_text(asked: Filter, spaces: Mapping[str, InformationSpace] = _NONE) -> str:
    """The words are those of the dialects the filters come from; times are told as such where their space is known."""
    match asked:
        case TopicIs():
            return f"topic {topic_text(asked)}"
        case TypeIs(names):
            return f"type {' '.join(names)}"
        case ProducerIs(addresses, categories):
            return f"producer {' '.join((*addresses, *(_CATEGORY + each for each in categories)))}"
        case BoxAsSaid():
            return f"content topic {box_text(asked)}"
        case InBox(space, sides):
            return f"content topic {space}:{'/'.join(_side_texts(sides, spaces.get(space)))}"
        case Content(language, text, over):
            return f"{language} over {over} {text}"
        case Graph(language, text):
            return f"graph {'pattern' if language == 'pattern' else 'in SPARQL'} {' '.join(text.split())}"
        case ActionIs(actions):
            return f"action {' '.join(actions)}"
        case AttributeIs(name, how, value):
            return f"{name} {how} {value!r}"
        case ForNotifier(name):
            return f"from notifier {name}"
        case AllOf(filters):
            return f"all ({', '.join(filter_text(each, spaces) for each in filters)})"
        case AnyOf(filters):
            return f"any ({', '.join(filter_text(each, spaces) for each in filters)})"
        case Not(negated):
            return f"not {filter_text(negated, spaces)}"
        case _:
            assert_never(asked)


def topic_text(expression: TopicIs) -> str:
    """The expression with names in Clark's form, alternatives by `|`."""
    return "|".join(map(written_path, expression.alternatives))


def _side_texts(sides: Sequence[Side], space: InformationSpace | None) -> Iterable[str]:
    if space is None or len(space.dimensions) != len(sides):
        return map(side_text, sides)
    return map(side_text, sides, space.dimensions)


def side_text(side: Side, dimension: Dimension | None = None) -> str:
    """As a content topic has it; where the dimension is not known, a time is a number."""
    known = dimension or Dimension("", "number" if isinstance(side, Interval) else "string")
    return write_box(InBox("", (side,)), InformationSpace("", (known,))).removeprefix(":")


def coordinate_text(value: Coordinate, dimension: Dimension) -> str:
    return value if isinstance(value, str) else write_point((value,), InformationSpace("", (dimension,)))[1:]


def number_text(value: float) -> str:
    """A whole number without its decimal point."""
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def constant_text(value: Constant) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return number_text(value)
        case str():
            return repr(shortened(value))


def shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def listed(texts: Iterable[str], most: int = 5) -> str:
    """Some of many, and how many more there are."""
    every = list(texts)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


Prefixes = Mapping[str, str]  # by namespace


def condition_text(condition: Condition, prefixes: Prefixes) -> str:
    match condition:
        case Compare(path, how, value):
            return f"{path_text(path, prefixes)} {how} {constant_text(value)}"
        case Exists(path):
            return path_text(path, prefixes)
        case Every(conditions):
            return " and ".join(_inside(each, prefixes) for each in conditions) or "true()"
        case Some(conditions):
            return " or ".join(_inside(each, prefixes) for each in conditions) or "false()"
        case Negated(negated):
            return f"not({condition_text(negated, prefixes)})"
        case Computed(term, outcome):
            return sql_text(term) if outcome else f"NOT ({sql_text(term)})"
        case _:
            assert_never(condition)


def _inside(condition: Condition, prefixes: Prefixes) -> str:
    text = condition_text(condition, prefixes)
    return f"({text})" if isinstance(condition, Every | Some) else text


def sql_text(term: Term) -> str:
    """CloudEvents SQL."""
    match term:
        case terms.Literal(value):
            return constant_text(float(value) if type(value) is int else value)
        case terms.Identifier(name):
            return name
        case terms.Present(name):
            return f"EXISTS {name}"
        case terms.Not(negated):
            return f"NOT {_operand(negated)}"
        case terms.Minus(negated):
            return f"-{_operand(negated)}"
        case terms.Like(liked, pattern):
            return f"{_operand(liked)} LIKE {constant_text(pattern)}"
        case terms.In(wanted, elements):
            return f"{_operand(wanted)} IN ({', '.join(map(sql_text, elements))})"
        case terms.Call(name, arguments):
            return f"{name}({', '.join(map(sql_text, arguments))})"
        case terms.Chain(first, rest):
            return " ".join((_operand(first), *(f"{how} {_operand(each)}" for how, each in rest)))
        case _:
            assert_never(term)


def _operand(term: Term) -> str:
    is_one = isinstance(term, terms.Literal | terms.Identifier | terms.Call)
    return sql_text(term) if is_one else f"({sql_text(term)})"


def path_text(path: Path, prefixes: Prefixes) -> str:
    match path:
        case XmlPath():
            return _xml_path_text(path, prefixes)
        case JsonPath(steps):
            return f"${''.join(f'[{each}]' if isinstance(each, int) else _member(each) for each in steps)}"
        case Attribute(name):
            return name
        case _:
            assert_never(path)


def _member(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"[{name!r}]"


def _xml_path_text(path: XmlPath, prefixes: Prefixes) -> str:
    text = "" if path.absolute else "."
    for step in path.steps:
        text += f"{'//' if step.deep else '/'}{_prefixed(step.name, prefixes)}"
    if path.having is not None:
        text += f"[{condition_text(path.having, prefixes)}]"
    leaf = f"/@{_prefixed(path.leaf[1:], prefixes)}" if path.leaf.startswith("@") else f"/{path.leaf}"
    return ((text + leaf if path.leaf else text) or "/").removeprefix("./")


def _prefixed(name: str, prefixes: Prefixes) -> str:
    """As the subscriber wrote it, where the namespace has a prefix."""
    namespace, brace, local = name[1:].partition("}")
    if not name.startswith("{") or not brace or namespace not in prefixes:
        return name
    return f"{prefixes[namespace]}:{local}" if prefixes[namespace] else local


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
            return " and ".join(map(_nested, tests))
        case Any(tests):
            return " or ".join(map(_nested, tests))
        case Opposite(negated):
            return f"not ({test_text(negated)})"
        case _:
            assert_never(test)


def _nested(test: Test) -> str:
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
