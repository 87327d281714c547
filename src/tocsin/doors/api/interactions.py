"""`/api/patterns`, `/api/requests`, `/api/interactions`: services that interact; and what a thin notice points to."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from starlette.responses import Response

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents import interactions as d
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.parameters import NUMBER, AfterNumber, Header, Limit, Path, Query, whole_number
from tocsin.doors.api.router import Answer, Resource
from tocsin.mediation.ce import cloudevents
from tocsin.model.interactions import Interaction, Request
from tocsin.model.paths import NOTIFICATIONS
from tocsin.routing.interaction import PATTERNS

Row = TypeVar("Row")
Document = TypeVar("Document")
Service = Annotated[str | None, Query("Those in which this service has a part")]
State = Annotated[
    str | None, Query("Those that are so", schema={"type": "string", "enum": ["open", "answered", "ended"]})
]
Number = Annotated[int, Path(read=whole_number, schema=NUMBER)]
# What somebody published must not run as a page of ours.
_HARMLESS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "Cache-Control": "private, no-store",
}

patterns = Resource(d.PATTERNS)
requests = Resource(d.REQUESTS)
interactions = Resource(d.INTERACTIONS)
notifications = Resource(NOTIFICATIONS)


@patterns.get(says="The eight patterns by which services interact")
def list_patterns(caller: Caller) -> Page[d.PatternDocument]:
    caller.anybody()
    return Page(list(map(d.PatternDocument.of, PATTERNS.values())), None)


@requests.post(says="Ask, by a pattern that a consumer begins", status=201)
async def ask(node: Node, caller: Caller, asked: d.AskRequest) -> Answer[d.RequestDocument]:
    made = await node.interactions.ask(caller, asked.normalised())
    return Answer(d.RequestDocument.of_request(made), {"Location": f"{node.base_url}{d.REQUESTS}/{made.id}"})


@requests.get(says="What services asked of each other")
async def list_requests(
    node: Node,
    caller: Caller,
    after: AfterNumber = 0,
    state: State = None,
    service: Service = None,
    limit: Limit = 100,
) -> Page[d.RequestDocument]:
    def seen(each: Request) -> bool:
        return state in (None, each.state) and service in (None, each.asker, each.producer)

    rows = await node.interactions.requests(caller, after, limit, seen)
    return _page(rows, limit, d.RequestDocument.of_request)


@requests.get("/{id}", says="One request")
async def get_request(node: Node, caller: Caller, id: str) -> d.RequestDocument:
    return d.RequestDocument.of_request(await node.interactions.request(caller, id))


@requests.delete("/{id}", says="The consumer ends its request")
async def end_request(
    node: Node, caller: Caller, id: str, by: Annotated[str, Query("Who ends it; refused if that is not who asked")] = ""
) -> None:
    await node.interactions.end(caller, id, by)


@requests.post("/{id}/answer", says="The producer answers")
async def answer(node: Node, caller: Caller, id: str, asked: d.AnswerRequest) -> d.ToldDocument:
    return d.ToldDocument.of(await node.interactions.answer(caller, id, asked.by, asked.payload()))


@interactions.post(says="Tell, by a pattern that a producer begins", status=201)
async def tell(node: Node, caller: Caller, asked: d.TellRequest) -> d.ToldDocument:
    return d.ToldDocument.of(await node.interactions.tell(caller, asked.normalised()))


@interactions.get(says="Who asked, who answered, who was told")
async def list_interactions(
    node: Node,
    caller: Caller,
    after: AfterNumber = 0,
    request: Annotated[str | None, Query("What became of this request")] = None,
    service: Service = None,
    limit: Limit = 100,
) -> Page[d.InteractionDocument]:
    def seen(each: Interaction) -> bool:
        return service is None or service in (each.by, each.of, *each.told)

    rows = await node.interactions.interactions(caller, after, limit, request, seen)
    return _page(rows, limit, d.InteractionDocument.of_interaction)


@notifications.get("/{offset}/{index}", says="The data that a thin notice tells of, or as an event for who accepts one")
async def get_notification(
    node: Node, caller: Caller, offset: Number, index: Number, accept: Annotated[str, Header("", "accept")] = ""
) -> Response:
    """The data as it was published; the whole event for those who accept one."""
    found = (await node.interactions.fetch(caller, offset, index)).notification
    if cloudevents.STRUCTURED in accept:
        return Response(cloudevents.structured(found)[1], 200, _HARMLESS, cloudevents.STRUCTURED)
    kind = found.payload.media_type or "application/octet-stream"
    return Response(found.payload.data, 200, {**_HARMLESS, "Content-Type": kind})


def _page(rows: Sequence[tuple[int, Row]], limit: int, shown: Callable[[Row], Document]) -> Page[Document]:
    return Page([shown(each) for _, each in rows], str(rows[-1][0]) if len(rows) == limit else None)
