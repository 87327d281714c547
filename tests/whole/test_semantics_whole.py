"""Matching by meaning in a started broker: declared, asked for, published, delivered, changed, refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from pyoxigraph import RdfFormat, parse
from tests.whole import people
from tests.whole.acts import IMPATIENT, call
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink

from tocsin import Client, ClientError
from tocsin.model.access import Right
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
AUCTION = Path(__file__).parents[2] / "src" / "tocsin" / "semantics" / "demo" / "auction.ttl"
OURS = "urn:tocsin:dialect:"
A = "urn:tocsin:demo:auction#"
PATTERN = "(_:H, ?1, (Selling, target, Computer)) (_:H, ?2, (Selling, price, MoneyValue))"
CHEAP = f"{PATTERN} (?2, ?3, (MoneyValue, rdf:value, xsd:decimal), ?3 < 400.00)"
QUERY = f"PREFIX : <{A}> SELECT ?thing {{ _:H a :Selling ; :target ?thing . ?thing a :Computer }}"
PREFIXES = f"""@prefix : <{A}> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."""
GARDEN = f"{PREFIXES} @prefix g: <urn:garden#> . g:Tree a owl:Class ; rdfs:subClassOf :Product ."
GARDEN_WITHOUT_TREES = f"{PREFIXES} @prefix g: <urn:garden#> . g:Rake a owl:Class ; rdfs:subClassOf :Product ."
LIFTING = {
    "syntax": "xml",
    "types": ["{urn:shop}offer"],
    "namespaces": {"s": "urn:shop"},
    "class": "Selling",
    "properties": {
        "target": {"path": "s:pc", "class": "NotebookPC"},
        "time": {"path": "s:at", "datatype": "xsd:dateTime"},
    },
}


def selling(kind: str, amount: str = "350.00") -> bytes:
    return (
        f"{PREFIXES} _:H a :Selling ; :target [ a :{kind} ] ; :price [ a :MoneyValue ; rdf:value {amount} ] .".encode()
    )


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess.start(tmp_path_factory.mktemp("meaning"), IMPATIENT | {"delivery-attempts": "3"})
    yield process
    process.kill()


async def declare(
    http: HttpClient, node: BrokerProcess, name: str, text: str, query: str = "", kind: str = "text/turtle"
) -> Answer:
    where = f"{node.url}/api/ontologies/{name}{query}"
    return await http.request("PUT", where, (("Content-Type", kind),), text.encode())


@pytest.fixture
async def auction(node: BrokerProcess, http: HttpClient) -> BrokerProcess:
    assert (await declare(http, node, "auction", AUCTION.read_text())).status == 200
    return node


def ids(sink: Sink, path: str) -> list[str]:
    return [each.id for each in sink.notifications(path)]


async def test_ontologies_are_listed_shown_and_withdrawn(auction: BrokerProcess, http: HttpClient) -> None:
    made = document((await declare(http, auction, "garden", GARDEN)).body)
    assert made == {
        "name": "garden", "suspended": [], "dry_run": False,
        "classes": 1, "properties": 0, "statements": 0, "individuals": 0,
    }  # fmt: skip
    listed = document((await http.request("GET", f"{auction.url}/api/ontologies")).body)["items"]
    assert [each["name"] for each in listed] == ["auction", "garden"] and listed[0]["classes"] == 15
    at = f"{auction.url}/api/ontologies/garden"
    shown = document((await http.request("GET", at)).body)
    assert shown["classes"] == {"urn:garden#Tree": [f"{A}Product"]} and shown["prefixes"]["g"] == "urn:garden#"
    turtle = await http.request("GET", at, (("Accept", "text/turtle"),))
    assert (await declare(http, auction, "garden", turtle.body.decode())).status == 200
    assert document((await http.request("GET", at)).body) == shown
    needed = await http.request("DELETE", f"{auction.url}/api/ontologies/auction")
    assert needed.status == 400 and "Product" in document(needed.body)["detail"]
    assert document((await http.request("DELETE", at)).body)["suspended"] == []
    assert (await http.request("GET", at)).status == 404


@pytest.mark.parametrize("asked", [{"pattern": CHEAP}, {"sparql": QUERY}, {"sparql": QUERY, "plain": True}])
@pytest.mark.parametrize("dialect", ["wsn-1.3", "wsn-1.2", "wse-2004-08", "wse-2011", "cloudevents"])
async def test_asked_for_in_every_dialect(
    auction: BrokerProcess, sink: Sink, dialect: str, asked: dict[str, Any]
) -> None:
    stem = f"t{uuid4().hex}"
    async with Client(auction.url, dialect) as client, Client(auction.url, "cloudevents") as publisher:
        lease = await client.subscribe(sink.url(stem), topic=stem, **asked)
        for number, kind in enumerate(["Book", "NotebookPC", "DesktopPC"]):
            name = f"urn:{stem}:{number}"
            await publisher.publish(selling(kind), media_type="text/turtle", topic=stem, message_id=name)
        await wait_until(lambda: len(ids(sink, stem)) == 2, "computers")
        assert ids(sink, stem) == [f"urn:{stem}:1", f"urn:{stem}:2"]
        told: Any = await publisher.get(f"/api/subscriptions/{lease.id}")
        (graph,) = (each for each in told["asked"] if f"{OURS}topic" not in each)
        assert graph.popitem()[1]["expression"] == (asked.get("pattern") or asked["sparql"])
        await client.unsubscribe(lease)


async def test_cloudevents_subscriptions(auction: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    stem, at = f"t{uuid4().hex}", f"{auction.url}/api/cloudevents/subscriptions"
    filters = [{f"{OURS}graph-pattern": {"expression": CHEAP}}, {"exact": {"subject": stem}}]
    config = {"graph": "n-quads", "bindings": "true"}
    asked = {"protocol": "HTTP", "sink": sink.url(stem), "filters": filters, "config": config}
    made = await call(http, "POST", at, asked)
    assert made.status == 201 and document(made.body)["config"].items() >= config.items()
    async with Client(auction.url, "cloudevents") as publisher:
        for amount in ("400.00", "399.99"):
            await publisher.publish(selling("NotebookPC", amount), media_type="text/turtle", topic=stem)
    (found,) = await wait_until(lambda: sink.notifications(stem), "the cheap one")
    assert found.payload.media_type == "application/n-quads" and b"399.99" in found.payload.data
    bindings = msgspec.json.decode(found.attribute("bindings") or "")
    assert bindings["?3"] == '"399.99"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    wrong = await call(http, "POST", at, asked | {"config": {"graph": "rdfa"}})
    assert wrong.status == 400 and "turtle, n-quads" in document(wrong.body)["detail"]


@pytest.mark.parametrize(
    ("syntax", "form"),
    [
        ("turtle", RdfFormat.TURTLE),
        ("n-quads", RdfFormat.N_QUADS),
        ("json-ld", RdfFormat.JSON_LD),
        ("rdf-xml", RdfFormat.RDF_XML),
    ],
)
@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
async def test_delivered_as_a_graph(
    auction: BrokerProcess, sink: Sink, dialect: str, syntax: str, form: RdfFormat
) -> None:
    stem = f"t{uuid4().hex}"
    async with Client(auction.url, dialect) as client, Client(auction.url, "wsn-1.3") as publisher:
        lease = await client.subscribe(sink.url(stem), topic=stem, pattern=CHEAP, deliver_as=syntax, bindings=True)
        await publisher.publish(selling("NotebookPC"), media_type="text/turtle", topic=stem)
        (found,) = await wait_until(lambda: sink.notifications(stem), "the event graph")
        assert {str(each.object) for each in parse(found.payload.data, format=form)} >= {f"<{A}NotebookPC>"}
        (received,) = sink.at(stem)
        term = '"350.00"^^<http://www.w3.org/2001/XMLSchema#decimal>'
        if dialect == "cloudevents":
            assert msgspec.json.decode(found.attribute("bindings") or "")["?3"] == term
        else:
            said = received.body.partition(b"<t:Bindings")[2].partition(b"</t:Bindings>")[0]
            assert b'name="?3">"350.00"^^&lt;http' in said
        await client.unsubscribe(lease)


async def test_a_pull_point_holds_the_graph(auction: BrokerProcess) -> None:
    stem, client = f"t{uuid4().hex}", Client(auction.url, "cloudevents")
    async with client, client.pulling(topic=stem, sparql=QUERY, deliver_as="turtle", bindings=True) as point:
        await client.publish(selling("DesktopPC"), media_type="text/turtle", topic=stem)
        (found,) = await client.pull(point, wait=15.0)
        assert found.payload.media_type == "text/turtle" and b"DesktopPC" in found.payload.data
        assert set(msgspec.json.decode(found.attribute("bindings") or "")) == {"?thing"}


async def test_xml_is_lifted(auction: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    stem, at = f"t{uuid4().hex}", f"{auction.url}/api/liftings/offers"
    made = await call(http, "PUT", at, LIFTING)
    assert made.status == 200 and document(made.body)["suspended"] == [], made
    listed = document((await http.request("GET", f"{auction.url}/api/liftings")).body)["items"]
    assert listed == [{"name": "offers", "syntax": "xml", "types": ["{urn:shop}offer"], "strict": False}]
    shown = document((await http.request("GET", at)).body)
    assert document((await call(http, "PUT", at, shown)).body)["name"] == "offers"
    async with Client(auction.url, "wsn-1.3") as client:
        lease = await client.subscribe(sink.url(stem), topic=stem, sparql=QUERY)
        for inner in ("<book/>", "<pc/>"):
            await client.publish(f'<offer xmlns="urn:shop">{inner}</offer>'.encode(), topic=stem)
        (found,) = await wait_until(lambda: sink.payloads(stem), "the computer")
        assert b"<pc/>" in found
        assert (await declare(http, auction, "other", f"{PREFIXES} <urn:o#X> a owl:Class .")).status == 200
        needed = await http.request("DELETE", f"{auction.url}/api/ontologies/auction")
        assert needed.status == 400 and "offers" in document(needed.body)["detail"]
        assert (await http.request("DELETE", f"{auction.url}/api/ontologies/other")).status == 200
        assert (await call(http, "PUT", at, LIFTING | {"strict": True})).status == 200
        with pytest.raises(ClientError, match="strict"):
            await client.publish(b'<offer xmlns="urn:shop"><at>noon</at></offer>', topic=stem)
        await client.unsubscribe(lease)
    assert (await http.request("DELETE", at)).status == 200


async def test_a_changed_ontology_suspends(auction: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    stem = f"t{uuid4().hex}"
    assert (await declare(http, auction, "garden", GARDEN)).status == 200
    async with Client(auction.url, "cloudevents") as client, Client(auction.url, "wsn-1.3") as soap:
        tree = await client.subscribe(sink.url(stem), topic=stem, pattern="(_:H, ?1, (Selling, target, g:Tree))")
        other = await soap.subscribe(sink.url(f"{stem}-o"), topic=stem, pattern="(_:H, ?1, (Selling, target, Product))")
        dry = document((await declare(http, auction, "garden", GARDEN_WITHOUT_TREES, "?dry-run=true")).body)
        assert [each["id"] for each in dry["suspended"]] == [tree.id] and dry["dry_run"]
        assert (await client.status(tree)).state == "active"
        done = document((await declare(http, auction, "garden", GARDEN_WITHOUT_TREES)).body)
        assert done["suspended"] == dry["suspended"] and "Tree" in done["suspended"][0]["reason"]
        assert (await client.status(tree)).state == "suspended"
        (told,) = await wait_until(lambda: sink.notifications(stem), "the notice")
        assert str(told.type) == "{urn:tocsin:notice}Suspended" and b"Tree" in told.payload.data
        with pytest.raises(ClientError, match="Tree"):
            await client.resume(tree)
        await client.publish(selling("NotebookPC"), media_type="text/turtle", topic=stem)
        await wait_until(lambda: ids(sink, f"{stem}-o"), "what goes on")
        assert (await declare(http, auction, "garden", GARDEN)).status == 200
        await client.resume(tree)
        await client.unsubscribe(tree)
        await soap.unsubscribe(other)
    assert (await http.request("DELETE", f"{auction.url}/api/ontologies/garden")).status == 200


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{PREFIXES} :X a owl:Class ; rdfs:subClassOf :Y . :Y a owl:Class ; rdfs:subClassOf :X .", "X"),
        (f"{PREFIXES} :p a owl:ObjectProperty ; rdfs:domain :Nowhere ; rdfs:range :Product .", "Nowhere"),
        (f"{PREFIXES} :Both a owl:Class ; rdfs:subClassOf :Book , :Computer .", "Both"),
        (f"{PREFIXES} :X a", "not readable"),
    ],
)
async def test_what_contradicts_itself_is_refused(
    auction: BrokerProcess, http: HttpClient, text: str, words: str
) -> None:
    refused = await declare(http, auction, "wrong", text)
    assert refused.status == 400 and words in document(refused.body)["detail"]
    assert (await http.request("GET", f"{auction.url}/api/ontologies/wrong")).status == 404


async def test_other_media_types_are_refused(auction: BrokerProcess, http: HttpClient) -> None:
    refused = await declare(http, auction, "wrong", "a,b", kind="text/csv")
    assert refused.status == 400 and "application/rdf+xml" in document(refused.body)["detail"]


async def test_who_may_not_declare_is_refused_before_anything_is_read(
    tmp_path: Path, start: Start, http: HttpClient
) -> None:
    people.known(tmp_path / "data", "eve", Right("subscribe"), Right("publish"))
    node = start(tmp_path / "data", IMPATIENT | {"access-on": "true"})
    for path in ("ontologies/o", "liftings/l"):
        at, kind = f"{node.url}/api/{path}", (("Content-Type", "text/turtle"),)
        assert (await http.request("PUT", at, kind + people.basic("eve"), b"<")).status == 403
        assert (await http.request("PUT", at, kind, b"<")).status == 401
        assert (await http.request("DELETE", at, people.basic("eve"))).status == 403
        assert (await http.request("GET", at, people.basic("eve"))).status == 404


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
async def test_what_nobody_could_match_is_refused(auction: BrokerProcess, sink: Sink, dialect: str) -> None:
    async with Client(auction.url, dialect) as client:
        for pattern, words in [
            ("(_:H, ?1, (Selling, target, Aeroplane))", "Aeroplane"),
            ("(_:H, ?1, (Selling, manufacture, Company))", "manufacture"),
            ("(_:H, ?1, (Selling, target", "position"),
        ]:
            with pytest.raises(ClientError, match=words):
                await client.subscribe(sink.url("none"), pattern=pattern)


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
async def test_an_event_against_the_model_is_refused_at_the_door(auction: BrokerProcess, dialect: str) -> None:
    wrong = f"{PREFIXES} _:H a :Selling ; :target _:sky . _:sky a :Company .".encode()
    async with Client(auction.url, dialect) as client:
        with pytest.raises(ClientError, match="_:sky"):
            await client.publish(wrong, media_type="text/turtle", topic="t")
        with pytest.raises(ClientError, match="not readable"):
            await client.publish(b"<a", media_type="text/turtle", topic="t")


async def test_what_stands_meets_the_same_after_a_restart(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    node = start(tmp_path / "data", IMPATIENT)
    assert (await declare(http, node, "auction", AUCTION.read_text())).status == 200
    async with Client(node.url, "wsn-1.3") as client:
        await client.subscribe(sink.url("again"), pattern=CHEAP, deliver_as="turtle", bindings=True)
    node.kill()
    node = start(tmp_path / "data", IMPATIENT)
    async with Client(node.url, "cloudevents") as client:
        await client.publish(selling("NotebookPC"), media_type="text/turtle")
    (found,) = await wait_until(lambda: sink.payloads("again"), "what it asked for before")
    assert b"NotebookPC" in found
