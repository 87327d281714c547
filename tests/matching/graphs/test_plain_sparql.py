"""What is compiled of SPARQL means what SPARQL means: a query engine is asked the same of the same triples."""

from hypothesis import assume, given, settings
from hypothesis import event as seen
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, Store
from tests.effort import examples
from tests.matching.graphs.oracle import matches_pattern

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.graph_pattern import HOME, GraphQuery
from tocsin.markup.graphs.sparql import parse_sparql
from tocsin.model.declarations import Ontology
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

XSD = "http://www.w3.org/2001/XMLSchema#"
CLASSES, PROPERTIES = ("urn:A", "urn:B"), ("urn:p", "urn:q")
MODEL = ConceptModel(
    (Ontology("flat", tuple((each, ()) for each in CLASSES), tuple((each, ()) for each in PROPERTIES)),)
)
# Engines differ in whether a number and a string are unequal, or cannot be compared: the tests below never ask.
LITERALS = (
    Vertex(f'"1"^^<{XSD}integer>', (f"{XSD}integer",), "1"),
    Vertex(f'"2.5"^^<{XSD}decimal>', (f"{XSD}decimal",), "2.5"),
    Vertex(f'"3.0E0"^^<{XSD}double>', (f"{XSD}double",), "3.0E0"),
    Vertex('"ab"', (f"{XSD}string",), "ab"),
    Vertex('"Bc"', (f"{XSD}string",), "Bc"),
)
SIMPLE = ("?v < 2", "1 + 1 <= ?v", "?v>2&&?v<4", "?v >= 6/2", 'regex(?v, "b")', 'regex(?v, "B C", "ix")')


@st.composite
def events(draw: st.DrawFn) -> EventGraph:
    count = draw(st.integers(1, 4))
    terms = [HOME, "<urn:x>", "_:b", "<urn:y>"][:count]
    vertexes = [Vertex(term, (draw(st.sampled_from(CLASSES)),)) for term in terms]
    anywhere, property_ = st.integers(0, count - 1), st.sampled_from(PROPERTIES)
    arcs = [Arc(draw(st.integers(0, at - 1)), draw(property_), at) for at in range(1, count)]
    arcs += draw(st.lists(st.builds(Arc, anywhere, property_, anywhere), min_size=1, max_size=6))
    said = draw(st.lists(st.tuples(anywhere, property_, st.sampled_from(range(len(LITERALS)))), min_size=2, max_size=9))
    for source, name, which in dict.fromkeys(said):
        arcs.append(Arc(source, name, len(vertexes)))
        vertexes.append(LITERALS[which])
    return EventGraph(tuple(vertexes), tuple(dict.fromkeys(arcs)))


@st.composite
def conditions(draw: st.DrawFn, deep: int = 2) -> str:
    if not deep or draw(st.booleans()):
        return draw(st.sampled_from(SIMPLE))
    one, other = draw(conditions(deep - 1)), draw(conditions(deep - 1))
    return draw(st.sampled_from((f"!({one})", f"({one}) && ({other})", f"({one}) || {other}")))


CONDITIONS = conditions()


@st.composite
def groups(draw: st.DrawFn, deep: int = 2) -> str:
    """Triples, filters of what they name, and groups within."""
    subject, name = st.sampled_from((HOME, "?a")), st.sampled_from(PROPERTIES)
    elements = []
    for _ in range(draw(st.integers(1, 3))):
        node = draw(st.sampled_from(("?a", "?b", "?c", "?d", HOME, "<urn:x>", "1", "'ab'")))
        elements.append(f"{draw(subject)} <{draw(name)}> {node} .")
        if node in ("?b", "?c") and draw(st.booleans()):
            elements.append(f"FILTER({draw(CONDITIONS).replace('?v', node)})")
    if draw(st.integers(0, 3)) == 0:
        elements.append(f"{draw(subject)} a <{draw(st.sampled_from(CLASSES))}> .")
    if {"?b", "?c"} <= set(" ".join(elements).split()) and draw(st.booleans()):
        one, other = (draw(CONDITIONS).replace("?v", node) for node in ("?b", "?c"))
        elements.append(f"FILTER(({one}) || {other})")
    if deep and draw(st.integers(0, 2)) == 0:
        elements.append(f"{{ {draw(groups(deep - 1))} }} UNION {{ {draw(groups(deep - 1))} }}")
    return " ".join(draw(st.permutations(elements)))


def in_engine(event: EventGraph, text: str) -> bool:
    terms = [vertex.term.replace(HOME, "<urn:home>") for vertex in event.vertexes]
    lines = [f"{terms[arc.source]} <{arc.property}> {terms[arc.target]} ." for arc in event.arcs]
    lines += [
        f"{term} a <{each.classes[0]}> ." for term, each in zip(terms, event.vertexes, strict=True) if not each.lexical
    ]
    store = Store()
    store.load("\n".join(lines).encode(), RdfFormat.TURTLE)
    return bool(store.query(text.replace(HOME, "<urn:home>")))


def compiled(text: str) -> GraphQuery | None:
    try:
        return parse_sparql(text, {}, injective=False)
    except ExpressionError as problem:
        seen(problem.why.split(":")[0][-30:])
        return None


@settings(max_examples=examples(150), deadline=None)
@given(events(), groups())
def test_plain_meaning_is_that_of_sparql(event: EventGraph, body: str) -> None:
    text = f"ASK {{ {HOME} <urn:p> ?a . {body} }}"
    query = compiled(text)
    assume(query is not None)
    assert query is not None
    found = any(matches_pattern(each, event, MODEL, injective=False) for each in query.alternatives)
    seen(f"{found}, {len(query.alternatives)} alternatives")
    assert found is in_engine(event, text)
