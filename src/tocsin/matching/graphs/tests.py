"""Whether a literal passes a test of a pattern, by the three-valued logic of SPARQL 1.1 s17.2.

A test that cannot be made is an error: it does not pass, and neither does its opposite.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any as Anything

from tocsin.markup.graphs.graph_pattern import All, Any, Compared, Like, Opposite, Spoken, Test
from tocsin.markup.regexes import compiled
from tocsin.model.literal import Kind, Value
from tocsin.semantics.events.event_graph import Vertex
from tocsin.semantics.events.literals import value_of

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
