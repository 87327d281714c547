"""Rival libraries that search graph patterns one after the other, and the race against them.

Each is given the subscriptions before, in the form it likes best, and takes an event as ours does. They are for the
paper's workload, in which a vertex has one class, and no class is above another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import combinations
from operator import eq
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pyoxigraph import BlankNode, NamedNode, Quad, Store

from tocsin.lab import bench
from tocsin.lab.bench import Result, Timing, against_floor, race
from tocsin.lab.benches._growth import PAPER, WORKLOADS, filled
from tocsin.lab.benches._matching import Work, over, race_by_cpu
from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternVertex
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, Vertex
from tocsin.semantics.interest.ino_vocabulary import TYPE

IGRAPH, RUSTWORKX = "igraph, VF2 one by one", "rustworkx, VF2 one by one"
BY_HOME = " of that class of home"
OXIGRAPH = "pyoxigraph, ASK one by one"
PACKAGES = {IGRAPH: "igraph", RUSTWORKX: "rustworkx"}
HOME = "urn:example:home"

Rival = Callable[[EventGraph], list[int]]
Holds = Callable[[Any, Any], bool]  # of an event and a pattern, as the library has them


def missing(rival: str) -> str:
    """The package that it needs and that is not installed."""
    name = PACKAGES.get(rival.removesuffix(BY_HOME), "pyoxigraph")
    return "" if find_spec(name) else name


def igraph_vf2(queries: Iterable[GraphQuery], by_home: bool) -> Rival:
    """Classes and properties are integer colours, and home has colours of its own."""
    import igraph

    colours: defaultdict[object, int] = defaultdict(lambda: len(colours))

    def graph(of: EventGraph | GraphPattern) -> tuple[Any, list[int], list[int]]:
        arcs = [(each.source, each.target) for each in of.arcs]
        made = igraph.Graph(n=len(of.vertexes), edges=arcs, directed=True)
        return made, [colours[each] for each in _kinds(of)], [colours[each.property] for each in of.arcs]

    def holds(event: tuple[Any, list[int], list[int]], asked: tuple[Any, list[int], list[int]]) -> bool:
        (large, vertexes, arcs), (small, asked_vertexes, asked_arcs) = event, asked
        return bool(large.subisomorphic_vf2(small, vertexes, asked_vertexes, arcs, asked_arcs))

    return _one_by_one(queries, graph, holds, by_home)


def rustworkx_vf2(queries: Iterable[GraphQuery], by_home: bool) -> Rival:
    """Integers stand for classes and properties; `operator.eq` compares them, which is the quickest that Python has."""
    import rustworkx

    numbers: defaultdict[object, int] = defaultdict(lambda: len(numbers))

    def graph(of: EventGraph | GraphPattern) -> Any:
        made = rustworkx.PyDiGraph()
        made.add_nodes_from([numbers[each] for each in _kinds(of)])
        made.add_edges_from([(each.source, each.target, numbers[each.property]) for each in of.arcs])
        return made

    def holds(event: Any, asked: Any) -> bool:
        return bool(rustworkx.is_subgraph_isomorphic(event, asked, eq, eq, induced=False))

    return _one_by_one(queries, graph, holds, by_home)


def oxigraph_ask(queries: Iterable[GraphQuery]) -> Rival:
    asking = [_ask(query.alternatives[0]) for query in queries]

    def match(event: EventGraph) -> list[int]:
        store = Store()
        store.extend(_quads(event))
        return [atom for atom, text in enumerate(asking) if store.query(text)]

    return match


def _one_by_one(queries: Iterable[GraphQuery], graph: Callable[[Any], Any], holds: Holds, by_home: bool) -> Rival:
    groups: dict[object, list[tuple[int, Any]]] = {}
    for atom, query in enumerate(queries):
        (pattern,) = query.alternatives
        groups.setdefault(pattern.vertexes[0].classes if by_home else None, []).append((atom, graph(pattern)))

    def match(event: EventGraph) -> list[int]:
        large = graph(event)
        asking = groups.get(event.vertexes[0].classes if by_home else None, ())
        return [atom for atom, small in asking if holds(large, small)]

    return match


def _kinds(of: EventGraph | GraphPattern) -> Iterator[tuple[tuple[str, ...], bool]]:
    vertexes: Sequence[Vertex | PatternVertex] = of.vertexes
    return ((each.classes, at == 0) for at, each in enumerate(vertexes))


def _ask(pattern: GraphPattern) -> str:
    """Vertexes of different classes are different anyway: only the others are told to be."""
    names = [f"<{HOME}>", *(f"?v{at}" for at in range(1, len(pattern.vertexes)))]
    classes = [each.classes[0] for each in pattern.vertexes]
    wanted = [f"{name} a <{each}> ." for name, each in zip(names, classes, strict=True)]
    wanted += [f"{names[each.source]} <{each.property}> {names[each.target]} ." for each in pattern.arcs]
    apart = [
        f"{names[one]} != {names[other]}"
        for one, other in combinations(range(len(names)), 2)
        if classes[one] == classes[other]
    ]
    different = f"FILTER({' && '.join(apart)})" if apart else ""
    return f"ASK {{ {' '.join(wanted)} {different} }}"


def _quads(event: EventGraph) -> Iterator[Quad]:
    nodes: list[NamedNode | BlankNode] = [NamedNode(HOME), *map(_node, event.vertexes[1:])]
    for node, vertex in zip(nodes, event.vertexes, strict=True):
        yield from (Quad(node, TYPE, NamedNode(each)) for each in vertex.classes)
    yield from (Quad(nodes[each.source], NamedNode(each.property), nodes[each.target]) for each in event.arcs)


def _node(vertex: Vertex) -> BlankNode:
    return BlankNode(vertex.term.removeprefix("_:"))


if TYPE_CHECKING:
    from tocsin.matching.graphs.index import GraphIndex

OURS = "ours"
NOTES = {
    IGRAPH: "integers for colours",
    RUSTWORKX: "integers for classes and properties",
    OXIGRAPH: "its binding for Python has no prepared queries, so that each text is parsed again",
}
MAKERS: Mapping[str, Callable[[Sequence[GraphQuery]], Rival]] = {
    IGRAPH + BY_HOME: lambda queries: igraph_vf2(queries, by_home=True),
    RUSTWORKX + BY_HOME: lambda queries: rustworkx_vf2(queries, by_home=True),
    IGRAPH: lambda queries: igraph_vf2(queries, by_home=False),
    RUSTWORKX: lambda queries: rustworkx_vf2(queries, by_home=False),
    OXIGRAPH: oxigraph_ask,
}
FASTER: Mapping[str, float] = {IGRAPH + BY_HOME: 100, RUSTWORKX + BY_HOME: 100, OXIGRAPH: 1_000}


class Pace(Struct, frozen=True):
    """How many events are compared, and how long it is raced: some rivals take seconds for an event."""

    events: int
    rounds: int
    calls: int | None = None


PACES = {BY_HOME: Pace(10, 15), "": Pace(2, 5), OXIGRAPH: Pace(1, 2, calls=1)}


class Stand(Struct, frozen=True):
    index: GraphIndex
    model: ConceptModel
    queries: list[GraphQuery]
    events: list[EventGraph]

    def match(self, event: EventGraph) -> object:
        return self.index.match(event, self.model)

    def found(self, event: EventGraph) -> list[int]:
        return found_by(self.index, event, self.model)


def stand(seed: int, subscriptions: int, events: int) -> Stand:
    drawn = WORKLOADS[PAPER](seed)
    queries = list(drawn.queries(subscriptions))
    index, _ = filled(iter(queries))
    return Stand(index, drawn.model, queries, list(drawn.events(events)))


def found_by(index: GraphIndex, event: EventGraph, model: ConceptModel) -> list[int]:
    found = index.match(event, model)
    assert not len(found.undecided)
    atoms: list[int] = sorted(found.atoms.tolist())
    return atoms


def against_rivals(ours: Stand, rounds: int) -> Iterator[Result]:
    for names, pace in (
        ((IGRAPH + BY_HOME, RUSTWORKX + BY_HOME), PACES[BY_HOME]),
        ((IGRAPH, RUSTWORKX), PACES[""]),
        ((OXIGRAPH,), PACES[OXIGRAPH]),
    ):
        there = {name: MAKERS[name](ours.queries) for name in names if not missing(name)}
        check_rivals(ours, there, pace.events)
        timings = raced(ours, there, Pace(pace.events, min(rounds, pace.rounds), pace.calls))
        yield from (compared(ours, name, timings, pace) for name in names)


def check_rivals(ours: Stand, there: Mapping[str, Rival], count: int) -> None:
    """Who gives another answer is no rival."""
    for event in ours.events[:count]:
        expected = ours.found(event)
        for rival in there.values():
            assert rival(event) == expected


def raced(ours: Stand, there: Mapping[str, Rival], pace: Pace) -> dict[str, Timing]:
    works: dict[str, Work] = {name: over(rival, ours.events) for name, rival in there.items()}
    if pace.calls is None:
        return race_by_cpu({OURS: over(ours.match, ours.events), **works}, rounds=pace.rounds, slice_ms=40)
    several = race_by_cpu({OURS: over(ours.match, ours.events)}, rounds=pace.rounds, slice_ms=40)
    return several | race(works, rounds=pace.rounds, calls=pace.calls, clock=thread_time_ns)


def compared(ours: Stand, name: str, timings: Mapping[str, Timing], pace: Pace) -> Result:
    case = f"{len(ours.queries):,} subscriptions"
    sizes = {"subscriptions": len(ours.queries), "distinct": len(set(ours.queries)), "compared": pace.events}
    note, timing = NOTES[name.removesuffix(BY_HOME)], timings[OURS]
    if package := missing(name):
        note = f"{package} is not installed; requirements/development.txt has it"
        return against_floor(case, timing.median, "µs", name, None, sizes=sizes, timing=timing, note=note)
    return bench.compared(case, timings, OURS, name, target=FASTER.get(name), sizes=sizes, note=note)
