"""The SDK of CloudEvents, which writes and reads messages; they are sent and taken by our own HTTP."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import msgspec
from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from lxml import etree
from tests.clients.peers.peer import Event
from tests.whole.sink import Sink

from tocsin import Received
from tocsin.wire.http_client import HttpClient

BATCH = "application/cloudevents-batch+json"
Write = Callable[..., HTTPMessage]


def batch(*events: CloudEvent) -> HTTPMessage:
    """The SDK has no batches; an array of what it writes is one (JSON format s4)."""
    return HTTPMessage({"content-type": BATCH}, b"[%b]" % b",".join(map(JSONFormat().write, events)))


def read(received: Received) -> list[Any]:
    """As the SDK reads it; of a batch, element by element."""
    headers = dict(received.headers)
    if not headers.get("content-type", "").startswith(BATCH):
        return [from_http_event(HTTPMessage(headers, received.body))]
    return [JSONFormat().read(None, json.dumps(each)) for each in json.loads(received.body)]


MODES: dict[str, Write] = {"structured": to_structured_event, "binary": to_binary_event, "batched": batch}


class Sending:
    def __init__(self, broker: str, mode: str, kind: str) -> None:
        self._broker, self._write, self._kind = broker, MODES[mode], kind
        self.http = HttpClient(max_body=1 << 20)

    async def publish(self, event: Event) -> None:
        attributes = {"id": f"{uuid4()}", "source": "urn:sdk", "type": self._kind, "subject": event.topic}
        made = CloudEvent(attributes | {"datacontenttype": "application/xml"}, event.payload.decode())
        await self.send(self._write(made))

    async def send(self, message: HTTPMessage) -> None:
        answer = await self.http.request("POST", f"{self._broker}/events", tuple(message.headers.items()), message.body)
        assert (answer.status, answer.body) == (202, b""), answer


class Taking:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def received(self) -> list[Received]:
        return self._sink.at("events")

    def taken(self) -> list[Any]:
        return [event for each in self.received() for event in read(each)]

    async def heard(self) -> list[Event]:
        return [Event.of(each.get_subject(), etree.fromstring(_bytes(each.get_data()))) for each in self.taken()]


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


@asynccontextmanager
async def publishing(broker: str, mode: str, kind: str = "com.example.t") -> AsyncIterator[Sending]:
    made = Sending(broker, mode, kind)
    yield made
    await made.http.close()


@asynccontextmanager
async def receiving(broker: str, topic: str, mode: str) -> AsyncIterator[Taking]:
    http = HttpClient(max_body=1 << 20)
    async with Sink().open() as sink:
        asked = {"consumer": sink.url("events"), "topic": topic, "mode": mode}
        headers = (("Content-Type", "application/json"),)
        answer = await http.request("POST", f"{broker}/api/subscriptions", headers, msgspec.json.encode(asked))
        assert answer.status == 201, answer
        yield Taking(sink)
    await http.close()
