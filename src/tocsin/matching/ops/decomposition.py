"""The decomposition of Messmer and Bunke (IEEE TKDE 12(2), 2000), the rival in Fig. 8 (b) of the OPS paper.

Patterns are cut into parts down to single vertexes, and patterns share the parts they have in common. An event is
matched from below: the places of a part are those of its two halves that are disjoint and linked as they must be.
"""

from itertools import product
from typing import Generic, TypeVar

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.matching.ops.halving import halves
from tocsin.matching.ops.part_views import EventView, Label, Link, PatternView, View, label_of, links_of
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

BUDGET = 2_000_000  # pairs of places that are tried for one part

Id = TypeVar("Id")
Place = tuple[int, ...]  # the vertexes of a graph at which a part was found, in the order of the part's own


class Single(Struct, frozen=True):
    label: Label
    size: int = 1


class Compound(Struct, frozen=True):
    """Two parts, by number, and the links that neither has; the vertexes of the second follow those of the first."""

    first: int
    second: int
    links: frozenset[Link]
    size: int


class Decided(Struct, Generic[Id], frozen=True):
    matched: frozenset[Id]
    undecided: frozenset[Id]


class Decomposition(Generic[Id]):
    def __init__(self, model: ConceptModel, budget: int = BUDGET) -> None:
        self._model, self._budget = model, budget
        self.parts: list[Single | Compound] = []  # a part stands behind those that it is made of
        self._numbers: dict[Single | Compound, int] = {}
        self._patterns: list[tuple[Id, int]] = []

    def add(self, name: Id, pattern: GraphPattern) -> None:
        everything = frozenset(range(len(pattern.vertexes)))
        places = _Places(self.parts, PatternView(pattern), self._budget)
        number, _ = self._decomposed(pattern, everything, places)
        self._patterns.append((name, number))

    def match(self, event: EventGraph) -> Decided[Id]:
        """A part with more pairs to try than the budget allows leaves all patterns undecided that are made of it."""
        places = _Places(self.parts, EventView(event, self._model), self._budget)
        matched = frozenset(name for name, number in self._patterns if places.of(number))
        undecided = frozenset(name for name, number in self._patterns if places.of(number) is None)
        return Decided(matched, undecided - matched)

    def _decomposed(self, pattern: GraphPattern, vertexes: frozenset[int], places: "_Places") -> tuple[int, Place]:
        """The part that these vertexes of the pattern are, and the order in which it has them."""
        if len(vertexes) == 1:
            (only,) = vertexes
            return self._number(Single(label_of(pattern, only))), (only,)
        links = links_of(pattern, vertexes)
        known = self._largest_known(vertexes, links, places)
        if known and len(known[1]) == len(vertexes):
            return known
        one, other = (frozenset(known[1]), vertexes.difference(known[1])) if known else halves(vertexes, links)
        return self._joined(
            known or self._decomposed(pattern, one, places), self._decomposed(pattern, other, places), links
        )

    def _largest_known(
        self, vertexes: frozenset[int], links: frozenset[Link], places: "_Places"
    ) -> tuple[int, Place] | None:
        """Of the parts there are, one that is found among these vertexes; one of all of them must have all links."""
        for number in sorted(range(len(self.parts)), key=lambda each: -self.parts[each].size):
            if 1 < self.parts[number].size <= len(vertexes):
                for place in places.of(number) or ():
                    if vertexes.issuperset(place) and (
                        len(place) < len(vertexes) or links == self._links(number, place)
                    ):
                        return number, place
        return None

    def _joined(self, first: tuple[int, Place], second: tuple[int, Place], links: frozenset[Link]) -> tuple[int, Place]:
        order = first[1] + second[1]
        missing = links - self._links(*first) - self._links(*second)
        inside = frozenset(link.moved({at: position for position, at in enumerate(order)}) for link in missing)
        return self._number(Compound(first[0], second[0], inside, len(order))), order

    def _links(self, number: int, place: Place) -> frozenset[Link]:
        """Those of a part, between the vertexes at which it was found."""
        part = self.parts[number]
        if isinstance(part, Single):
            return frozenset()
        cut = self.parts[part.first].size
        own = frozenset(link.moved(dict(enumerate(place))) for link in part.links)
        return own | self._links(part.first, place[:cut]) | self._links(part.second, place[cut:])

    def _number(self, part: Single | Compound) -> int:
        if part not in self._numbers:
            self._numbers[part] = len(self.parts)
            self.parts.append(part)
        return self._numbers[part]


class _Places:
    """Where the parts are in one graph."""

    def __init__(self, parts: list[Single | Compound], view: View, budget: int) -> None:
        self._parts, self._view, self._budget = parts, view, budget
        self._found: list[list[Place] | None] = []

    def of(self, number: int) -> list[Place] | None:
        """None when that would take too long."""
        while len(self._found) <= number:
            self._found.append(self._places(self._parts[len(self._found)]))
        return self._found[number]

    def _places(self, part: Single | Compound) -> list[Place] | None:
        if isinstance(part, Single):
            return [(at,) for at in range(self._view.size) if self._view.has(part.label, at)]
        first, second = self._found[part.first], self._found[part.second]
        if first == [] or second == []:
            return []
        if first is None or second is None or len(first) * len(second) > self._budget:
            return None
        return [one + other for one, other in product(first, second) if self._fit(one, other, part.links)]

    def _fit(self, one: Place, other: Place, links: frozenset[Link]) -> bool:
        both = one + other
        return set(one).isdisjoint(other) and all(
            self._view.linked(both[link.source], link.property, both[link.target]) for link in links
        )
