"""The decomposition of Messmer and Bunke (IEEE TKDE 12(2), 2000), the rival in Fig. 8 (b) of the OPS paper.

Patterns are cut into parts down to single vertexes, and patterns share the parts they have in common. An event is
matched from below: the places of a part are those of its two halves that are disjoint and linked as they must be.
"""

from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, PatternVertex
from tocsin.matching.graphs.definition import equal, fits
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

EQUAL = ""  # in place of a property: the values are equal


class Label(Struct, frozen=True):
    """All that a single vertex asks for, with the properties of its arcs to itself."""

    vertex: PatternVertex
    loops: frozenset[str]

    @property
    def is_home(self) -> bool:
        return self.vertex.name == HOME


class Link(Struct, frozen=True):
    source: int
    property: str
    target: int

    def moved(self, to: Mapping[int, int]) -> "Link":
        return link(to[self.source], self.property, to[self.target])


def link(source: int, property_: str, target: int) -> Link:
    """Equality has no direction, so it is always written in the same."""
    if property_ == EQUAL and source > target:
        source, target = target, source
    return Link(source, property_, target)


def label_of(pattern: GraphPattern, at: int) -> Label:
    """Without the name: variables with different names ask for the same."""
    asked = pattern.vertexes[at]
    loops = frozenset(arc.property for arc in pattern.arcs if arc.source == arc.target == at)
    nameless = PatternVertex("" if at else HOME, tuple(sorted(set(asked.classes))), asked.constant, asked.tests)
    return Label(nameless, loops)


def links_of(pattern: GraphPattern, vertexes: frozenset[int]) -> frozenset[Link]:
    arcs = [link(arc.source, arc.property, arc.target) for arc in pattern.arcs if arc.source != arc.target]
    equals = [link(left, EQUAL, right) for left, right in pattern.equal]
    return frozenset(each for each in (*arcs, *equals) if each.source in vertexes and each.target in vertexes)


class View(Protocol):
    size: int

    def has(self, label: Label, at: int) -> bool: ...

    def linked(self, source: int, property_: str, target: int) -> bool: ...


class EventView:
    """Up to subsumption, as Definition 1 has it."""

    def __init__(self, event: EventGraph, model: ConceptModel) -> None:
        self.size, self._event, self._model = len(event.vertexes), event, model
        self._arcs = {
            (arc.source, above, arc.target) for arc in event.arcs for above in model.properties_above(arc.property)
        }

    def has(self, label: Label, at: int) -> bool:
        return (
            label.is_home <= (at == 0)
            and fits(label.vertex, self._event.vertexes[at], self._model)
            and all((at, loop, at) in self._arcs for loop in label.loops)
        )

    def linked(self, source: int, property_: str, target: int) -> bool:
        if property_ == EQUAL:
            return equal(self._event.vertexes[source], self._event.vertexes[target], by_value=True)
        return (source, property_, target) in self._arcs


class PatternView:
    """To the letter: a part is shared when it asks for the same."""

    def __init__(self, pattern: GraphPattern) -> None:
        self.size = len(pattern.vertexes)
        self._labels = [label_of(pattern, at) for at in range(self.size)]
        self._links = links_of(pattern, frozenset(range(self.size)))

    def has(self, label: Label, at: int) -> bool:
        return self._labels[at] == label

    def linked(self, source: int, property_: str, target: int) -> bool:
        return link(source, property_, target) in self._links


Vertexes = frozenset[int]


def halves(vertexes: Vertexes, links: frozenset[Link]) -> tuple[Vertexes, Vertexes]:
    """One branch of a spanning tree is cut off, the one nearest to half of the vertexes; or what is not connected."""
    parents = _spanning_tree(vertexes, links)
    if len(parents) < len(vertexes):
        connected = frozenset(parents)
        return connected, vertexes - connected
    branches = {at: {at} for at in parents}
    for at, parent in reversed(parents.items()):
        branches[parent] |= branches[at]
    root = next(iter(parents))
    cut = min((at for at in parents if at != root), key=lambda at: abs(2 * len(branches[at]) - len(vertexes)))
    return vertexes - branches[cut], frozenset(branches[cut])


def _spanning_tree(vertexes: Vertexes, links: frozenset[Link]) -> dict[int, int]:
    """From each vertex to its parent, parents first; the root is its own."""
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for each in links:
        beside[each.source].add(each.target)
        beside[each.target].add(each.source)
    root = min(vertexes)
    parents, queue = {root: root}, [root]
    for at in queue:
        for other in sorted(beside[at] - parents.keys()):
            parents[other] = at
            queue.append(other)
    return parents


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
        first = known or self._decomposed(pattern, one, places)
        second = self._decomposed(pattern, other, places)
        order = first[1] + second[1]
        missing = links - self._links(*first) - self._links(*second)
        inside = frozenset(link.moved({at: position for position, at in enumerate(order)}) for link in missing)
        return self._number(Compound(first[0], second[0], inside, len(order))), order

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
    """The places of parts in one graph, each worked out once."""

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
