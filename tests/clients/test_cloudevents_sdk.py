"""The SDK of CloudEvents: what it writes is accepted in every mode, and what is delivered in any mode it reads."""

import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from cloudevents.core.bindings.http import HTTPMessage
from cloudevents.core.v03.event import CloudEvent as OldEvent
from cloudevents.core.v1.event import CloudEvent
from cloudevents.v1.conversion import to_binary, to_structured
from cloudevents.v1.http import CloudEvent as FirstEvent
from cloudevents.v1.http import from_http, from_json
from tests.clients.peers import events
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.clients

Post = Callable[[HTTPMessage], Awaitable[Answer]]
Data = dict[str, Any] | str | bytes | None
DATA: dict[str, tuple[str | None, Data]] = {
    "json": ("application/json", {"celsius": 21.5, "place": "Žďár", "of": [1, None, True]}),
    "json of a vendor": ("application/vnd.example+json", {"a": {"b": []}}),
    "no type": (None, {"celsius": 21.5}),
    "text as json": ("application/json", "it writes this without quotes in binary mode"),
    "text": ("text/plain", "a\nb"),
    "xml": ("application/xml", "<?xml version='1.0'?>\n<a>é</a>"),
    "bytes": ("image/png", b"\x89PNG\r\n\x00\xff"),
    "nothing": (None, None),
}


@pytest.fixture
def post(broker: BrokerProcess, http: HttpClient) -> Post:
    async def send(message: HTTPMessage) -> Answer:
        return await http.request("POST", f"{broker.url}/events", tuple(message.headers.items()), message.body)

    return send


def event(topic: str, data: Data = None, media_type: str | None = None, **more: Any) -> CloudEvent:
    attributes = {"id": f"{uuid4()}", "source": "/sensors/ü?a=1", "type": "com.example.t", "subject": topic}
    typed = {} if media_type is None else {"datacontenttype": media_type}
    return CloudEvent(attributes | typed | more, data)


def new_topic() -> str:
    return f"sdk/t{uuid4().hex}"


def plain(data: Data) -> object:
    """Bytes without a type stay bytes to whoever gets them as JSON; the SDK itself takes such a body for JSON."""
    if isinstance(data, bytes) and data[:1] == b"{":
        return json.loads(data)
    return data.encode() if isinstance(data, str) else data


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("mode", events.MODES)
async def test_what_it_writes_it_reads(mode: str, kind: str, broker: BrokerProcess, post: Post) -> None:
    topic, (media_type, data) = new_topic(), DATA[kind]
    more = {"dataschema": "urn:schema", "note": 'ž "%"', "time": datetime(2030, 1, 2, 3, 4, 5, 678900, UTC)}
    sent = event(topic, data, media_type, **more)
    async with AsyncExitStack() as stack:
        takers = [await stack.enter_async_context(events.receiving(broker.url, topic, each)) for each in events.MODES]
        assert (await post(events.MODES[mode](sent))).status == 202
        for taker in takers:
            (found,) = await wait_until(taker.taken, "it arrives")
            assert plain(found.get_data()) == plain(data)
            assert _told(found, sent.get_attributes()) == sent.get_attributes()


def _told(found: CloudEvent, sent: Iterable[str]) -> dict[str, Any]:
    """The media type of JSON may be told though it was not said: it is what there is without one."""
    attributes = dict(found.get_attributes())
    if "datacontenttype" not in sent and attributes.get("datacontenttype") == "application/json":
        del attributes["datacontenttype"]
    return attributes


@pytest.mark.parametrize("heard", events.MODES)
async def test_a_batch_arrives_whole_and_in_order(heard: str, broker: BrokerProcess, post: Post) -> None:
    topic = new_topic()
    sent = [event(topic, {"n": n}, "application/json") for n in range(30)]
    async with events.receiving(broker.url, topic, heard) as taker:
        assert (await post(events.batch(*sent))).status == 202
        await wait_until(lambda: len(taker.taken()) >= 30, "all arrive")
        assert [each.get_data() for each in taker.taken()] == [each.get_data() for each in sent]
        assert [each.get_id() for each in taker.taken()] == [each.get_id() for each in sent]


async def test_a_batch_with_one_it_cannot_be_is_refused_whole(broker: BrokerProcess, post: Post) -> None:
    topic = new_topic()
    good, bad = event(topic, {"n": 1}), OldEvent({"id": "1", "source": "/s", "type": "t", "subject": topic})
    async with events.receiving(broker.url, topic, "structured") as taker:
        answer = await post(events.batch(good, bad))
        assert answer.status == 400 and b"0.3" in answer.body, answer
        assert (await post(events.batch(good))).status == 202
        await wait_until(taker.taken, "what is good arrives")
        assert len(taker.taken()) == 1


@pytest.mark.parametrize("mode", ["structured", "binary"])
async def test_the_version_before_is_refused(mode: str, post: Post) -> None:
    old = OldEvent({"id": "1", "source": "/s", "type": "t"}, {"a": 1})
    answer = await post(events.MODES[mode](old))
    assert answer.status == 400 and "1.0" in json.loads(answer.body)["detail"], answer


@pytest.mark.parametrize("heard", events.MODES)
@pytest.mark.parametrize("write", [to_structured, to_binary])
async def test_its_first_interface(
    write: Callable[[FirstEvent], tuple[dict[str, str], bytes]],
    heard: str,
    broker: BrokerProcess,
    sink: Sink,
    http: HttpClient,
    post: Post,
) -> None:
    """Most programs still use it."""
    topic = new_topic()
    sent = FirstEvent({"source": "/s", "type": "t", "subject": topic, "datacontenttype": "application/json"}, {"a": 1})
    async with events.receiving(broker.url, topic, heard) as taker:
        assert (await post(HTTPMessage(*write(sent)))).status == 202
        (received,) = await wait_until(taker.received, "it arrives")
    if heard == "batched":
        (found,) = (from_json(json.dumps(each)) for each in json.loads(received.body))
    else:
        found = from_http(dict(received.headers), received.body)
    assert found.get_data() == {"a": 1}
    assert dict(found.get_attributes()) == dict(sent.get_attributes())
