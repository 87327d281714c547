"""Requests about what another node of the ring has at home: passed on to it as they came, and answered as it answers.

Whatever is called by an id of the ring is found by that, so no door knows of this but here (paper 004 s3.B).
"""

import asyncio
import re
from collections.abc import MutableMapping
from typing import Any

import msgspec

from tocsin.broker.ring.messages import Forward, Forwarded
from tocsin.broker.ring.port import PATH, Whereabouts
from tocsin.broker.ring.ring import Ring
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member
from tocsin.wire.asgi import Application, Message, Receive, Scope, Send, only, read_body, send_reply

FORWARD_SECONDS = 90.0  # who waits for messages may wait long
_NAMED = re.compile(r"/([0-9a-f]{16}-[0-9a-f]{32})(?:/|$)")
_NOTIFIERS = "/api/notifiers"
_OF_MACHINE = re.compile(r"/(?:notifiers|api/notifiers|api/disseminations)/([^/]+)(?:/|$)")
_JSON = (("Content-Type", "application/json"),)
_OF_CONNECTION = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"content-length", b"date"})


def ring_door(ring: Ring, application: Application, body_limit: int) -> Application:
    """In front of all doors of a node. What comes from another node goes straight to them."""
    ring.door = lambda request: _answered(application, request)

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
        elif scope["path"] == PATH:
            await send_reply(send, _whereabouts(ring) if scope["method"] == "GET" else only("GET"))
        elif scope["path"] == _NOTIFIERS and scope["method"] == "POST" and not ring.circle.is_alone:
            await _create(ring, application, scope, receive, send, body_limit)
        elif (home := _home(ring, scope["path"])) is None:
            await application(scope, receive, send)
        else:
            await _forward(ring, home, scope, receive, send, body_limit)

    return door


def _whereabouts(ring: Ring) -> Reply:
    return Reply(200, _JSON, msgspec.json.encode(Whereabouts(ring.circle.me, ring.address)))


def _home(ring: Ring, path: str) -> Member | None:
    if (found := _OF_MACHINE.match(path)) is not None:
        return ring.home_of_machine(found[1])
    found = _NAMED.search(path)
    return None if found is None else ring.home_of(found[1])


async def _create(
    ring: Ring, application: Application, scope: Scope, receive: Receive, send: Send, body_limit: int
) -> None:
    """A notifier that is yet to be has its name in what asks for it. What cannot be read is refused where it came."""
    try:
        body = await read_body(scope, receive, body_limit)
    except Refusal as refusal:
        await _refuse(send, refusal)
        return
    try:
        home = ring.home_of_machine(msgspec.json.decode(body, type=_Named).name)
    except msgspec.MsgspecError:
        home = None
    headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-encoding", b"content-length")]
    again = {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}
    if home is None:
        await application(again, _said(body), send)
    else:
        await _forward(ring, home, again, _said(body), send, body_limit)


class _Named(msgspec.Struct):
    name: str


async def _forward(ring: Ring, home: Member, scope: Scope, receive: Receive, send: Send, body_limit: int) -> None:
    try:
        body = await read_body(scope, receive, body_limit)
        headers = tuple((name, value) for name, value in scope["headers"] if name != b"content-encoding")
        client = scope.get("client")
        request = Forward(
            scope["method"],
            scope["path"],
            scope["query_string"],
            headers,
            body,
            str(client[0]) if client else "",
            scope.get("scheme", "http"),
        )
        answer = await ring.forward(home, request, FORWARD_SECONDS)
    except Refusal as refusal:
        await _refuse(send, refusal)
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": answer.body})


async def _refuse(send: Send, refusal: Refusal) -> None:
    status = 503 if refusal.reason == "overloaded" else 400
    body = msgspec.json.encode({"error": refusal.reason, "message": refusal.text})
    await send_reply(send, Reply(status, (*_JSON, *((("Retry-After", "1"),) if status == 503 else ())), body))


async def _answered(application: Application, request: Forward) -> Forwarded:
    """By the doors of this node, which ask for a name and a password as they always do."""
    scope: MutableMapping[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query,
        "headers": list(request.headers),
        "client": (request.client, 0) if request.client else None,
        "scheme": request.scheme,
    }
    answer = _Gathered()
    await application(scope, _said(request.body), answer.send)
    return Forwarded(answer.status, tuple(answer.headers), b"".join(answer.parts))


def _said(body: bytes) -> Receive:
    """What was read before, to be read again. Whoever asked is taken to be there: an answer may be waited for."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    return receive


class _Gathered:
    def __init__(self) -> None:
        self.status, self.headers, self.parts = 500, list[tuple[bytes, bytes]](), list[bytes]()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [pair for pair in message.get("headers", ()) if pair[0].lower() not in _OF_CONNECTION]
        elif message["type"] == "http.response.body":
            self.parts.append(message.get("body", b""))
