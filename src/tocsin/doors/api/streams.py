"""Readers that stay: a pull point read over one connection, by Server-Sent Events or a WebSocket."""

import contextlib
import re
from collections.abc import AsyncIterator
from time import monotonic

from starlette.responses import Response

from tocsin.documents.ports.port import Broker
from tocsin.doors.waiting import while_connected
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import Held, Renew, Subscribe
from tocsin.model.filters import TopicIs
from tocsin.model.identity import after
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form
from tocsin.wire.asgi import Receive, Scope, Send

HEARTBEAT_SECONDS = 15.0
AT_ONCE = 100
LEASE_SECONDS = 300.0
_RENEW_SECONDS = 100.0
_LINES = re.compile(rb"\r\n|\r|\n")
_FORM = Form(cloudevents.NAME)


class Visit:
    """A pull point while it is read. One made for the visit ends with it, or soon after a node that was killed."""

    def __init__(self, broker: Broker, pull_point: str, *, own: bool = False) -> None:
        self.broker, self.pull_point, self._own = broker, pull_point, own
        self._renewed = monotonic()

    @classmethod
    async def begin(cls, broker: Broker, topic: TopicIs | None) -> "Visit":
        expires = after(broker.now(), LEASE_SECONDS)
        made = await broker.subscribe(Subscribe(None, None, _FORM, () if topic is None else (topic,), expires))
        return cls(broker, made.id, own=True)

    async def pulled(self) -> tuple[Held, ...]:
        """What waits; nothing when there was nothing for a while."""
        await self.stay()
        return (await self.broker.pull(self.pull_point, AT_ONCE, HEARTBEAT_SECONDS)).held

    async def stay(self) -> None:
        if self._own and monotonic() - self._renewed > _RENEW_SECONDS:
            self._renewed = monotonic()
            await self.broker.renew(Renew(self.pull_point, after(self.broker.now(), LEASE_SECONDS), _FORM))

    async def end(self) -> None:
        if self._own:
            with contextlib.suppress(Refusal):  # it ended before
                await self.broker.unsubscribe(self.pull_point)

    async def again(self, number: int) -> AsyncIterator[Held]:
        """What was handed out behind that number and can still be read."""
        last = self.broker.pull_point(self.pull_point).handed_to
        while number < last and (found := await self.broker.held(self.pull_point, number, AT_ONCE)):
            for each in found:
                if each.number <= last:
                    yield each
            number = found[-1].number


class EventStream(Response):
    """`text/event-stream` (HTML s9.2): the number of a message is its id, a comment tells that the line is alive."""

    media_type = "text/event-stream"

    def __init__(self, visit: Visit, last: int | None) -> None:
        super().__init__(headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._visit, self._last = visit, last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await while_connected(receive, self._speak(send))
        finally:
            await self._visit.end()

    async def _speak(self, send: Send) -> None:
        async for said in self._said():
            await send({"type": "http.response.body", "body": said, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _said(self) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        try:
            if self._last is not None:
                async for each in self._visit.again(self._last):
                    yield _event(each)
            while not self._visit.broker.closing():
                yield b"".join(map(_event, await self._visit.pulled())) or b":\n\n"
        except Refusal as refusal:
            yield b"event: end\n" + _data(refusal.text.encode())


def _event(held: Held) -> bytes:
    return b"id: %d\n" % held.number + _data(cloudevents.structured(held.notification)[1])


def _data(text: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in _LINES.split(text)) + b"\n"
