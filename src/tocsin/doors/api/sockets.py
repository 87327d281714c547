"""`/api/pullpoints/{id}/socket` and `/api/socket`: messages over a WebSocket (RFC 6455)."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tocsin.documents.ports.port import Broker
from tocsin.documents.pull_points import MessageDocument, asked_topic
from tocsin.doors.api.queries import asked_flag
from tocsin.doors.api.streams import AT_ONCE, HEARTBEAT_SECONDS, Visit
from tocsin.doors.gate import Gate
from tocsin.doors.waiting import ended
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Held
from tocsin.model.refusal import Refusal

WINDOW = 1000  # messages that were sent and not acknowledged
_GOING_AWAY, _NORMAL, _POLICY = 1001, 1000, 1008
_LONGEST_REASON = 123  # bytes, RFC 6455 s5.5


class Acknowledgement(Struct, frozen=True, forbid_unknown_fields=True):
    """What a client says: it has all messages up to that number."""

    ack: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Over(Exception):
    """Why the connection is closed, and by which code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def socket_routes() -> list[WebSocketRoute]:
    return [WebSocketRoute("/api/pullpoints/{id}/socket", _socket), WebSocketRoute("/api/socket", _socket)]


async def _socket(socket: WebSocket) -> None:
    try:
        _check_origin(socket)
        acknowledged = asked_flag(socket, "ack")
        visit = await _visit(socket, _broker(socket))
    except Refusal as refusal:
        await _deny(socket, refusal)
        return
    try:
        await socket.accept()
        await _Conversation(socket, visit, acknowledged).hold()
    finally:
        await visit.end()


def _check_origin(socket: WebSocket) -> None:
    """A browser lets any page open a WebSocket anywhere, and says only which page it was (RFC 6455 s10.2)."""
    origin = socket.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != socket.headers.get("host"):
        raise Refusal("not-allowed", f"pages of {origin[:200]} may not read from here")


def _broker(socket: WebSocket) -> Broker:
    gate: Gate = socket.app.state.gate
    scheme = "https" if socket.scope.get("scheme") == "wss" else "http"
    return gate.of({**socket.scope, "scheme": scheme})


async def _visit(socket: WebSocket, broker: Broker) -> Visit:
    name = socket.path_params.get("id")
    if name is None:
        return await Visit.begin(broker, asked_topic(socket.query_params))
    broker.pull_point(name)
    return Visit(broker, name)


async def _deny(socket: WebSocket, refusal: Refusal) -> None:
    reply = problem(refusal)
    response = Response(reply.body, reply.status)
    for name, value in reply.headers:
        response.headers.append(name, value)
    await socket.send_denial_response(response)


class _Conversation:
    """With `acknowledged` a message counts as handed out only when the client says so; else when it is sent."""

    def __init__(self, socket: WebSocket, visit: Visit, acknowledged: bool) -> None:
        self._socket, self._visit, self._acknowledged = socket, visit, acknowledged
        self._broker, self._name = visit.broker, visit.pull_point
        self._sent = self._heard = self._broker.pull_point(self._name).handed_to
        self._room = asyncio.Event()

    async def hold(self) -> None:
        speaking, listening = asyncio.create_task(self._speak()), asyncio.create_task(self._listen())
        try:
            await asyncio.wait((speaking, listening), return_when=asyncio.FIRST_COMPLETED)
            for each in (speaking, listening):
                if each.done():
                    each.result()
            raise _Over(_GOING_AWAY, "the broker ends")
        except WebSocketDisconnect:
            return
        except Refusal as refusal:
            await self._close(_NORMAL, refusal.text)
        except _Over as over:
            await self._close(over.code, over.reason)
        finally:
            await ended(speaking, listening)

    async def _speak(self) -> None:
        while not self._broker.closing():
            for each in await (self._unheard() if self._acknowledged else self._visit.pulled()):
                await self._socket.send_text(msgspec.json.encode(MessageDocument.of(each)).decode())
                self._sent = each.number

    async def _unheard(self) -> Sequence[Held]:
        """Waits for what was not sent yet, or for room: who never acknowledges is not sent everything."""
        await self._visit.stay()
        await self._broker.hand_out(self._name, self._heard)  # so that a mailbox stays too
        room = WINDOW - (self._sent - self._heard)
        if room > 0:
            return await self._broker.held(self._name, self._sent, min(AT_ONCE, room), HEARTBEAT_SECONDS)
        self._room.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._room.wait(), HEARTBEAT_SECONDS)
        return ()

    async def _listen(self) -> None:
        while True:
            number = _acknowledged(await self._said())
            if self._acknowledged:
                await self._hear(number)

    async def _said(self) -> str:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        return message.get("text") or ""

    async def _hear(self, number: int) -> None:
        if number > self._sent:
            raise _Over(_POLICY, f"message {number} was not sent yet; the last was {self._sent}")
        await self._broker.hand_out(self._name, number)
        self._heard = max(self._heard, number)
        self._room.set()

    async def _close(self, code: int, reason: str) -> None:
        shown = reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
        try:
            await self._socket.close(code, shown)
        except (WebSocketDisconnect, RuntimeError, OSError):  # it went away first
            return


def _acknowledged(said: str) -> int:
    try:
        return msgspec.json.decode(said, type=Acknowledgement).ack
    except msgspec.DecodeError as error:
        raise _Over(_POLICY, f'say {{"ack": NUMBER}} or nothing: {error}') from None
