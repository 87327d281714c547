"""What the parts of decomposed patterns are looked for in: events, and other patterns."""

from collections.abc import Mapping
from typing import Protocol

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
