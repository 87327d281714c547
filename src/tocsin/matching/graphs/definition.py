"""What a vertex must be to be matched (OPS s5.1, Definition 1), and the tests of literals (SPARQL 1.1 s17.2)."""

import operator
from collections.abc import Callable, Iterable
from typing import Any as Anything

from tocsin.markup.graphs.graph_pattern import (
    All,
    Any,
    Compared,
    Like,
    Opposite,
    PatternVertex,
    Spoken,
    Test,
)
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.markup.regexes import compiled
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Vertex, value_of


def fits(asked: PatternVertex, vertex: Vertex, model: ConceptModel) -> bool:
    """Condition 1; several classes are asked for at once."""
    return (
        classes_of(vertex, model).issuperset(asked.classes)
        and asked.constant in (None, vertex.term)
        and all(passes(test, vertex) for test in asked.tests)
    )


def classes_of(vertex: Vertex, model: ConceptModel) -> frozenset[str]:
    """Those that are stated and all above them."""
    return frozenset().union(*(model.classes_above(stated) for stated in vertex.classes))


def equal(left: Vertex, right: Vertex, by_value: bool) -> bool:
    """Values of two kinds are not equal, nor is what is not a number to itself."""
    if not by_value:
        return left.term == right.term
    one, other = value_of(left), value_of(right)
    return (one.kind, one.text) == (other.kind, other.text) and one.number == other.number


_COMPARISONS: dict[str, Callable[[Anything, Anything], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


def passes(test: Test, vertex: Vertex) -> bool:
    return verdict(test, vertex) is True


def verdict(test: Test, vertex: Vertex) -> bool | None:
    """None is an error; a thing has no value, so all its tests are errors."""
    if vertex.lexical is None:
        return None
    match test:
        case Compared(how, value):
            return _compares(value_of(vertex), how, value)
        case Like():
            return _is_like(vertex, vertex.lexical, test)
        case Spoken(range_):
            return speaks(vertex.language, range_)
        case Opposite(denied):
            found = verdict(denied, vertex)
            return None if found is None else not found
        case All(tests):
            return _weakest(verdict(each, vertex) for each in tests)
        case Any(tests):
            found = _weakest(_denied(verdict(each, vertex)) for each in tests)
            return _denied(found)


def speaks(language: str, range_: str) -> bool:
    """Basic filtering (RFC 4647 s3.3.1); `*` is any language, and no language is none."""
    if range_ == "*":
        return bool(language)
    tag, wanted = language.lower(), range_.lower()
    return bool(wanted) and (tag == wanted or tag.startswith(f"{wanted}-"))


def _compares(left: Value, how: str, right: Value) -> bool | None:
    """The order of truths is false, true; what is equal to itself alone has none."""
    if left.kind != right.kind or (left.kind is Kind.OTHER and (how not in ("=", "!=") or left.text != right.text)):
        return None
    if left.kind in (Kind.STRING, Kind.OTHER):
        return _COMPARISONS[how](left.text, right.text)
    return _COMPARISONS[how](left.number, right.number)


def _is_like(vertex: Vertex, lexical: str, like: Like) -> bool | None:
    if value_of(vertex).kind is not Kind.STRING:
        return None
    return compiled(like).search(lexical) is not None


def _weakest(found: Iterable[bool | None]) -> bool | None:
    """False before an error, an error before true."""
    worst: bool | None = True
    for each in found:
        if each is False:
            return False
        worst = worst if each else None
    return worst


def _denied(found: bool | None) -> bool | None:
    return None if found is None else not found
