"""The GT4 side: its envelopes, written from the schemas of the drafts, and a producer that serves a counter."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from lxml import etree
from tests.whole.sink import Say, Sink

from tocsin import Received
from tocsin.model.identity import Pairs
from tocsin.wire.http_client import HttpClient

FIXTURES = Path(__file__).parents[1] / "fixtures" / "wsn_1_2"
BASE = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BaseNotification-1.2-draft-01.xsd"
LIFETIME = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceLifetime-1.2-draft-01.xsd"
PROPERTIES = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceProperties-1.2-draft-01.xsd"
FAULTS = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-BaseFaults-1.2-draft-01.xsd"
WSA = "http://schemas.xmlsoap.org/ws/2004/03/addressing"
NO_SUCH_KEY = "<faultcode>s:Client</faultcode><faultstring>no such key</faultstring>"
SOAP_11: Pairs = (("Content-Type", "text/xml; charset=utf-8"), ("SOAPAction", '""'))


def envelope(name: str, **values: str) -> bytes:
    text = (FIXTURES / f"{name}.xml").read_text("utf-8")
    for key, value in ({"message": str(uuid4()), "reference": "", "to": "http://broker/"} | values).items():
        text = text.replace(f"@{key.upper()}@", value)
    assert "@" not in text, text
    return text.encode()


def later(**span: int) -> str:
    return (datetime.now(UTC) + timedelta(**span)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Reference:
    """An endpoint reference: what is inside ReferenceProperties goes back as headers."""

    address: str
    headers: str

    @classmethod
    def read(cls, holder: "etree._Element") -> "Reference":
        address = holder.findtext(f"{{{WSA}}}Address") or ""
        inside = holder.find(f"{{{WSA}}}ReferenceProperties")
        parts = [] if inside is None else [etree.tostring(each, with_tail=False).decode() for each in inside]
        return cls(address, "".join(parts))


@dataclass
class Subscriber:
    reference: Reference
    until: str
    paused: bool = False


@dataclass
class Counter:
    """A WS-Resource whose value changes; who subscribed is known by a key among the reference properties alone."""

    http: HttpClient
    sink: Sink = field(default_factory=Sink)
    subscribers: dict[str, Subscriber] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Counter"]:
        self.sink.script = self._answer
        async with self.sink.open():
            yield self

    @property
    def url(self) -> str:
        return self.sink.url().rstrip("/")

    async def change(self, topic: str, old: int, new: int) -> None:
        for each in [one for one in self.subscribers.values() if not one.paused]:
            where = {"to": each.reference.address, "reference": each.reference.headers, "producer": self.url}
            body = envelope("notify", topic=topic, old=str(old), new=str(new), **where)
            answer = await self.http.request("POST", each.reference.address, SOAP_11, body)
            assert 200 <= answer.status < 300, answer

    def _answer(self, received: Received) -> Say:
        root = etree.fromstring(received.body)
        content = next(root.iterfind("{*}Body/*"))
        operation = etree.QName(content).localname
        self.heard.append(operation)
        if operation == "Subscribe":
            return self._subscribed(content)
        key = root.findtext("{*}Header/{urn:counter}SubscriptionKey") or ""
        if key not in self.subscribers:
            return _said(500, f"<s:Fault>{NO_SUCH_KEY}</s:Fault>")
        return self._managed(operation, content, key)

    def _subscribed(self, content: "etree._Element") -> Say:
        consumer = content.find(f"{{{BASE}}}ConsumerReference")
        assert consumer is not None
        key = str(len(self.subscribers) + 1)
        until = content.findtext(f"{{{BASE}}}InitialTerminationTime") or ""
        self.subscribers[key] = Subscriber(Reference.read(consumer), until)
        return Say(
            200, "Content-Type: text/xml\r\n", envelope("subscribe_response", manager=self.url + "/wsrf", key=key)
        )

    def _managed(self, operation: str, content: "etree._Element", key: str) -> Say:
        namespace = etree.QName(content).namespace
        inner = ""
        match operation:
            case "Destroy":
                del self.subscribers[key]
            case "PauseSubscription" | "ResumeSubscription":
                self.subscribers[key].paused = operation == "PauseSubscription"
            case "SetTerminationTime":
                until = content.findtext(f"{{{LIFETIME}}}RequestedTerminationTime") or ""
                self.subscribers[key].until = until
                inner = f"<NewTerminationTime>{until}</NewTerminationTime><CurrentTime>{later()}</CurrentTime>"
        return _said(200, f'<{operation}Response xmlns="{namespace}">{inner}</{operation}Response>')


def _said(status: int, content: str) -> Say:
    soap = "http://schemas.xmlsoap.org/soap/envelope/"
    body = f'<s:Envelope xmlns:s="{soap}"><s:Body>{content}</s:Body></s:Envelope>'
    return Say(status, "Content-Type: text/xml\r\n", body.encode())


async def http_1_0(host: str, port: int, path: str, body: bytes) -> bytes:
    """As a client of 1999 asks: no Host, no connection to keep."""
    reader, writer = await asyncio.open_connection(host, port)
    head = f"POST {path} HTTP/1.0\r\nContent-Type: text/xml\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer
