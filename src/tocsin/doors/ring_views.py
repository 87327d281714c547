"""Views of replies that another node of the ring has: looked at, waited for, watched and terminated at any node."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator

import msgspec
from msgspec.structs import replace

from tocsin.broker.ring.messages import Forward, Forwarded
from tocsin.broker.ring.ring import Ring
from tocsin.documents.replies import VIEWS
from tocsin.doors.api.parameters import LONGEST_WAIT
from tocsin.doors.api.streams import HEARTBEAT_SECONDS, EventStream, data
from tocsin.mediation.faults import problem
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member
from tocsin.wire.asgi import (
    Application,
    Disconnected,
    Receive,
    Scope,
    Send,
    read_body,
    send_reply,
    while_connected,
)

FORWARD_SECONDS = LONGEST_WAIT + 30.0
LOOK_SECONDS = 0.5  # between two looks at a view that is streamed from here
_NAMED = re.compile(rf"{VIEWS}/([0-9a-f]{{16}}-[0-9a-f]{{32}})(/stream)?")


def views_door(ring: Ring, application: Application, rest: Application, body_limit: int) -> Application:
    """In front of the door for the `rest` of what has its place in a ring: a view is not always where its name says
    that it was made."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(VIEWS) or not (ring.has_doors and ring.has_others):
            await rest(scope, receive, send)
            return
        try:
            if (found := _NAMED.fullmatch(scope["path"])) is None:
                await application(scope, receive, send)
            else:
                home = await ring.harvesting.home(found[1])
                passing = application if home is None else _passed_on(ring, home, found, body_limit)
                await passing(scope, receive, send)
        except Refusal as refusal:
            await send_reply(send, problem(refusal))
        except Disconnected:
            return

    return door


async def _request(scope: Scope, receive: Receive, body_limit: int) -> Forward:
    body = await read_body(scope, receive, body_limit)
    headers = tuple((name, value) for name, value in scope["headers"] if name != b"content-encoding")
    client, scheme = scope.get("client"), scope.get("scheme", "http")
    come = str(client[0]) if client else ""
    ticket = uuid.uuid4().hex
    return Forward(scope["method"], scope["path"], scope["query_string"], headers, body, come, scheme, ticket=ticket)


def _passed_on(ring: Ring, home: Member, found: re.Match[str], body_limit: int) -> Application:
    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        request, is_watched = await _request(scope, receive, body_limit), bool(found[2]) and scope["method"] == "GET"
        if is_watched:
            request = replace(request, path=f"{VIEWS}/{found[1]}", query=f"look={LOOK_SECONDS}s".encode())
        answer = await while_connected(receive, ring.forwarding.forward(home, request, FORWARD_SECONDS))
        if is_watched and answer.status == 200:
            await EventStream(_changes(ring, found[1], request, answer))(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
            await send({"type": "http.response.body", "body": answer.body})

    return door


async def _changes(ring: Ring, view: str, request: Forward, first: Forwarded) -> AsyncIterator[bytes]:
    """Links between nodes carry answers that have an end: it is looked at again and again, wherever it is by then."""
    answer, last, idle = first, b"", 0.0
    while answer.status == 200:
        if answer.body != last:
            yield data(answer.body)
        elif idle >= HEARTBEAT_SECONDS:
            yield b":\n\n"
        idle = 0.0 if answer.body != last or idle >= HEARTBEAT_SECONDS else idle + LOOK_SECONDS
        last = answer.body
        if msgspec.json.decode(last)["ended"]:
            return
        await asyncio.sleep(LOOK_SECONDS)
        home = await ring.harvesting.home(view)
        if home is None:  # whoever watches comes again, and is shown it here
            return
        answer = await ring.forwarding.forward(home, request, FORWARD_SECONDS)
