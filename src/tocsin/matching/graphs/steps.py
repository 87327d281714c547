"""A pattern as a sequence of steps, in an order that equal patterns have in common and that fails early.

An arc between two bound vertexes closes at once. Then come vertexes that others hang on, the rarest first; those that
hang on one arc alone come last, for they need no choice: it is enough that they all find a place.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count

from tocsin.markup.graph_pattern import GraphPattern
from tocsin.matching.graphs import layout as at

Step = tuple[int, int]  # as a node has it: the step, and the predicate with the kind
Rate = Callable[[int, int], float]  # of a property and a predicate: how often a statement of an event has both
# Whether it is a leaf, its rate, the property, the predicate, the position it starts at; a number; and the vertex.
_Reached = tuple[bool, float, int, int, int, int, int]


def steps_of(pattern: GraphPattern, predicates: Sequence[int], properties: Sequence[int], rate: Rate) -> list[Step]:
    """`predicates` by vertex, `properties` by arc."""
    return list(_Walk(pattern, predicates, properties, rate))


def positions_of(steps: Sequence[Step]) -> int:
    """How many vertexes are bound, leaves aside."""
    return sum(1 for _, predicate in steps if predicate >> at.KIND_SHIFT in (at.START, at.NEW, at.EQUAL))


def leaves_of(steps: Sequence[Step]) -> int:
    return sum(1 for _, predicate in steps if predicate >> at.KIND_SHIFT == at.LEAF)


class _Walk:
    def __init__(self, pattern: GraphPattern, predicates: Sequence[int], properties: Sequence[int], rate: Rate) -> None:
        self._predicates, self._rate = predicates, rate
        self._groups = _groups(pattern)
        self._leaves = _leaves(pattern) - self._groups.keys()
        self._bound: dict[int, int] = {}  # vertexes by their positions
        self._leading: dict[int, list[tuple[int, int]]] = {}  # from a vertex: properties and vertexes
        self._ending: dict[int, list[tuple[int, int]]] = {}  # at a vertex: vertexes and properties
        for arc, prop in dict(zip(pattern.arcs, properties, strict=True)).items():
            self._leading.setdefault(arc.source, []).append((prop, arc.target))
            self._ending.setdefault(arc.target, []).append((arc.source, prop))
        self._number = count()
        self._reached: list[_Reached] = []  # a heap

    def __iter__(self) -> Iterator[Step]:
        yield 0, self._predicates[0] | at.START << at.KIND_SHIFT
        yield from self._bind(0, None)
        while self._reached:
            is_leaf, _, prop, predicate, source, _, target = heappop(self._reached)
            if is_leaf:
                yield _packed(source, 0, prop), predicate | at.LEAF << at.KIND_SHIFT
            elif target not in self._bound:
                yield self._new(source, prop, predicate, self._equal_to(target))
                yield from self._bind(target, (source, prop))

    def _new(self, source: int, prop: int, predicate: int, equal: int | None) -> Step:
        if equal is None:
            return _packed(source, 0, prop), predicate | at.NEW << at.KIND_SHIFT
        return _packed(source, equal, prop), predicate | at.EQUAL << at.KIND_SHIFT

    def _bind(self, vertex: int, by: tuple[int, int] | None) -> Iterator[Step]:
        """The arcs that close now are the steps, but for the one that led here; those that lead on are reached."""
        bound = self._bound
        here = bound[vertex] = len(bound)
        closing = {
            (bound[source], prop, here)
            for source, prop in self._ending.get(vertex, ())
            if source in bound and (bound[source], prop) != by
        }
        for prop, target in self._leading.get(vertex, ()):
            if target in bound:
                closing.add((here, prop, bound[target]))
            else:
                self._reach(here, prop, target)
        for source, prop, other in sorted(closing):
            yield _packed(source, other, prop), at.CLOSE << at.KIND_SHIFT

    def _reach(self, source: int, prop: int, target: int) -> None:
        predicate = self._predicates[target]
        rate = self._rate(prop, predicate)
        heappush(self._reached, (target in self._leaves, rate, prop, predicate, source, next(self._number), target))

    def _equal_to(self, vertex: int) -> int | None:
        """The position of a vertex that must have the same value and is bound already."""
        group = self._groups.get(vertex, ())
        return min((self._bound[each] for each in group if each in self._bound), default=None)


def _packed(source: int, other: int, prop: int) -> int:
    return source << at.SOURCE_SHIFT | other << at.OTHER_SHIFT | prop


def _leaves(pattern: GraphPattern) -> set[int]:
    """The vertexes, home aside, at which one arc ends and none begins."""
    ends: dict[int, int] = {}
    for arc in set(pattern.arcs):
        ends[arc.target] = ends.get(arc.target, 0) + 1
    sources = {arc.source for arc in pattern.arcs}
    return {vertex for vertex, count in ends.items() if count == 1 and vertex and vertex not in sources}


def _groups(pattern: GraphPattern) -> dict[int, set[int]]:
    """For a vertex, all that must have the same value."""
    groups: dict[int, set[int]] = {}
    for one, other in pattern.equal:
        together = groups.get(one, {one}) | groups.get(other, {other})
        groups |= dict.fromkeys(together, together)
    return groups
