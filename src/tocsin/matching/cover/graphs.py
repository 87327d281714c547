"""Whether one graph query takes in all that another lets through: each narrower pattern has a wider one as a part."""

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.semantics.concepts.concept_model import ConceptModel

BUDGET = 2_000  # pairs of arcs; what needs more is taken as not covered
_Bound = dict[int, int]


def graphs_cover(wide: GraphQuery, narrow: GraphQuery, model: ConceptModel) -> bool:
    """Sound: an event's vertexes for the narrower pattern are, one way back, those for the wider one too."""
    if wide.alternatives == narrow.alternatives and wide.injective == narrow.injective:
        return True
    if wide.injective != narrow.injective:
        return False
    return all(any(_Part(one, other, model).is_found() for one in wide.alternatives) for other in narrow.alternatives)


class _Part:
    """A wider pattern is looked for in a narrower one, injectively; tests are the same, or not shown to hold."""

    def __init__(self, wide: GraphPattern, narrow: GraphPattern, model: ConceptModel) -> None:
        self._wide, self._narrow, self._model = wide, narrow, model
        self._budget = BUDGET

    def is_found(self) -> bool:
        return self._takes(0, 0) and self._extends(self._wide.arcs, {0: 0})

    def _extends(self, arcs: tuple[PatternArc, ...], bound: _Bound) -> bool:
        if not arcs:
            return all(self._are_equal(bound[one], bound[other]) for one, other in self._wide.equal)
        at = next(at for at, each in enumerate(arcs) if each.source in bound)
        rest = arcs[:at] + arcs[at + 1 :]
        return any(self._extends(rest, {**bound, arcs[at].target: end}) for end in self._ends(arcs[at], bound))

    def _ends(self, arc: PatternArc, bound: _Bound) -> list[int]:
        """Where the arc may lead."""
        self._budget -= len(self._narrow.arcs)
        if self._budget < 0:
            return []
        known = bound.get(arc.target)
        ends = dict.fromkeys(each.target for each in self._narrow.arcs if self._serves(each, bound[arc.source], arc))
        if known is not None:
            return [known] if known in ends else []
        return [each for each in ends if each not in bound.values() and self._takes(arc.target, each)]

    def _serves(self, arc: PatternArc, source: int, asked: PatternArc) -> bool:
        return arc.source == source and asked.property in self._model.properties_above(arc.property)

    def _takes(self, wide: int, narrow: int) -> bool:
        one, other = self._wide.vertexes[wide], self._narrow.vertexes[narrow]
        if one.constant not in (None, other.constant) or not set(one.tests) <= set(other.tests):
            return False
        return set(one.classes) <= self._classes(other)

    def _classes(self, vertex: PatternVertex) -> frozenset[str]:
        return frozenset().union(*map(self._model.classes_above, vertex.classes))

    def _are_equal(self, one: int, other: int) -> bool:
        return one == other or not {(one, other), (other, one)}.isdisjoint(self._narrow.equal)
