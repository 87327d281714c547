"""A pattern as a sequence of steps, in an order that equal patterns have in common and that fails early.

An arc between two bound vertexes closes at once. Then come vertexes that others hang on, the rarest first; those that
hang on one arc alone come last, for they need no choice: it is enough that they all find a place.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.matching.graphs import layout as at

Step = tuple[int, int]  # as a node has it: the step, and the predicate with the kind
Rate = Callable[[int, int], float]  # of a property and a predicate: how often a statement of an event has both
_Reached = tuple[bool, float, int, int, int, int]  # a leaf or not, rate, property, predicate, where from, the vertex


def steps_of(pattern: GraphPattern, predicates: Sequence[int], properties: Sequence[int], rate: Rate) -> list[Step]:
    """`predicates` by vertex, `properties` by arc."""
    walk = _Walk(pattern, predicates, properties, rate)
    walk.go()
    return walk.steps


def positions_of(steps: Sequence[Step]) -> int:
    """How many vertexes are bound, leaves aside."""
    return sum(1 for _, predicate in steps if predicate >> at.KIND_SHIFT in (at.START, at.NEW, at.EQUAL))


def leaves_of(steps: Sequence[Step]) -> int:
    return sum(1 for _, predicate in steps if predicate >> at.KIND_SHIFT == at.LEAF)


class _Walk:
    def __init__(self, pattern: GraphPattern, predicates: Sequence[int], properties: Sequence[int], rate: Rate) -> None:
        self._predicates, self._rate = predicates, rate
        self._groups = _groups(pattern) if pattern.equal else {}
        self._bound: dict[int, int] = {}  # vertexes by their positions
        self._leading: list[list[tuple[int, int]]] = [[] for _ in predicates]  # from a vertex: properties and vertexes
        self._ending: list[list[tuple[int, int]]] = [[] for _ in predicates]  # at a vertex: vertexes and properties
        for arc, prop in dict(zip(pattern.arcs, properties, strict=True)).items():
            self._leading[arc.source].append((prop, arc.target))
            self._ending[arc.target].append((arc.source, prop))
        self._reached: list[_Reached] = []  # a heap
        self.steps: list[Step] = [(0, predicates[0] | at.START << at.KIND_SHIFT)]

    def go(self) -> None:
        self._bind(0, None)
        while self._reached:
            is_leaf, _, prop, predicate, source, target = heappop(self._reached)
            if is_leaf:
                self.steps.append((_packed(source, 0, prop), predicate | at.LEAF << at.KIND_SHIFT))
            elif target not in self._bound:
                self._take(source, prop, predicate, self._equal_to(target) if self._groups else None)
                self._bind(target, (source, prop))

    def _take(self, source: int, prop: int, predicate: int, equal: int | None) -> None:
        if equal is None:
            self.steps.append((_packed(source, 0, prop), predicate | at.NEW << at.KIND_SHIFT))
        else:
            self.steps.append((_packed(source, equal, prop), predicate | at.EQUAL << at.KIND_SHIFT))

    def _bind(self, vertex: int, by: tuple[int, int] | None) -> None:
        """The arcs that close now are steps, but for the one that led here; those that lead on are reached."""
        bound = self._bound
        here = bound[vertex] = len(bound)
        closing = {
            (bound[source], prop, here)
            for source, prop in self._ending[vertex]
            if source in bound and (bound[source], prop) != by
        }
        for prop, target in self._leading[vertex]:
            if target in bound:
                closing.add((here, prop, bound[target]))
            else:
                self._reach(here, prop, target)
        for source, prop, other in sorted(closing):
            self.steps.append((_packed(source, other, prop), at.CLOSE << at.KIND_SHIFT))

    def _reach(self, source: int, prop: int, target: int) -> None:
        """A leaf is a vertex at which one arc ends and none begins."""
        predicate = self._predicates[target]
        is_leaf = len(self._ending[target]) == 1 and not self._leading[target] and target not in self._groups
        heappush(self._reached, (is_leaf, self._rate(prop, predicate), prop, predicate, source, target))

    def _equal_to(self, vertex: int) -> int | None:
        """The position of a vertex that must have the same value and is bound already."""
        group = self._groups.get(vertex, ())
        return min((self._bound[each] for each in group if each in self._bound), default=None)


def _packed(source: int, other: int, prop: int) -> int:
    return source << at.SOURCE_SHIFT | other << at.OTHER_SHIFT | prop


def _groups(pattern: GraphPattern) -> dict[int, set[int]]:
    """For a vertex, all that must have the same value."""
    groups: dict[int, set[int]] = {}
    for one, other in pattern.equal:
        together = groups.get(one, {one}) | groups.get(other, {other})
        groups |= dict.fromkeys(together, together)
    return groups
