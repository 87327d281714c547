"""`/api/pullpoints/{id}/stream` and `/api/stream`: a pull point read over one connection, by Server-Sent Events."""

import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from time import monotonic
from typing import Annotated

from starlette.responses import Response

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.doors.api.parameters import TEXT, Header, TopicQuery
from tocsin.doors.api.router import Resource
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import Held, Renew, Subscribe
from tocsin.model.filters import TopicIs
from tocsin.model.identity import after
from tocsin.model.paths import API
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form
from tocsin.wire.asgi import Receive, Scope, Send, while_connected

streams = Resource(API)
HEARTBEAT_SECONDS = 15.0
AT_ONCE = 100
LEASE_SECONDS = 300.0
_RENEW_SECONDS = 100.0
_LINES = re.compile(rb"\r\n|\r|\n")
_FORM = Form(cloudevents.NAME)
STREAM = {"text/event-stream": TEXT}


class Visit:
    """A pull point while it is read. One made for the visit ends with it, or soon after a node that was killed."""

    def __init__(self, node: Node, caller: Caller, pull_point: str, *, own: bool = False) -> None:
        self.node, self.caller, self.pull_point, self._own = node, caller, pull_point, own
        self._renewed = monotonic()

    @classmethod
    async def begin(cls, node: Node, caller: Caller, topic: TopicIs | None) -> "Visit":
        filters, expires = () if topic is None else (topic,), after(node.now(), LEASE_SECONDS)
        made = await node.subscriptions.subscribe(caller, Subscribe(None, None, _FORM, filters, expires))
        return cls(node, caller, made.id, own=True)

    async def handed_to(self) -> int:
        _, state = await self.node.pull_points.look(self.caller, self.pull_point)
        return state.handed_to

    async def pulled(self) -> tuple[Held, ...]:
        """What waits; nothing when there was nothing for a while."""
        await self.stay()
        return (await self.node.pull_points.pull(self.caller, self.pull_point, AT_ONCE, HEARTBEAT_SECONDS)).held

    async def held(self, number: int, limit: int = AT_ONCE, seconds: float = 0.0) -> Sequence[Held]:
        """What has a higher number, handed out or not."""
        return await self.node.pull_points.held(self.caller, self.pull_point, number, limit, seconds)

    async def hand_out(self, number: int) -> None:
        await self.node.pull_points.hand_out(self.caller, self.pull_point, number)

    async def stay(self) -> None:
        if self._own and monotonic() - self._renewed > _RENEW_SECONDS:
            self._renewed = monotonic()
            expires = after(self.node.now(), LEASE_SECONDS)
            await self.node.subscriptions.renew(self.caller, Renew(self.pull_point, expires, _FORM))

    async def end(self) -> None:
        if self._own:
            with contextlib.suppress(Refusal):  # it ended before
                await self.node.subscriptions.unsubscribe(self.caller, self.pull_point)

    async def again(self, number: int) -> AsyncIterator[Held]:
        """What was handed out behind that number and can still be read."""
        last = await self.handed_to()
        while number < last and (found := await self.held(number)):
            for each in found:
                if each.number <= last:
                    yield each
            number = found[-1].number


class EventStream(Response):
    """`text/event-stream` (HTML s9.2): the number of a message is its id, a comment tells that the line is alive."""

    media_type = "text/event-stream"

    def __init__(self, said: AsyncIterator[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._said = said

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await while_connected(receive, self._speak(send))

    async def _speak(self, send: Send) -> None:
        async with contextlib.aclosing(self._said_to_its_end()) as events:
            async for said in events:
                await send({"type": "http.response.body", "body": said, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _said_to_its_end(self) -> AsyncGenerator[bytes]:
        yield b"retry: 1000\n\n"
        try:
            async for each in self._said:
                yield each
        except Refusal as refusal:
            yield b"event: end\n" + data(refusal.text.encode())


async def _messages(visit: Visit, last: int | None) -> AsyncIterator[bytes]:
    try:
        if last is not None:
            async for each in visit.again(last):
                yield _event(each)
        while not visit.node.closing():
            yield b"".join(map(_event, await visit.pulled())) or b":\n\n"
    finally:
        await visit.end()


def _event(held: Held) -> bytes:
    return b"id: %d\n" % held.number + data(cloudevents.structured(held.notification)[1])


def data(text: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in _LINES.split(text)) + b"\n"


def _last_event(name: str, value: str) -> int | None:
    """What a browser sends when it connects again; what is no number of ours says nothing."""
    del name
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= 18 else None


@streams.get(
    "/pullpoints/{id}/stream",
    says="Server-Sent Events: ids are numbers, data are CloudEvents; Last-Event-ID reads again",
    returns=STREAM,
    head=False,
)
async def get_stream(
    node: Node, caller: Caller, id: str, last: Annotated[int | None, Header("", "last-event-id", _last_event)] = None
) -> EventStream:
    await node.pull_points.look(caller, id)
    return EventStream(_messages(Visit(node, caller, id), last))


@streams.get("/stream", says="As the stream of a pull point that lasts as long as it", returns=STREAM, head=False)
async def get_own_stream(
    node: Node, caller: Caller, topic: Annotated[TopicIs | None, TopicQuery()] = None
) -> EventStream:
    return EventStream(_messages(await Visit.begin(node, caller, topic), None))
