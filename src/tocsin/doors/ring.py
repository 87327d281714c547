"""Requests about what another node of the ring has at home: passed on to it as they came, and answered as it answers.

Whatever is called by an id of the ring is found by that, so no door knows of this but here (paper 004 s3.B).
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Coroutine, MutableMapping
from typing import Any

import msgspec

from tocsin.broker.ring.messages import Forward, Forwarded
from tocsin.broker.ring.port import PATH, Whereabouts
from tocsin.broker.ring.ring import Ring
from tocsin.documents.ring import RING
from tocsin.doors.api.gathering import ALONE as ALONE_HEADER
from tocsin.doors.api.parameters import LONGEST_WAIT
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import (
    Application,
    Disconnected,
    Message,
    Receive,
    Scope,
    Send,
    header,
    only,
    read_body,
    send_reply,
    while_connected,
)

FORWARD_SECONDS = LONGEST_WAIT + 30.0  # who waits for messages may wait long
# What lasts is served by any node: it asks the home for what there is, again and again.
_STREAM = re.compile(r"/api/pullpoints/[^/]+/(?:stream|socket)$")
NAMED = re.compile(r"/([0-9a-f]{16}-[0-9a-f]{32})(?:/|$)")
_NOTIFIERS = "/api/notifiers"
OF_NOTIFIERS = re.compile(r"/(?:notifiers|api/notifiers|api/disseminations)/([^/]+)(?:/|$)")
ALONE = ALONE_HEADER.encode()
_OPEN = (RING, "/peer/", "/healthz", "/metrics", "/api/status")  # also at a node without doors
_JSON = (("Content-Type", "application/json"),)
Ask = Callable[[Forward], Coroutine[Any, Any, Forwarded]]
_OF_CONNECTION = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"content-length", b"date"})


def ring_door(ring: Ring, application: Application, body_limit: int) -> Application:
    """In front of all doors of a node. What comes from another node goes straight to them."""
    ring.forwarding.door = lambda request, left: _answered(application, request, left)

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
        elif scope["path"] == PATH:
            await send_reply(send, _whereabouts(ring) if scope["method"] == "GET" else only("GET"))
        elif ring.circle.is_moving and not scope["path"].startswith(_OPEN):
            await ring.circle.moved()
            await door(scope, receive, send) if not ring.circle.is_moving else await send_reply(send, _moving())
        elif not ring.has_doors and not scope["path"].startswith(_OPEN):
            await send_reply(send, await _no_doors(ring))
        elif _creates_notifier(ring, scope):
            await _create(ring, application, scope, receive, send, body_limit)
        elif (name := _elsewhere(ring, scope)) is None:
            await application(scope, receive, send)
        else:
            await passed_on(_to_home(ring, name), scope, receive, send, body_limit)

    return door


def _moving() -> Reply:
    return problem(Refusal("overloaded", "this node moves on its ring; try again a little later, or at another node"))


def _to_home(ring: Ring, name: str) -> Ask:
    return lambda request: ring.forwarding.forward_home(name, request, FORWARD_SECONDS)


async def _no_doors(ring: Ring) -> Reply:
    """A node of role dht (paper 004 s4.A)."""
    found = await ring.overview.with_doors()
    text = f"this node has no doors; {', '.join(found) or 'none that is reached'} {'have' if found else 'has'} them"
    return Reply(421, _JSON, msgspec.json.encode({"error": "not-here", "message": text, "doors": found}))


def _whereabouts(ring: Ring) -> Reply:
    return Reply(200, _JSON, msgspec.json.encode(Whereabouts(ring.circle.me, ring.address)))


def _elsewhere(ring: Ring, scope: Scope) -> str | None:
    """What it is about, if that is not at home here, or not yet."""
    path: str = scope["path"]
    found = NAMED.search(path) or (OF_NOTIFIERS.match(path) if ring.sharing is not None else None)
    if found is None or not ring.has_others or _STREAM.match(path) or header(scope, ALONE):
        return None
    return None if _is_here(ring, found[1]) else found[1]


def _is_here(ring: Ring, name: str) -> bool:
    return ring.circle.is_ready and ring.home_of(name) is None


def _creates_notifier(ring: Ring, scope: Scope) -> bool:
    is_asked = scope["path"] == _NOTIFIERS and scope["method"] == "POST"
    return is_asked and ring.has_others and ring.sharing is not None


class _Named(msgspec.Struct):
    name: str


async def _create(
    ring: Ring, application: Application, scope: Scope, receive: Receive, send: Send, body_limit: int
) -> None:
    """A notifier that is yet to be has its name in what asks for it. What cannot be read is refused where it came."""
    try:
        body = await read_body(scope, receive, body_limit)
    except Refusal as refusal:
        await send_reply(send, problem(refusal))
        return
    plain = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"content-encoding"]}
    try:
        name = msgspec.json.decode(body, type=_Named).name
    except (msgspec.MsgspecError, UnicodeDecodeError):
        name = ""
    if not name or _is_here(ring, name):
        await application(plain, _again(body, receive), send)
    else:
        await passed_on(_to_home(ring, name), plain, _again(body, receive), send, body_limit)


def _again(body: bytes, receive: Receive) -> Receive:
    """What was read, to be read once more."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return first.pop() if first else await receive()

    return received


async def passed_on(ask: Ask, scope: Scope, receive: Receive, send: Send, body_limit: int) -> None:
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
            ticket=uuid.uuid4().hex,
        )
        answer = await while_connected(receive, ask(request))
    except Disconnected:
        return
    except Refusal as refusal:
        await send_reply(send, problem(refusal))
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": answer.body})


async def _answered(application: Application, request: Forward, left: asyncio.Event) -> Forwarded:
    """By the doors of this node, which ask for a name and a password as they always do. `left` is set when nobody waits
    for the answer any more."""
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
    answer, said = _Gathered(), False

    async def receive() -> Message:
        nonlocal said
        if said:
            await left.wait()
            return {"type": "http.disconnect"}
        said = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    await application(scope, receive, answer.send)
    return Forwarded(answer.status, tuple(answer.headers), b"".join(answer.parts))


class _Gathered:
    def __init__(self) -> None:
        self.status, self.headers, self.parts = 500, list[tuple[bytes, bytes]](), list[bytes]()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [pair for pair in message.get("headers", ()) if pair[0].lower() not in _OF_CONNECTION]
        elif message["type"] == "http.response.body":
            self.parts.append(message.get("body", b""))
