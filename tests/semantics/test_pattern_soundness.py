"""No pattern is refused that an event of the model has, where each thing is of one class."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.model.declarations import MetaStatement, Ontology, Parents
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.pattern_checks import check_query
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex, check_event

XSD = "http://www.w3.org/2001/XMLSchema#"
CLASSES, PROPERTIES = tuple(f"urn:{name}" for name in "ABCDE"), ("urn:p", "urn:q", "urn:r")
LITERALS = (Vertex(f'"5"^^<{XSD}int>', (f"{XSD}int",), "5"), Vertex('"x"', (f"{XSD}string",), "x"))
RANGES = (*CLASSES, f"{XSD}decimal", f"{XSD}string")


@st.composite
def models(draw: st.DrawFn) -> ConceptModel:
    statements = st.builds(
        MetaStatement, st.sampled_from(CLASSES), st.sampled_from(PROPERTIES), st.sampled_from(RANGES)
    )
    ontology = Ontology(
        "random",
        draw(_hierarchies(CLASSES)),
        ((PROPERTIES[0], ()), (PROPERTIES[1], ()), (PROPERTIES[2], PROPERTIES[:1])),
        tuple(draw(st.lists(statements, max_size=6, unique=True))),
    )
    try:
        return ConceptModel((ontology,))
    except Refusal:  # of one that contradicts itself
        assume(False)
        raise


@st.composite
def _hierarchies(draw: st.DrawFn, names: tuple[str, ...]) -> Parents:
    """Parents stand before what is below them."""
    return tuple(
        (name, tuple(draw(st.lists(st.sampled_from(names[:at]), max_size=2, unique=True))) if at else ())
        for at, name in enumerate(names)
    )


@st.composite
def arcs(draw: st.DrawFn) -> EventGraph:
    """Two vertexes are enough: each arc is checked for itself."""
    home, thing = (Vertex(term, (draw(st.sampled_from(CLASSES)),)) for term in ("_:H", "_:b"))
    target = draw(st.sampled_from((thing, *LITERALS)))
    return EventGraph((home, target), (Arc(0, draw(st.sampled_from(PROPERTIES)), 1),))


def generalised(data: st.DataObject, vertex: Vertex, name: str, model: ConceptModel) -> PatternVertex:
    above = sorted(model.classes_above(vertex.classes[0]))
    classes = data.draw(st.lists(st.sampled_from(above), max_size=2, unique=True))
    constant = vertex.term if vertex.lexical is not None and data.draw(st.booleans()) else None
    return PatternVertex(name, tuple(classes), constant)


@settings(max_examples=examples(60))
@given(models(), arcs(), st.data())
def test_what_an_event_has_can_be_asked_for(model: ConceptModel, event: EventGraph, data: st.DataObject) -> None:
    try:
        check_event(event, model)
    except Refusal:
        assume(False)
    home, target = (
        generalised(data, vertex, name, model) for vertex, name in zip(event.vertexes, ("_:H", "?x"), strict=True)
    )
    property_ = data.draw(st.sampled_from(sorted(model.properties_above(event.arcs[0].property))))
    check_query(GraphQuery((GraphPattern((home, target), (PatternArc(0, property_, 1),)),)), model)
