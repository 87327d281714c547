"""`/api/pullpoints` and `/api/topics/current`: messages for those who fetch them, at once or after a wait."""

from typing import Annotated

from starlette.requests import Request

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.pull_points import (
    CURRENT_MESSAGE,
    PULL_POINTS,
    CurrentMessageDocument,
    MessageDocument,
    PullPointDocument,
    PullPointRequest,
)
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.parameters import NUMBER, Limit, Query, TopicQuery, Wait, whole_number
from tocsin.doors.api.router import Answer, Resource
from tocsin.matching.resolution import as_said
from tocsin.model.filters import TopicIs
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import while_connected

pull_points = Resource(PULL_POINTS)
current_messages = Resource(CURRENT_MESSAGE)
Behind = Annotated[
    int | None,
    Query("Read again what has a higher number than this; nothing is handed out", whole_number, NUMBER),
]
_ONCE = {"Cache-Control": "no-store"}


@pull_points.post(says="Keep what matches", status=201)
async def create_pull_point(node: Node, caller: Caller, asked: PullPointRequest) -> Answer[PullPointDocument]:
    made = await node.subscriptions.subscribe(caller, asked.normalised(node.now()))
    return Answer(await _document(node, caller, made.id), {"Location": f"{node.base_url}{PULL_POINTS}/{made.id}"})


@pull_points.get("/{id}", says="One pull point")
async def get_pull_point(node: Node, caller: Caller, id: str) -> PullPointDocument:
    return await _document(node, caller, id)


@pull_points.delete("/{id}", says="End a pull point and what is in it")
async def destroy_pull_point(node: Node, caller: Caller, id: str) -> None:
    await node.pull_points.look(caller, id)
    await node.subscriptions.unsubscribe(caller, id)


@pull_points.get(
    "/{id}/messages",
    says="Hand out what waits, waiting for the first so long; with a number in after, read again behind that",
    head=False,
)
async def get_messages(
    node: Node,
    caller: Caller,
    request: Request,
    id: str,
    wait: Wait = 0.0,
    limit: Limit = 100,
    after: Behind = None,
) -> Answer[Page[MessageDocument]]:
    if after is None:
        pulled = await while_connected(request.receive, node.pull_points.pull(caller, id, limit, wait))
        return Answer(Page(list(map(MessageDocument.of, pulled.held)), None), _ONCE)
    held = await while_connected(request.receive, node.pull_points.held(caller, id, after, limit, wait))
    following = str(held[-1].number if held else after)
    return Answer(Page(list(map(MessageDocument.of, held)), following), _ONCE)


@current_messages.get(says="The last notification on one topic")
async def get_current_message(
    node: Node, caller: Caller, topic: Annotated[TopicIs | None, TopicQuery(required=True)] = None
) -> Answer[CurrentMessageDocument]:
    if topic is None:
        raise Refusal("malformed", "of which topic? add ?topic=a/b")
    return Answer(CurrentMessageDocument.of(await node.current_messages.get(caller, topic)), _ONCE)


async def _document(node: Node, caller: Caller, id: str) -> PullPointDocument:
    found, state = await node.pull_points.look(caller, id)
    shown = as_said(found, node.declarations.known)
    return PullPointDocument.of(shown, node.base_url, state.last, state.handed_to, state.overflowed)
