"""`/api/views` and `/api/replies`: what publishers see of the replies they asked for, and how receivers reply."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

import msgspec
from starlette.requests import Request

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents import replies as d
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.gathering import Share, union
from tocsin.doors.api.parameters import LONGEST_WAIT, Path, Query, flag, seconds, whole_number
from tocsin.doors.api.router import Answer, Resource
from tocsin.doors.api.streams import STREAM, EventStream, data
from tocsin.model.refusal import Refusal
from tocsin.routing.reply.waiting import Until
from tocsin.wire.asgi import while_connected

views = Resource(d.VIEWS)
replies = Resource(d.REPLIES)
Name = Annotated[str, Path("Of the view")]
Token = Annotated[str, Path("Of the notification that asks for a reply")]
_ONCE = {"Cache-Control": "no-store"}
_USUAL_GRACE = 2.0
_APART = 0.1  # seconds between two events of a stream


def _share(name: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 < found <= 1:
        raise Refusal("malformed", f"{name}={value[:80]!r} is not a share of all, such as 0.9")
    return found


def _rate(name: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 < found < 1e9:
        raise Refusal("malformed", f"{name}={value[:80]!r} is not a rate, such as 0.5 replies a second")
    return found


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[d.ViewDocument]:
    del query
    return Page(union(shares, lambda each: each.id), None)


@views.get(says="The views of the replies that the caller asked for", merge=_merged)
def list_views(node: Node, caller: Caller) -> Page[d.ViewDocument]:
    return Page([d.ViewDocument.of(each) for each in node.views.all(caller)], None)


@views.get("/{id}", says="The replies to a publication; with ?wait, once one of the conditions holds")
async def get_view(
    node: Node,
    caller: Caller,
    request: Request,
    id: Name,
    wait: Annotated[float, Query("How long to wait: 30s, 500ms, or seconds; at most 5m", seconds)] = 0.0,
    all: Annotated[bool, Query("Wait until nobody is outstanding, which is the default", flag)] = True,
    fraction: Annotated[float | None, Query("Wait until that share of those reached has replied", _share)] = None,
    count: Annotated[int | None, Query("Wait until so many have replied", whole_number)] = None,
    quiet: Annotated[float | None, Query("Wait until fewer replies than that come in a second", _rate)] = None,
    look: Annotated[float, Query("How long other nodes are asked for what they have, without waiting", seconds)] = 0.0,
) -> Answer[d.ViewDocument]:
    if not wait:
        return Answer(d.ViewDocument.of(await node.views.get(caller, id, look=look)), _ONCE)
    until = Until(all, fraction, count, quiet, min(wait, LONGEST_WAIT))
    view, met = await while_connected(request.receive, node.views.wait(caller, id, until))
    return Answer(d.ViewDocument.of(view, met), _ONCE)


@views.get("/{id}/stream", says="Server-Sent Events: the view, again whenever it changes", returns=STREAM, head=False)
async def stream_view(node: Node, caller: Caller, id: Name) -> EventStream:
    await node.views.get(caller, id)
    return EventStream(_changes(node, caller, id))


async def _changes(node: Node, caller: Caller, id: str) -> AsyncIterator[bytes]:
    """A burst of replies is one event."""
    last: d.ViewDocument | None = None
    async for view in node.views.watch(caller, id):
        shown = d.ViewDocument.of(view)
        yield b":\n\n" if shown == last else data(msgspec.json.encode(shown))
        last = shown
        if view.ended:
            return
        await asyncio.sleep(_APART)


@views.delete("/{id}", says="Terminate a view: what comes later does not count")
async def terminate_view(
    node: Node,
    caller: Caller,
    id: Name,
    grace: Annotated[float, Query("How long other nodes are waited for; 2s", seconds)] = _USUAL_GRACE,
) -> d.ViewDocument:
    return d.ViewDocument.of(await node.views.terminate(caller, id, grace))


@replies.get("/{token}", says="What is asked of the receiver of a notification", public=True)
async def get_question(node: Node, caller: Caller, token: Token) -> d.QuestionDocument:
    return d.QuestionDocument.of(*await node.replying.question(caller, token))


@replies.post("/{token}", says="Reply to a notification, once", status=204, public=True)
async def reply(node: Node, caller: Caller, token: Token, said: d.ReplyRequestDocument) -> None:
    await node.replying.reply(caller, token, said.value)
