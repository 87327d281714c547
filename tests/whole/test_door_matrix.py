"""Every dialect that publishes reaches every dialect that consumes, and says the same."""

import itertools
from collections.abc import Awaitable, Callable
from uuid import uuid4

import msgspec
import pytest
from cloudevents.core.bindings.http import from_http_event, to_binary_event, to_structured_event
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from lxml import etree
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import TONGUES, Tongue, message, notify, wse_event, wse_subscribe, wsn_subscribe

from tocsin import Client
from tocsin.model.identity import Pairs
from tocsin.model.names import topic
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker

PAYLOAD = '<q:quake xmlns:q="urn:q" strength="7.1"><q:where>Lisboa &amp; Setúbal</q:where></q:quake>'
NAMES = ["wsn-1.3", "wse-2004-08", "cloudevents"]
PRODUCER = "http://seismo.example/1"
Post = Callable[[str, Pairs, bytes], Awaitable[None]]


@pytest.fixture
def post(http: HttpClient) -> Post:
    """Accepted is 202 with nothing in it."""

    async def send(url: str, headers: Pairs, body: bytes) -> None:
        answer = await http.request("POST", url, headers, body)
        assert (answer.status, answer.body) == (202, b""), answer

    return send


def json_event(name: str, about: str) -> CloudEvent:
    attributes = {
        "id": name,
        "source": PRODUCER,
        "type": "quake",
        "subject": about,
        "datacontenttype": "application/xml",
    }
    return CloudEvent(attributes, PAYLOAD)


async def publish(dialect: str, post: Post, broker: BrokerProcess, name: str, about: str) -> None:
    match dialect.split():
        case ["wsn", soap, wsa]:
            said = notify(message(PAYLOAD, about, PRODUCER), message_id=name, tongue=Tongue(soap, wsa))
            await post(f"{broker.url}/broker", *said)
        case ["wse", soap, wsa]:
            said = wse_event(PAYLOAD, about, name, PRODUCER, Tongue(soap, wsa))
            await post(f"{broker.url}/broker/publish", *said)
        case ["cloudevents", mode]:
            write = to_structured_event if mode == "structured" else to_binary_event
            made = write(json_event(name, about))
            await post(f"{broker.url}/events", tuple(made.headers.items()), made.body)


async def subscribe(dialect: str, http: HttpClient, broker: BrokerProcess, consumer: str, about: str) -> None:
    match dialect.split():
        case ["wsn", soap, wsa]:
            url, said = f"{broker.url}/broker", wsn_subscribe(consumer, about, tongue=Tongue(soap, wsa))
        case ["wse", soap, wsa]:
            url, said = f"{broker.url}/broker", wse_subscribe(consumer, about, tongue=Tongue(soap, wsa))
        case [_, mode]:
            asked = {"consumer": consumer, "topic": about, "mode": mode}
            url = f"{broker.url}/api/subscriptions"
            said = ((("Content-Type", "application/json"),), msgspec.json.encode(asked))
    answer = await http.request("POST", url, *said)
    assert answer.status in (200, 201), answer


SOAP_DIALECTS = [f"{name} {each.soap} {each.wsa}" for name in ("wsn", "wse") for each in TONGUES]
DIALECTS = [*SOAP_DIALECTS, "cloudevents structured", "cloudevents binary"]


@pytest.mark.parametrize("spoken", DIALECTS)
async def test_what_one_says_all_hear(
    spoken: str, broker: BrokerProcess, sink: Sink, http: HttpClient, post: Post
) -> None:
    about, name = f"matrix/t{uuid4().hex}", f"urn:uuid:{uuid4()}"
    paths = {heard: heard.replace(" ", "-").replace("/", "-") for heard in DIALECTS}
    for heard, path in paths.items():
        await subscribe(heard, http, broker, sink.url(path), about)
    await publish(spoken, post, broker, name, about)
    await wait_until(lambda: len(sink.received) >= len(DIALECTS), f"all consumers hear: {len(sink.received)}")
    for heard, path in paths.items():
        (found,) = sink.notifications(path)
        assert (found.id, found.producer, str(found.topic)) == (name, PRODUCER, about), heard
        assert _canonical(found.payload.data) == _canonical(PAYLOAD.encode()), heard
        _check_form(heard, sink, path)
    assert len(sink.received) == len(DIALECTS)


def _canonical(data: bytes) -> bytes:
    return etree.tostring(etree.fromstring(data), method="c14n")


def _check_form(heard: str, sink: Sink, path: str) -> None:
    """In the SOAP and WS-Addressing versions in which it was asked for."""
    (received,) = sink.at(path)
    headers = dict(received.headers)
    if heard == "cloudevents binary":
        assert headers["ce-specversion"] == "1.0" and headers["content-type"].startswith("application/xml")
    elif heard == "cloudevents structured":
        assert headers["content-type"].startswith("application/cloudevents+json")
    else:
        _, soap, wsa = heard.split()
        tongue = Tongue(soap, wsa)
        assert headers["content-type"].startswith("application/soap+xml" if soap == "1.2" else "text/xml")
        namespaces = set(etree.fromstring(received.body).nsmap.values())
        assert tongue.say("", "")[1].split(b'"')[5].decode() in namespaces
        assert ("soapaction" in headers) == (soap == "1.1")


