"""Graphs of numbers by a seed, large ones and connected parts of such: what workloads of graph patterns are made of.

Graphs that are independent at random never match each other. Here each kind of a home vertex has a few types of graphs:
a graph is one of them with some vertexes grown elsewhere, and a part is one of another such graph.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

from msgspec import Struct

Way = tuple[int, int, int]  # from a vertex along a property to a vertex
Schema = Sequence[Sequence[tuple[int, int]]]  # for a kind of vertexes: properties, and the kinds they lead to


class Shape(Struct, frozen=True):
    """The numbers of OPS s6; `types` are those of graphs for each kind of home, `regrown` vertexes are elsewhere. Of
    what is asked for, `around` vertexes at least are not needed by the arcs that close circles."""

    vertexes: int = 50
    arcs: int = 55
    asked_vertexes: int = 10
    asked_arcs: int = 11
    types: int = 2
    regrown: int = 8
    around: int = 5


class Draft(NamedTuple):
    """The kind of each vertex, of which 0 is home, and the arcs."""

    kinds: Sequence[int]
    arcs: Sequence[Way]


class Core(Struct, frozen=True):
    """What a part with certain closing arcs must have: home, the ends of those arcs, and the tree that leads there."""

    vertexes: tuple[int, ...]
    arcs: tuple[Way, ...]
    leaving: tuple[Way, ...]  # along the tree to where the part may grow


class Type(Struct, frozen=True):
    """A tree, in the order in which it grew: arc i leads to vertex i + 1. The arcs that close circles come after it."""

    kinds: list[int]
    arcs: list[Way]
    leading: list[list[Way]]  # from each vertex, along the tree
    leaves: list[int]
    cores: list[Core]


class Moved(NamedTuple):
    """Leaves that were grown elsewhere: the kinds of all vertexes, the ways there by the leaf, and by the source."""

    kinds: list[int]
    to: dict[int, Way]
    leading: dict[int, list[Way]]


class Drafts:
    def __init__(self, schema: Schema, homes: Sequence[int], shape: Shape, random: Random) -> None:
        self._schema, self._shape, self._random = schema, shape, random
        self._types = [self._type(home) for home in homes for _ in range(shape.types)]

    def graph(self) -> Draft:
        found = self._random.choice(self._types)
        moved, arcs = self._moved(found), found.arcs.copy()
        for leaf, way in moved.to.items():
            arcs[leaf - 1] = way
        return Draft(moved.kinds, arcs)

    def large_graph(self, vertexes: int) -> Draft:
        """One that went on growing."""
        draft = self.graph()
        kinds, arcs = list(draft.kinds), list(draft.arcs)
        while len(kinds) < vertexes:
            source, along, leads_to = self._step(kinds)
            arcs.append((source, along, len(kinds)))
            kinds.append(leads_to)
        return Draft(kinds, arcs)

    def part(self) -> Draft:
        """Closing arcs are chosen first, and the rest grows around them."""
        found = self._random.choice(self._types)
        moved, core = self._moved(found), self._random.choice(found.cores)
        vertexes, arcs = list(core.vertexes), list(core.arcs)
        leaving = [*core.leaving, *(way for way in moved.to.values() if way[0] in core.vertexes)]
        while len(vertexes) < self._shape.asked_vertexes:
            way = self._taken(leaving)
            target = way[2]
            if moved.to.get(target, way) is way:
                vertexes.append(target)
                arcs.append(way)
                leaving += found.leading[target]
                leaving += moved.leading.get(target, ())
        place = {vertex: at for at, vertex in enumerate(vertexes)}
        return Draft([moved.kinds[each] for each in vertexes], [(place[s], p, place[t]) for s, p, t in arcs])

    def _taken(self, ways: list[Way]) -> Way:
        at = int(self._random.random() * len(ways))
        ways[at], ways[-1] = ways[-1], ways[at]
        return ways.pop()

    def _moved(self, found: Type) -> Moved:
        """No leaf moves below another that moves."""
        leaves = self._random.sample(found.leaves, self._shape.regrown)
        moved = Moved(found.kinds.copy(), {}, {})
        for leaf in leaves:
            source, along, leads_to = self._step(found.kinds, leaves)
            moved.kinds[leaf] = leads_to
            moved.to[leaf] = way = (source, along, leaf)
            moved.leading.setdefault(source, []).append(way)
        return moved

    def _step(self, kinds: Sequence[int], but: Sequence[int] = ()) -> Way:
        """From some vertex along a property to a kind."""
        random = self._random.random
        while True:
            source = int(random() * len(kinds))
            ways = self._schema[kinds[source]]
            if ways and source not in but:
                return source, *ways[int(random() * len(ways))]

    def _type(self, home: int) -> Type:
        while True:
            kinds, arcs = [home], list[Way]()
            while len(kinds) < self._shape.vertexes:
                source, along, leads_to = self._step(kinds)
                arcs.append((source, along, len(kinds)))
                kinds.append(leads_to)
            joined = {(source, target) for source, _, target in arcs}
            while len(arcs) < self._shape.arcs:
                arcs += self._closing(kinds, joined)
            made = _type_of(kinds, arcs, self._shape)
            if made.cores and len(made.leaves) >= self._shape.regrown:
                return made

    def _closing(self, kinds: Sequence[int], joined: set[tuple[int, int]]) -> Iterator[Way]:
        """One arc more between vertexes that are there, as the schema has it; or none.

        Two vertexes have one arc at most, and none to itself, for some libraries know no other graphs.
        """
        source, along, leads_to = self._step(kinds)
        targets = [at for at, each in enumerate(kinds) if each == leads_to and self._schema[each] and at != source]
        if targets and (pair := (source, self._random.choice(targets))) not in joined:
            joined.add(pair)
            yield source, along, pair[1]


def _type_of(kinds: list[int], arcs: list[Way], shape: Shape) -> Type:
    tree, closing = arcs[: len(kinds) - 1], arcs[len(kinds) - 1 :]
    leading: list[list[Way]] = [[] for _ in kinds]
    for way in tree:
        leading[way[0]].append(way)
    ends = {target for _, _, target in closing} | {source for source, _, _ in closing}
    leaves = [at for at in range(1, len(kinds)) if not leading[at] and at not in ends]
    asked = shape.asked_arcs - shape.asked_vertexes + 1
    cores = [(_needed(tree, chosen), chosen) for chosen in combinations(closing, asked)]
    most = shape.asked_vertexes - shape.around
    return Type(kinds, arcs, leading, leaves, [_core(tree, *each) for each in cores if len(each[0]) <= most])


def _needed(tree: Sequence[Way], closing: Sequence[Way]) -> set[int]:
    """Home, the ends of some arcs, and all between."""
    vertexes, waiting = {0}, [end for source, _, target in closing for end in (source, target)]
    while waiting:
        vertex = waiting.pop()
        if vertex not in vertexes:
            vertexes.add(vertex)
            waiting.append(tree[vertex - 1][0])
    return vertexes


def _core(tree: Sequence[Way], vertexes: set[int], closing: Sequence[Way]) -> Core:
    inner = tuple(way for way in tree if way[2] in vertexes)
    leaving = tuple(way for way in tree if way[0] in vertexes and way[2] not in vertexes)
    return Core(tuple(sorted(vertexes)), (*inner, *closing), leaving)
