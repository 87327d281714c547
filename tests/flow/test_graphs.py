"""Event graphs and bindings in the place of what was published, in every dialect."""

import msgspec
import pytest
from msgspec.structs import replace
from pyoxigraph import RdfFormat, parse
from tests.flow.test_thin import BASE, said, to
from tests.matching.graph_events import CHEAP, SELLING, A, known, sparql, turtle, with_payload

from tocsin.client.notifications import received
from tocsin.flow.flow import Flow, with_meaning
from tocsin.mediation.dialects import NAMES
from tocsin.mediation.graph_forms import SYNTAXES
from tocsin.model.filters import AllOf, Filter, Not
from tocsin.model.identity import Instant
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Subscription

FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "n-quads": RdfFormat.N_QUADS,
    "json-ld": RdfFormat.JSON_LD,
    "rdf-xml": RdfFormat.RDF_XML,
}
DATA = turtle("Selling", [("target", "Notebook")], "399.5")
TURTLE = Payload("text/turtle", DATA)


def event(dialect: str = "cloudevents", payload: Payload = TURTLE) -> Notification:
    return with_payload(said(dialect), payload)


def asking(dialect: str, graph: str = "", bindings: bool = False, *filters: Filter) -> Subscription:
    plain = to(dialect, thin=False)
    return replace(plain, form=replace(plain.form, graph=graph, bindings=bindings), filters=filters)


def bindings_of(told: Notification) -> dict[str, str]:
    return msgspec.json.decode(told.attribute("bindings") or "{}", type=dict[str, str])


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("published", ["cloudevents", "wsn-1.3", "raw"])
@pytest.mark.parametrize("syntax", list(SYNTAXES))
def test_the_graph_is_the_payload(dialect: str, published: str, syntax: str) -> None:
    delivery = Flow(BASE, known()).deliver(event(published), asking(dialect, syntax, False, SELLING))
    headers = tuple((name.lower(), value) for name, value in delivery.headers)
    (told,) = received(headers, delivery.body, Instant(5))
    statements = {str(each.object) for each in parse(told.payload.data, format=FORMATS[syntax])}
    assert f"<{A}Notebook>" in statements and told.id == "m-1"


def test_prefixes_that_nobody_needs_are_left_out() -> None:
    told = with_meaning(event(), asking("cloudevents", "turtle"), known())
    assert b"@prefix : <urn:auction#>" in told.payload.data and b"owl" not in told.payload.data


@pytest.mark.parametrize("published", ["cloudevents", "wsn-1.3"])
def test_bindings_of_all_patterns(published: str) -> None:
    other = sparql("SELECT ?home ?1 { _:H :price ?home . ?home :amount ?1 }")
    told = with_meaning(event(published), asking("cloudevents", "", True, AllOf((CHEAP, other)), Not(SELLING)), known())
    assert bindings_of(told) == {
        "?1": "_:t0", "?2": "_:m", "?3": '"399.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', "?home": "_:m",
    }  # fmt: skip
    assert told.payload.data == DATA


def test_bindings_are_a_header_in_soap() -> None:
    delivery = Flow(BASE, known()).deliver(event(), asking("wsn-1.3", "", True, SELLING))
    assert b'<t:Binding name="?1">_:t0</t:Binding></t:Bindings></s:Header>' in delivery.body


def test_what_a_publisher_calls_so_is_not_told() -> None:
    lying = replace(event(), attributes=(("bindings", "no JSON"),))
    for dialect in NAMES:
        body = Flow(BASE, known()).deliver(lying, asking(dialect, "", True)).body
        assert b"no JSON" not in body


def test_what_has_no_graph_goes_as_it_came() -> None:
    plain = event(payload=Payload("text/plain", b"hello"))
    told = with_meaning(plain, asking("cloudevents", "turtle", True, SELLING), known())
    assert told.payload == plain.payload and told.attribute("bindings") is None


def test_who_asks_for_neither_gets_the_same() -> None:
    whole = event()
    assert with_meaning(whole, asking("cloudevents", "", False, SELLING), known()) is whole


def test_lifted_events_have_graphs_too() -> None:
    offer = event("wsn-1.3", Payload("application/xml", b"<offer><pc/></offer>"))
    told = with_meaning(offer, asking("wsn-1.3", "n-quads", True, SELLING), known())
    assert b"Desktop" in told.payload.data and set(bindings_of(told)) == {"?1"}