@pytest.mark.parametrize("mode", ["structured", "binary"])
async def test_the_cloudevents_sdk_reads_what_it_wrote(
    mode: str, broker: BrokerProcess, sink: Sink, http: HttpClient, post: Post
) -> None:
    about = f"sdk/t{uuid4().hex}"
    await subscribe(f"cloudevents {mode}", http, broker, sink.url("sdk"), about)
    attributes = {"id": f"{uuid4()}", "source": "/sensors/ü", "type": "com.example.t", "subject": about, "extra": "1"}
    sent = CloudEvent(attributes | {"datacontenttype": "application/json"}, {"celsius": 21.5, "name": "žluťoučký"})
    written = to_structured_event(sent) if mode == "structured" else to_binary_event(sent)
    await post(f"{broker.url}/events", tuple(written.headers.items()), written.body)
    (received,) = await wait_until(lambda: sink.at("sdk"), "the event arrives")
    made = from_http_event(type(written)(headers=dict(received.headers), body=received.body))
    assert made.get_data() == sent.get_data()
    assert made.get_attributes() == sent.get_attributes() | {
        "datacontenttype": made.get_datacontenttype(),
        "time": made.get_time(),
    }
    assert JSONFormat().write(made)


@pytest.mark.parametrize(("spoken", "heard"), list(itertools.product(NAMES, repeat=2)))
async def test_our_own_client_in_any_dialect(
    spoken: str, heard: str, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about = f"client/t{uuid4().hex}"
    lease = await Client(broker.url, heard, http).subscribe(sink.url("own"), topic=about, expires="PT5M")
    wanted = topic(about)
    assert wanted is not None
    name = await Client(broker.url, spoken, http).publish(
        b'{"beds": 4}', media_type="application/json", topic=wanted, producer="urn:desk", kind="question"
    )
    (found,) = await wait_until(lambda: sink.notifications("own"), "the notification arrives")
    assert (found.id, found.payload.data, found.payload.media_type) == (name, b'{"beds": 4}', "application/json")
    assert (found.topic, found.producer) == (wanted, "urn:desk")
    renewed = await Client(broker.url, heard, http).renew(lease.address, "PT10M")
    assert renewed.address == lease.address and renewed.expires
    await Client(broker.url, heard, http).unsubscribe(lease.address)


@pytest.mark.parametrize(
    ("media_type", "body"),
    [("application/json", b'{"a": [1, 2]}'), ("application/xml", b"<a>\n<b/></a>"), ("image/png", b"\x89PNG\x00\xff")],
)
async def test_raw_events_keep_their_bytes_and_take_their_topic_from_the_address(
    media_type: str, body: bytes, broker: BrokerProcess, sink: Sink, http: HttpClient, post: Post
) -> None:
    leaf = f"t{uuid4().hex}"
    await subscribe("cloudevents binary", http, broker, sink.url("raw"), f"raw/{leaf}")
    await subscribe("wsn 1.2 2005/08", http, broker, sink.url("soap"), f"raw/{leaf}")
    await post(f"{broker.url}/broker/publish/raw/{leaf}", (("Content-Type", media_type),), body)
    await wait_until(lambda: len(sink.received) == 2, "both arrive")
    (received,) = sink.at("raw")
    assert received.body == body and dict(received.headers)["content-type"] == media_type
    assert str(sink.notifications("soap")[0].topic) == f"raw/{leaf}"
    assert sink.notifications("soap")[0].payload.data == body or media_type == "application/xml"


async def test_plain_xml_that_speaks_of_envelopes_is_not_soap(
    broker: BrokerProcess, sink: Sink, http: HttpClient, post: Post
) -> None:
    leaf = f"t{uuid4().hex}"
    await subscribe("cloudevents binary", http, broker, sink.url("raw"), f"raw/{leaf}")
    body = b"<shop><item>Envelopes, 100</item></shop>"
    await post(f"{broker.url}/broker/publish/raw/{leaf}", (("Content-Type", "application/xml"),), body)
    (received,) = await wait_until(lambda: sink.at("raw"), "it arrives")
    assert received.body == body


async def test_one_notify_of_several_messages(broker: BrokerProcess, sink: Sink, http: HttpClient, post: Post) -> None:
    about = f"several/t{uuid4().hex}"
    await subscribe("wsn 1.2 2005/08", http, broker, sink.url("some"), f"{about}/wanted")
    await subscribe("cloudevents structured", http, broker, sink.url("all"), f"{about}//.")
    messages = [message(f"<n>{n}</n>", f"{about}/{'wanted' if n % 2 else 'other'}") for n in range(6)]
    await post(f"{broker.url}/broker", *notify(*messages, message_id=f"urn:uuid:{uuid4()}"))
    await wait_until(lambda: len(sink.at("some")) == 3 and len(sink.at("all")) == 6, "nine deliveries")
    assert [etree.fromstring(each).text for each in sink.payloads("some")] == ["1", "3", "5"]
    assert [etree.fromstring(each).text for each in sink.payloads("all")] == list("012345")
    assert len({each.id for each in sink.notifications("all")}) == 6
