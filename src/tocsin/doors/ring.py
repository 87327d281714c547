"""Requests about what another node of the ring has at home: passed on to it as they came, and answered as it answers.

Whatever is called by an id of the ring is found by that, so no door knows of this but here (paper 004 s3.B).
"""

import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import quote

import msgspec

from tocsin.broker.ring.messages import Forward, Forwarded
from tocsin.broker.ring.port import PATH, Whereabouts
from tocsin.broker.ring.ring import Ring
from tocsin.documents import interactions, notifiers
from tocsin.documents.consumers import CONSENTS
from tocsin.documents.registrations import REGISTRATIONS
from tocsin.documents.replies import VIEWS
from tocsin.documents.ring import RING
from tocsin.documents.tree import TREE
from tocsin.documents.world import WORLD
from tocsin.doors.operations import REGISTRATIONS as OWN_REGISTRATIONS
from tocsin.flow.addressing import AT
from tocsin.mediation.operations import Reply
from tocsin.model.paths import NOTIFICATIONS, NOTIFIER_DOORS, REPLIES, SOAP_REPLIES
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member
from tocsin.wire.asgi import Application, Message, Receive, Scope, Send, only, read_body, send_reply
from tocsin.wire.peer_messages import PEERS

FORWARD_SECONDS = 90.0  # who waits for messages may wait long
_NAMED = re.compile(r"/([0-9a-f]{16}-[0-9a-f]{32})(?:/|$)")
_AT = re.compile(rf"{AT}(node-[0-9a-f]+)(?=/)")
_PLAIN = re.compile(r"/(?:api|broker)/(?:subscriptions|pullpoints)/([0-9a-f]{32})(?:/|$)")  # of a notifier's service
# What is kept by one node, and not for all of the ring.
OF_ONE_NODE = (
    NOTIFIER_DOORS,
    f"{PEERS}/",
    REPLIES,
    SOAP_REPLIES,
    NOTIFICATIONS,
    notifiers.NOTIFIERS,
    notifiers.DISSEMINATIONS,
    interactions.PATTERNS,
    interactions.REQUESTS,
    interactions.INTERACTIONS,
    REGISTRATIONS,
    OWN_REGISTRATIONS,
    CONSENTS,
    VIEWS,
    TREE,
    WORLD,
)
_OPEN = (RING, "/peer/", "/healthz", "/metrics", "/api/status")  # also at a node without doors
_JSON = (("Content-Type", "application/json"),)
_OF_CONNECTION = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"content-length", b"date"})


def ring_door(ring: Ring, application: Application, body_limit: int, first: str | None = None) -> Application:
    """In front of all doors of a node. What comes from another node goes straight to them. Behind the one address of
    several workers the `first` has what is one node's alone, unless the address names another."""
    ring.door = lambda request: _answered(application, request)

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        path, home = _placed(ring, scope["path"], first)
        if path != scope["path"]:
            scope = {**scope, "path": path, "raw_path": quote(path).encode()}
        if path == PATH:
            await send_reply(send, _whereabouts(ring) if scope["method"] == "GET" else only("GET"))
        elif not ring.has_doors and not path.startswith(_OPEN):
            await send_reply(send, await _no_doors(ring))
        elif home is None:
            await application(scope, receive, send)
        else:
            await _forward(ring, home, scope, receive, send, body_limit)

    return door


def _placed(ring: Ring, path: str, first: str | None) -> tuple[str, Member | None]:
    """The path without who it names, and who has what is there; None for this node. What was with one that left is
    looked for as if it had not been named."""
    at = _AT.match(path) if path.startswith(AT) and first is not None else None
    path = path if at is None else path[at.end() :]
    if (found := _NAMED.search(path)) is not None:
        return path, ring.home_of(found[1])
    if at is not None and (at[1] == ring.circle.me or ring.another(at[1]) is not None):
        return path, ring.another(at[1])
    if first is None or path == PATH:
        return path, None
    if (plain := _PLAIN.match(path)) is not None and ring.stands(plain[1]):
        return path, ring.home_of(plain[1])
    return path, ring.another(first) if plain is not None or path.startswith(OF_ONE_NODE) else None


async def _no_doors(ring: Ring) -> Reply:
    """A node of role dht (paper 004 s4.A)."""
    found = await ring.with_doors()
    text = f"this node has no doors; {', '.join(found) or 'none that is reached'} {'have' if found else 'has'} them"
    return Reply(421, _JSON, msgspec.json.encode({"error": "not-here", "message": text, "doors": found}))


def _whereabouts(ring: Ring) -> Reply:
    return Reply(200, _JSON, msgspec.json.encode(Whereabouts(ring.circle.me, ring.address)))


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
        status = 503 if refusal.reason == "overloaded" else 400
        body = msgspec.json.encode({"error": refusal.reason, "message": refusal.text})
        await send_reply(send, Reply(status, (*_JSON, *((("Retry-After", "1"),) if status == 503 else ())), body))
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": answer.body})


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
    answer, said = _Gathered(), False

    async def receive() -> Message:
        nonlocal said
        if said:
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
