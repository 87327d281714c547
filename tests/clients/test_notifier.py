"""zeep, with the WSDL that a notifier serves: it publishes and notifies, and services hear it in their own dialects."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
import requests
from lxml import etree
from msgspec.structs import replace
from tests.whole.acts import IMPATIENT
from tests.whole.shell import BrokerProcess, accepted, wait_until
from tests.whole.sink import Sink
from zeep import Client, Transport
from zeep.exceptions import Fault

from tocsin.mediation.soap.namespaces import NOTIFIER, SOAP_11, SOAP_12
from tocsin.mediation.ws.notifier_messages import NotifyRequest, notify_request, read_notifier_message
from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Copy, Message, Payload
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.clients

BOTH = pytest.mark.parametrize("soap", ["11", "12"])
DIALECTS = {"CARE": "wsn-1.3", "UNDRB": "wse-2004-08", "USGS": "cloudevents"}
ROOT = "IDER & Söhne"
Open = Callable[[str], Client]
Call = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="module")
def notifiers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker of their own: it has a world."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("notifiers"), IMPATIENT)
    yield process
    process.kill()


@pytest.fixture
async def call(notifiers: BrokerProcess, http: HttpClient) -> Call:
    async def call(method: str, path: str, value: object = None, expected: int = 200) -> Any:
        body = b"" if value is None else json.dumps(value).encode()
        answer = await http.request(method, f"{notifiers.url}{path}", (("Content-Type", "application/json"),), body)
        assert answer.status == expected, answer.body
        return json.loads(answer.body) if answer.body else None

    return call


@pytest.fixture
async def world(call: Call, sink: Sink) -> None:
    """One root, and three who are told of a disaster: each at the sink, in a dialect of its own."""
    topics = (("Disaster Info", None), ("Earthquake", "Disaster Info"))
    for name, parent in topics:
        await call("PUT", f"/api/world/topics/{name.replace(' ', '%20')}", {"parent": parent})
    for name in ("Research", "Global"):
        await call("PUT", f"/api/world/categories/{name}", {})
    await call("PUT", "/api/world/edges", {"source": "Research", "topic": "Earthquake", "target": "Global"})
    running = {each["name"] for each in (await call("GET", "/api/notifiers"))["items"]}
    for name in running & {ROOT, *DIALECTS}:
        await call("DELETE", f"/api/notifiers/{quote(name, safe='')}", expected=204)
    own = {"address": sink.url("IDER"), "dialect": "cloudevents"}
    await call("POST", "/api/notifiers", {"name": ROOT, "categories": ["Research"], **own}, 201)
    for name, dialect in DIALECTS.items():
        told = {"name": name, "categories": ["Global"], "address": sink.url(name), "dialect": dialect}
        await call("POST", "/api/notifiers", told, 201)


@pytest.fixture
def opened(notifiers: BrokerProcess) -> Iterator[Open]:
    session = requests.Session()
    session.trust_env = False

    def open_(name: str) -> Client:
        address = f"{notifiers.url}/notifiers/{quote(name, safe='')}?wsdl"
        return Client(address, transport=Transport(session=session))

    yield open_
    session.close()


def quake(text: str) -> Any:
    element = etree.Element("{urn:test}quake")
    element.text = text
    return {"_value_1": element}


async def told(sink: Sink, text: bytes) -> None:
    """Each service once, and as its own dialect has it."""
    await wait_until(lambda: all(len(sink.at(name)) == 1 for name in DIALECTS), "all are told", 30)
    for name, dialect in DIALECTS.items():
        (found,) = sink.notifications(name)
        assert found.dialect == dialect and text in found.payload.data
    assert b"Notify" in sink.at("CARE")[0].body and b"Disaster-Info/Earthquake" in sink.at("CARE")[0].body
    assert b"Envelope" in sink.at("UNDRB")[0].body and b"Notify>" not in sink.at("UNDRB")[0].body
    event = json.loads(sink.at("USGS")[0].body)
    assert (event["root"], event["sender"], event["hop"], event["label"]) == (ROOT, ROOT, "1", "Earthquake")


@BOTH
async def test_publish(soap: str, world: None, opened: Open, sink: Sink, call: Call) -> None:
    client = await asyncio.to_thread(opened, ROOT)
    port = client.bind("IDER-Söhne", f"NotifierSoap{soap}")
    asked = {"Topic": "Earthquake", "Data": quake("7.1"), "Protocol": "hin", "Limit": 10}
    message = await asyncio.to_thread(partial(port.Publish, **asked))
    await told(sink, b"7.1")
    found = await call("GET", f"/api/disseminations/{message}?wait=30s")
    assert (found["root"], found["topic"], found["protocol"]) == (ROOT, "Earthquake", "hin")
    assert sorted(found["receivers"]) == sorted(DIALECTS) and found["complete"] and found["repetitions"] == 0


@BOTH
async def test_publish_text(soap: str, world: None, opened: Open, sink: Sink) -> None:
    client = await asyncio.to_thread(opened, ROOT)
    port = client.bind("IDER-Söhne", f"NotifierSoap{soap}")
    said = {"_value_1": '{"magnitude": 7.2}', "MediaType": "application/json"}
    await asyncio.to_thread(partial(port.Publish, Topic="Earthquake", Text=said))
    await told(sink, b'{"magnitude": 7.2}')
    assert json.loads(sink.at("USGS")[0].body)["data"] == {"magnitude": 7.2}


@BOTH
async def test_notify(soap: str, world: None, opened: Open, sink: Sink) -> None:
    """Of a client that knows nothing of headers: a message of its own."""
    client = await asyncio.to_thread(opened, ROOT)
    port = client.bind("IDER-Söhne", f"NotifierSoap{soap}")
    await asyncio.to_thread(partial(port.Notify, Topic="Earthquake", Data=quake("7.3")))
    await told(sink, b"7.3")
    await wait_until(lambda: any(b"7.3" in each.body for each in sink.at("IDER")), "its own service is told")


@BOTH
async def test_faults_are_zeeps_own(soap: str, world: None, opened: Open, notifiers: BrokerProcess) -> None:
    """Among them a root that was made up, with the headers that the WSDL describes."""
    client = await asyncio.to_thread(opened, ROOT)
    port = client.bind("IDER-Söhne", f"NotifierSoap{soap}")
    before = len(accepted(notifiers.data))
    with pytest.raises(Fault, match="Weather"):
        await asyncio.to_thread(partial(port.Publish, Topic="Weather", Data=quake("1")))
    with pytest.raises(Fault, match="there are: bin"):
        await asyncio.to_thread(partial(port.Publish, Topic="Earthquake", Data=quake("1"), Protocol="gossip"))
    headers = {
        "Root": "CARE",
        "Notified": {"Notifier": ["UNDRB"]},
        "Message": "m",
        "Copy": "c",
        "Protocol": "hin",
        "Sender": "CARE",
        "For": ROOT,
        "Hop": 1,
        "When": "2030-01-31T12:00:00Z",
        "Proof": "00",
    }
    with pytest.raises(Fault, match="nothing proves"):
        await asyncio.to_thread(partial(port.Notify, Topic="Earthquake", Data=quake("1"), _soapheaders=dict(headers)))
    assert len(accepted(notifiers.data)) == before


async def test_a_notifier_of_somebody_else(
    world: None, sink: Sink, call: Call, notifiers: BrokerProcess, http: HttpClient
) -> None:
    """It is told in SOAP, with the header of HIN; what our node proved is believed here, for whom it is, and once."""
    partner = {"categories": ["Global"], "notifier": sink.url("partner")}
    await call("PUT", "/api/world/services/Partner", partner)
    asked = {"topic": "Earthquake", "data": "<quake>7.4</quake>", "media_type": "application/xml", "protocol": "hin"}
    made = await call("POST", f"/api/notifiers/{quote(ROOT)}/publish", asked, 202)
    (request,) = await wait_until(lambda: sink.at("partner"), "the partner is told", 30)
    await wait_until(lambda: sink.at("CARE"), "and so are the others", 30)
    said = read_notifier_message(request.body)
    assert isinstance(said, NotifyRequest) and said.copy is not None
    copy, message = said.copy, said.copy.message
    assert (copy.to, copy.hop, set(copy.notified)) == ("Partner", 1, {*DIALECTS, "Partner"})
    assert (message.id, message.root, message.reports) == (made["id"], ROOT, notifiers.url)
    assert message.data == Payload("application/xml", b"<quake>7.4</quake>")
    found = await call("GET", f"/api/disseminations/{made['id']}?wait=30s")
    assert "Partner" in found["receivers"] and found["complete"]
    await call("DELETE", "/api/world/services/Partner", expected=204)
    await call("POST", "/api/notifiers", partner_here(sink), 201)
    headers = (("Content-Type", dict(request.headers)["content-type"]),)
    for name, status in (("CARE", 400), ("Partner", 200), ("Partner", 200)):
        answer = await http.request("POST", f"{notifiers.url}/notifiers/{name}", headers, request.body)
        assert answer.status == status, answer
    await call("POST", f"/api/notifiers/{quote(ROOT)}/publish", asked | {"data": "<last/>"}, 202)
    await wait_until(lambda: b"<last/>" in sink.payloads("here"), "what came last", 30)
    assert sink.payloads("here") == [b"<quake>7.4</quake>", b"<last/>"]
    await call("DELETE", "/api/notifiers/Partner", expected=204)


def partner_here(sink: Sink) -> dict[str, object]:
    return {"name": "Partner", "categories": ["Global"], "address": sink.url("here")}


MESSAGE = Message(MessageId("m"), "hin", ROOT, "Earthquake", Payload("text/plain", b"1"), Instant(1))
COPY = Copy("c", MESSAGE, ROOT, "CARE", 1)
SOAP = (("Content-Type", "application/soap+xml"),)


@pytest.mark.parametrize(
    ("request_", "status", "why"),
    [
        (notify_request(COPY, "0" * 64), 403, b"nothing proves"),
        (notify_request(COPY, ""), 403, b"nothing proves"),
        (notify_request(replace(COPY, message=replace(MESSAGE, root="Nobody")), "0" * 64), 403, b"nothing proves"),
        (
            notify_request(replace(COPY, notified=tuple(f"n{each}" for each in range(1000))), "0"),
            413,
            b"1000 notifiers",
        ),
        (notify_request(replace(COPY, hop=0), "0"), 400, b"Hop"),
        ((SOAP, b"<a"), 400, b"well-formed"),
        ((SOAP, b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), 400, b"DOCTYPE"),
        ((SOAP, f'<e:Envelope xmlns:e="{SOAP_12}"><e:Body/></e:Envelope>'.encode()), 400, b"empty Body"),
        ((SOAP, f'<Notify xmlns="{NOTIFIER}"/>'.encode()), 400, b"Envelope"),
        (((("Content-Type", "text/xml"),), f'<e:Envelope xmlns:e="{SOAP_11}">'.encode()), 500, b"well-formed"),
        ((SOAP, b" " * (2 << 20)), 413, b"bytes"),
    ],
    ids=str,
)
async def test_what_is_not_believed(
    request_: tuple[tuple[tuple[str, str], ...], bytes],
    status: int,
    why: bytes,
    world: None,
    notifiers: BrokerProcess,
    http: HttpClient,
) -> None:
    """A fault that says what is wrong, and nothing of it is kept."""
    before = len(accepted(notifiers.data))
    answer = await http.request("POST", f"{notifiers.url}/notifiers/CARE", *request_)
    assert answer.status == status and why in answer.body and b"Fault" in answer.body
    assert len(accepted(notifiers.data)) == before
