"""Events and patterns that are hard to search, and what is true of them."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

THING, ALONG = "urn:example:class0", "urn:example:property0"
Answer = Literal["right", "undecided"]
Ways = Sequence[tuple[int, int]]


class Hard(Struct, frozen=True):
    """`holds` is what is true."""

    case: str
    event: EventGraph
    query: GraphQuery
    holds: bool


def hard() -> Iterator[Hard]:
    star, arms = _star(40), _arms(40)
    yield Hard("40 siblings, 40 are asked for", _event(41, star), _query(41, star), True)
    yield Hard("40 siblings, 41 are asked for", _event(41, star), _query(42, _star(41)), False)
    yield Hard("40 arms of two, all are asked for", _event(81, arms), _query(81, arms), True)
    yield Hard("40 arms of two, one is cut off", _event(80, arms[:-1]), _query(81, arms), False)
    yield Hard("clique of 12, in one of 12", _event(12, _clique(12)), _query(12, _clique(12)), True)
    yield Hard("clique of 13, in one of 12", _event(12, _clique(12)), _query(13, _clique(13)), False)
    yield Hard("chain of 200", _event(200, _chain(200)), _query(200, _chain(200)), True)
    yield Hard("chain of 200, in one of 199", _event(199, _chain(199)), _query(200, _chain(200)), False)


def _star(siblings: int) -> Ways:
    return [(0, each) for each in range(1, siblings + 1)]


def _arms(count: int) -> Ways:
    """From home to each odd vertex, and from there on to the next."""
    return [way for each in range(1, 2 * count, 2) for way in ((0, each), (each, each + 1))]


def _clique(size: int) -> Ways:
    return [(one, other) for one in range(size) for other in range(size) if one != other]


def _chain(length: int) -> Ways:
    return [(each, each + 1) for each in range(length - 1)]


def _event(vertexes: int, ways: Ways) -> EventGraph:
    names = [HOME, *(f"_:b{at}" for at in range(1, vertexes))]
    return EventGraph(
        tuple(Vertex(each, (THING,)) for each in names), tuple(Arc(source, ALONG, target) for source, target in ways)
    )


def _query(vertexes: int, ways: Ways) -> GraphQuery:
    names = [HOME, *(f"?{at}" for at in range(1, vertexes))]
    arcs = tuple(PatternArc(source, ALONG, target) for source, target in ways)
    return GraphQuery((GraphPattern(tuple(PatternVertex(each, (THING,)) for each in names), arcs),))
