"""`/api/pullpoints/{id}/socket` and `/api/socket`: messages over a WebSocket (RFC 6455)."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.pull_points import MessageDocument
from tocsin.doors.api.parameters import FLAG, Query, TopicQuery, flag
from tocsin.doors.api.router import Resource, response
from tocsin.doors.api.streams import AT_ONCE, HEARTBEAT_SECONDS, Visit
from tocsin.doors.gate import Gate
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Held
from tocsin.model.paths import API
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import ended

WINDOW = 1000  # messages that were sent and not acknowledged
_GOING_AWAY, _NORMAL, _POLICY = 1001, 1000, 1008
_LONGEST_REASON = 123  # bytes, RFC 6455 s5.5
_OF_PULL_POINT, _OWN = "/pullpoints/{id}/socket", "/socket"
_UPGRADE = "this address is for WebSockets"
_ACK = Query("Messages count as handed out when they are acknowledged, not when they are sent", flag, FLAG)
_TOPIC = TopicQuery()


class Acknowledgement(Struct, frozen=True, forbid_unknown_fields=True):
    """What a client says: it has all messages up to that number."""

    ack: Annotated[int, Meta(ge=0, le=2**63 - 1)]


sockets = Resource(API, kinds=(Acknowledgement,))
sockets.describe(
    "GET",
    _OF_PULL_POINT,
    says="A WebSocket: each message is a MessageDocument, answers are Acknowledgement",
    status=101,
    parameters={"ack": _ACK},
)
sockets.describe(
    "GET",
    _OWN,
    says="As the socket of a pull point that lasts as long as it",
    status=101,
    parameters={"topic": _TOPIC, "ack": _ACK},
)


@sockets.get(_OF_PULL_POINT, says=_UPGRADE, hidden=True)
@sockets.get(_OWN, says=_UPGRADE, hidden=True)
async def upgrade(node: Node, caller: Caller, request: Request) -> Response:
    """Whoever comes without the headers of RFC 6455 s4.1 is told which protocol is spoken here."""
    if "id" in request.path_params:
        await node.pull_points.look(caller, request.path_params["id"])
    return Response(_UPGRADE, 426, {"Upgrade": "websocket", "Connection": "Upgrade"}, "text/plain")


class _Over(Exception):
    """Why the connection is closed, and by which code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


async def _socket(socket: WebSocket) -> None:
    try:
        # A browser lets any page open a WebSocket anywhere, and says only which page it was (RFC 6455 s10.2)
        origin = socket.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != socket.headers.get("host"):
            raise Refusal("not-allowed", f"pages of {origin[:200]} may not read from here")
        acknowledged = _ACK.value(socket, "ack", False)
        visit = await _visit(socket)
    except Refusal as refusal:
        await socket.send_denial_response(response(problem(refusal)))
        return
    try:
        await socket.accept()
        await _Conversation(socket, visit, acknowledged, await visit.handed_to()).hold()
    finally:
        await visit.end()


async def _visit(socket: WebSocket) -> Visit:
    gate: Gate = socket.app.state.gate
    scheme = "https" if socket.scope.get("scheme") == "wss" else "http"
    node, caller, name = gate.node, gate.caller({**socket.scope, "scheme": scheme}), socket.path_params.get("id")
    if name is None:
        return await Visit.begin(node, caller, _TOPIC.value(socket, "topic", None))
    await node.pull_points.look(caller, name)
    return Visit(node, caller, name)


SOCKETS = (WebSocketRoute(API + _OF_PULL_POINT, _socket), WebSocketRoute(API + _OWN, _socket))


class _Conversation:
    """With `acknowledged` a message counts as handed out only when the client says so; else when it is sent."""

    def __init__(self, socket: WebSocket, visit: Visit, acknowledged: bool, handed_to: int) -> None:
        self._socket, self._visit, self._acknowledged = socket, visit, acknowledged
        self._sent = self._heard = handed_to
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
        while not self._visit.node.closing():
            for each in await (self._unheard() if self._acknowledged else self._visit.pulled()):
                await self._socket.send_text(msgspec.json.encode(MessageDocument.of(each)).decode())
                self._sent = each.number

    async def _unheard(self) -> Sequence[Held]:
        """Waits for what was not sent yet, or for room: who never acknowledges is not sent everything."""
        await self._visit.stay()
        await self._visit.hand_out(self._heard)  # so that a mailbox stays too
        room = WINDOW - (self._sent - self._heard)
        if room > 0:
            return await self._visit.held(self._sent, min(AT_ONCE, room), HEARTBEAT_SECONDS)
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
        await self._visit.hand_out(number)
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
