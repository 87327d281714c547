"""Graphs and patterns written as `H-p->a`, with the class behind a colon: `H:Selling-price->?1:Money`."""

import re

from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, PatternArc, PatternVertex
from tocsin.model.declarations import Ontology, Parents
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

THING = "http://www.w3.org/2002/07/owl#Thing"
_ARC = re.compile(r"([?\w]+)(?::(\w+))?-(\w+)->([?\w]+)(?::(\w+))?")


def model(classes: Parents = (), properties: Parents = ()) -> ConceptModel:
    return ConceptModel((Ontology("drawn", classes, properties),))


def event(*arcs: str) -> EventGraph:
    classes, drawn = _read(arcs)
    names = list(classes)
    vertexes = (Vertex(HOME if name == "H" else f"_:{name}", (classes[name] or THING,)) for name in names)
    return EventGraph(tuple(vertexes), tuple(Arc(names.index(s), p, names.index(o)) for s, p, o in drawn))


def pattern(*arcs: str) -> GraphPattern:
    classes, drawn = _read(arcs)
    names = list(classes)
    vertexes = (
        PatternVertex(HOME if name == "H" else name, (known,) if (known := classes[name]) else ()) for name in names
    )
    return GraphPattern(tuple(vertexes), tuple(PatternArc(names.index(s), p, names.index(o)) for s, p, o in drawn))


def _read(arcs: tuple[str, ...]) -> tuple[dict[str, str | None], list[tuple[str, str, str]]]:
    classes: dict[str, str | None] = {"H": None}
    drawn = []
    for text in arcs:
        found = _ARC.fullmatch(text)
        assert found, text
        source, source_class, property_, target, target_class = found.groups()
        classes[source] = classes.get(source) or source_class
        classes[target] = classes.get(target) or target_class
        drawn.append((source, property_, target))
    return classes, drawn
