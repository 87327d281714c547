"""What becomes an event graph, and what is said where nothing does."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.matching.graph_events import AUCTION, LIFTINGS, SELLING, A, known, turtle
from tests.matching.test_explain_graphs import told

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.filters import is_judged, is_slow, satisfies
from tocsin.matching.judge import Undecided
from tocsin.model.declarations import Withdrawn
from tocsin.model.filters import AllOf, AnyOf, Content, Filter, Graph, Not, TypeIs
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.notification import Notification
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.semantics.events.event_graph import EventGraph

ANYBODY = Subscription(SubscriptionId("s"), None, None, None, Form("raw"), (), Position(Node("n"), 0), None)
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DESCRIBED = f'<r:RDF xmlns:r="{RDF}" xmlns="{A}"><Selling r:nodeID="H"><target><Desktop/></target></Selling></r:RDF>'
LINKED = {"@context": {"@vocab": A}, "@id": "_:H", "@type": "Selling", "target": {"@type": "Desktop"}}
LINES = f"_:H <{RDF}type> <{A}Selling> .\n_:H <{A}target> _:d .\n_:d <{RDF}type> <{A}Desktop> .\n"


def graph_of(notification: Notification, what: Catalogue | None = None) -> EventGraph | str:
    evidence = Evidence(notification, what or known())
    assert (evidence.graph is None) == bool(evidence.no_graph)
    return evidence.graph or evidence.no_graph


def classes(found: EventGraph | str) -> list[str]:
    assert isinstance(found, EventGraph), found
    return [name.removeprefix(A) for vertex in found.vertexes for name in vertex.classes]


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("text/turtle", turtle("Selling", [("target", "Desktop")], "")),
        ("Text/Turtle; charset=utf-8", turtle("Selling", [("target", "Desktop")], "")),
        ("application/n-triples", LINES.encode()),
        ("application/n-quads", LINES.encode()),
        ("application/rdf+xml", DESCRIBED.encode()),
        ("application/xml", DESCRIBED.encode()),
        ("application/ld+json", json.dumps(LINKED).encode()),
    ],
)
def test_rdf_is_read_in_any_syntax(media_type: str, data: bytes) -> None:
    found = graph_of(told(data, media_type))
    assert classes(found) == ["Selling", "Desktop"]
    assert satisfies(Evidence(told(data, media_type), known()), SELLING, ANYBODY)


def test_xml_and_json_are_lifted_by_their_type() -> None:
    assert classes(graph_of(told(b"<offer><pc/></offer>", "application/xml"))) == ["Selling", "Desktop"]
    offer = told(b'{"pc": [{}]}', "application/json", "org.quake")
    assert classes(graph_of(offer)) == ["Selling", "Desktop"]
    assert graph_of(replace(offer, type=QName("urn:a", "b"))) == "no lifting is declared for the type {urn:a}b"
    assert graph_of(offer, known(Withdrawn("lifting", "json"))) == "no lifting is declared for the type org.quake"


def test_what_a_lifting_does_not_fit_has_no_graph() -> None:
    assert "the payload is no event graph: " in str(graph_of(told(b"<other/>", "application/xml")))


def test_without_any_ontology_rdf_is_a_graph_all_the_same() -> None:
    found = graph_of(told(turtle("Selling", [("target", "Desktop")], "")), Catalogue())
    assert classes(found) == ["Selling", "Desktop"]


def test_a_property_that_no_ontology_has_does_not_matter() -> None:
    """Whether it may come in at all is settled at the door."""
    data = f"@prefix : <{A}> . _:H a :Selling ; :target [ a :Desktop ] ; <urn:more> 1 .".encode()
    assert classes(graph_of(told(data)))[:2] == ["Selling", "Desktop"]


def test_it_is_made_once() -> None:
    evidence = Evidence(told(turtle("Selling", [], "")), known())
    assert evidence.graph is evidence.graph is not None


@given(
    st.sampled_from(("text/turtle", "application/n-triples", "application/rdf+xml", "application/ld+json", "text/xml")),
    st.binary(max_size=40) | st.text(max_size=40).map(str.encode) | st.just(b"<r:RDF"),
)
@settings(max_examples=examples(100), deadline=None)
def test_rubbish_is_no_graph_and_no_error(media_type: str, data: bytes) -> None:
    graph_of(told(data, media_type), Catalogue((AUCTION, *LIFTINGS)))


@pytest.mark.parametrize(
    ("asked", "slow", "judged"),
    [
        (SELLING, True, False),
        (Not(SELLING), True, False),
        (AllOf((TypeIs(("a",)), AnyOf((SELLING,)))), True, False),
        (Content("xpath", "count(a) = 1"), True, True),
        (AnyOf((Not(Content("xpath", "count(a) = 1")),)), True, True),
        (Content("xpath", "a ="), False, False),
        (Content("xpath", "a = 1"), False, False),
        (Content("xpath", "a = 1", "envelope"), True, False),
        (Content("sparql", "ASK {}", "producer"), True, True),
    ],
)
def test_what_takes_long_is_asked_last(asked: Filter, slow: bool, judged: bool) -> None:
    assert (is_slow(asked), is_judged(asked)) == (slow, judged)


def test_a_text_that_is_no_pattern_is_undecided_even_of_what_has_no_graph() -> None:
    with pytest.raises(Undecided):
        satisfies(Evidence(told(b"", "text/plain"), known()), Graph("pattern", "("), ANYBODY)
