"""An event graph as sets of its vertexes: integers of any length, in which bit i is vertex i."""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from tocsin.markup.graphs.graph_pattern import PatternVertex
from tocsin.matching.graphs.definition import classes_of, equal
from tocsin.matching.graphs.tests import passes
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph


class VertexSets:
    """Classes and properties are closed upwards once, so that subsumption costs nothing in a search."""

    def __init__(self, event: EventGraph, model: ConceptModel) -> None:
        self.event = event
        self.everything = (1 << len(event.vertexes)) - 1
        self._of_class: defaultdict[str, int] = defaultdict(int)
        self._behind: defaultdict[tuple[int, str], int] = defaultdict(int)
        self._before: defaultdict[tuple[int, str], int] = defaultdict(int)
        for at, vertex in enumerate(event.vertexes):
            for each in classes_of(vertex, model):
                self._of_class[each] |= 1 << at
        for source, stated, target in ((arc.source, arc.property, arc.target) for arc in event.arcs):
            for each in model.properties_above(stated):
                self._behind[source, each] |= 1 << target
                self._before[target, each] |= 1 << source

    def of_class(self, name: str) -> int:
        return self._of_class.get(name, 0)

    def behind(self, vertex: int, name: str) -> int:
        """Where arcs of that property, or one below it, lead from there."""
        return self._behind.get((vertex, name), 0)

    def before(self, vertex: int, name: str) -> int:
        return self._before.get((vertex, name), 0)

    def fitting(self, asked: PatternVertex, among: int) -> int:
        """Those that the pattern's vertex can stand for by itself (Definition 1, condition 1)."""
        for name in asked.classes:
            among &= self.of_class(name)
        if asked.constant is None and not asked.tests:
            return among
        return sum(1 << at for at in members(among) if self._passes(asked, at))

    def _passes(self, asked: PatternVertex, at: int) -> bool:
        vertex = self.event.vertexes[at]
        return asked.constant in (None, vertex.term) and all(passes(test, vertex) for test in asked.tests)

    def equal_to(self, vertex: int, among: int, by_value: bool) -> int:
        here = self.event.vertexes[vertex]
        return sum(1 << at for at in members(among) if equal(here, self.event.vertexes[at], by_value))


@lru_cache(maxsize=4)
def sets_of(event: EventGraph, model: ConceptModel) -> VertexSets:
    """Remembered, for one event is searched for one subscriber after the other."""
    return VertexSets(event, model)


def members(vertexes: int) -> Iterator[int]:
    while vertexes:
        lowest = vertexes & -vertexes
        yield lowest.bit_length() - 1
        vertexes ^= lowest
