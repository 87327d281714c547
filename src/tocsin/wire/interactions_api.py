"""`/api/patterns`, `/api/requests`, `/api/interactions`: services that interact; and what a thin notice points to."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.mediation import cloudevents
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.request import Interaction
from tocsin.model.request import Request as Asked
from tocsin.routing.interaction import PATTERNS
from tocsin.wire.asgi import read_body
from tocsin.wire.documents import Page
from tocsin.wire.interactions_documents import (
    AnswerRequest,
    AskRequest,
    InteractionDocument,
    PatternDocument,
    RequestDocument,
    TellRequest,
    ToldDocument,
)
from tocsin.wire.port import Broker
from tocsin.wire.pull_documents import asked_number

MOST_ITEMS = 1000
# What somebody published must not run as a page of ours.
_HARMLESS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "Cache-Control": "private, no-store",
}


class InteractionHandlers:
    _broker: Broker

    async def patterns(self, request: Request) -> Response:
        del request
        return _json(Page(list(map(PatternDocument.of, PATTERNS.values())), None))

    async def ask(self, request: Request) -> Response:
        asked: AskRequest = await self._told(request, AskRequest)
        made = await self._broker.interactions.ask(asked.normalised())
        location = {"Location": f"{self._broker.base_url}/api/requests/{made.id}"}
        return _json(RequestDocument.of_request(made), 201, location)

    async def requests(self, request: Request) -> Response:
        state, service = request.query_params.get("state"), request.query_params.get("service")

        def seen(each: Asked) -> bool:
            return state in (None, each.state) and service in (None, each.asker, each.producer)

        limit = _limit(request)
        rows = await self._broker.interactions.requests(_after(request), limit, seen)
        following = str(rows[-1][0]) if len(rows) == limit else None
        return _json(Page([RequestDocument.of_request(each) for _, each in rows], following))

    async def request(self, request: Request) -> Response:
        found = await self._broker.interactions.request(request.path_params["id"])
        return _json(RequestDocument.of_request(found))

    async def answer(self, request: Request) -> Response:
        asked: AnswerRequest = await self._told(request, AnswerRequest)
        name = request.path_params["id"]
        return _json(ToldDocument.of(await self._broker.interactions.answer(name, asked.by, asked.payload())))

    async def end_request(self, request: Request) -> Response:
        await self._broker.interactions.end(request.path_params["id"], request.query_params.get("by", ""))
        return Response(status_code=204)

    async def tell(self, request: Request) -> Response:
        asked: TellRequest = await self._told(request, TellRequest)
        return _json(ToldDocument.of(await self._broker.interactions.tell(asked.normalised())), 201)

    async def interactions(self, request: Request) -> Response:
        service, of = request.query_params.get("service"), request.query_params.get("request")

        def seen(each: Interaction) -> bool:
            return service is None or service == each.by or service in each.told

        limit = _limit(request)
        rows = await self._broker.interactions.interactions(_after(request), limit, of, seen)
        following = str(rows[-1][0]) if len(rows) == limit else None
        return _json(Page([InteractionDocument.of(each) for _, each in rows], following))

    async def notification(self, request: Request) -> Response:
        """The data as it was published; the whole event for those who accept one."""
        offset, index = _place(request, "offset"), _place(request, "index")
        found = (await self._broker.interactions.fetch(offset, index)).notification
        if cloudevents.STRUCTURED in request.headers.get("accept", ""):
            return Response(cloudevents.structured(found)[1], 200, _HARMLESS, cloudevents.STRUCTURED)
        return Response(found.payload.data, 200, {**_HARMLESS, "Content-Type": _kind(found)})

    async def _told(self, request: Request, kind: Any) -> Any:
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        try:
            return msgspec.json.decode(body or b"{}", type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal("malformed", str(error)) from None


def _kind(notification: Notification) -> str:
    return notification.payload.media_type or "application/octet-stream"


def _place(request: Request, name: str) -> int:
    found = asked_number(request.path_params, name)
    assert found is not None
    return found


def _after(request: Request) -> int:
    return asked_number(request.query_params, "after") or 0


def _limit(request: Request) -> int:
    limit = asked_number(request.query_params, "limit")
    return 100 if limit is None else max(1, min(limit, MOST_ITEMS))


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
