"""Event graphs and graph patterns by a seed, as OPS s6 describes them.

The paper leaves open how events and subscriptions are related. With the graphs of `graph_drafts` about as many
subscriptions match an event as the paper reports.
"""

from collections.abc import Iterator
from functools import cache
from random import Random

from msgspec import Struct

from tocsin.lab.graph_drafts import Draft, Drafts, Shape
from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex


class Vocabulary(Struct, frozen=True):
    classes: int = 10
    properties: int = 10
    of_a_class: int = 2  # properties


class GraphWorkload:
    """Events and queries are drawn apart: more of the ones do not change the others."""

    def __init__(self, vocabulary: Vocabulary, seed: int, shape: Shape | None = None) -> None:
        random, classes = Random(seed), range(vocabulary.classes)
        schema = [
            [
                (each, random.choice(classes))
                for each in random.sample(range(vocabulary.properties), vocabulary.of_a_class)
            ]
            for _ in classes
        ]
        self.model = ConceptModel()
        self._drafts = Drafts(schema, classes, shape or Shape(), random)

    def events(self, count: int) -> Iterator[EventGraph]:
        return (_event(self._drafts.graph()) for _ in range(count))

    def large_event(self, vertexes: int) -> EventGraph:
        return _event(self._drafts.large_graph(vertexes))

    def queries(self, count: int) -> Iterator[GraphQuery]:
        return (GraphQuery((_pattern(self._drafts.part()),)) for _ in range(count))


@cache
def class_name(number: int) -> str:
    return f"urn:example:class{number}"


@cache
def property_name(number: int) -> str:
    return f"urn:example:property{number}"


def variable(at: int) -> str:
    return f"?{at}" if at else HOME


def label(at: int) -> str:
    return f"_:b{at}" if at else HOME


def _event(draft: Draft) -> EventGraph:
    vertexes = tuple(Vertex(label(at), (class_name(kind),)) for at, kind in enumerate(draft.kinds))
    return EventGraph(vertexes, tuple(Arc(s, property_name(p), t) for s, p, t in draft.arcs))


def _pattern(draft: Draft) -> GraphPattern:
    vertexes = tuple(asked_vertex(at, kind) for at, kind in enumerate(draft.kinds))
    return GraphPattern(vertexes, tuple(asked_arc(*way) for way in draft.arcs))


# Made once: a million patterns have them in common.
@cache
def asked_vertex(at: int, kind: int) -> PatternVertex:
    return PatternVertex(variable(at), (class_name(kind),))


@cache
def asked_arc(source: int, along: int, target: int) -> PatternArc:
    return PatternArc(source, property_name(along), target)
