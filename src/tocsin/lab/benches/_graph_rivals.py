"""Others that find graph patterns in an event, one after the other: what Python can call.

Each is given the subscriptions before, in the form it likes best, and takes an event as ours does. They are for the
paper's workload, in which a vertex has one class, and no class is above another.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import combinations
from operator import eq
from typing import Any

from pyoxigraph import BlankNode, NamedNode, Quad, Store

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternVertex
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
