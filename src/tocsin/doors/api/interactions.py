"""`/api/patterns`, `/api/requests`, `/api/interactions`: services that interact; and what a thin notice points to."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.interactions import (
    AnswerRequest,
    AskRequest,
    InteractionDocument,
    PatternDocument,
    RequestDocument,
    TellRequest,
    ToldDocument,
)
from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.queries import asked_limit, asked_whole, whole_number
from tocsin.mediation.ce import cloudevents
from tocsin.model.interactions import Interaction
from tocsin.model.interactions import Request as Asked
from tocsin.model.notification import Notification
from tocsin.routing.interaction import PATTERNS

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
        asked: AskRequest = await self._read(request, AskRequest)
        made = await self._broker.interactions.ask(asked.normalised())
        location = {"Location": f"{self._broker.base_url}/api/requests/{made.id}"}
        return _json(RequestDocument.of_request(made), 201, location)

    async def requests(self, request: Request) -> Response:
        state, service = request.query_params.get("state"), request.query_params.get("service")

        def seen(each: Asked) -> bool:
            return state in (None, each.state) and service in (None, each.asker, each.producer)

        limit = asked_limit(request)
        rows = await self._broker.interactions.requests(asked_whole(request, "after", 0), limit, seen)
        following = str(rows[-1][0]) if len(rows) == limit else None
        return _json(Page([RequestDocument.of_request(each) for _, each in rows], following))

    async def request(self, request: Request) -> Response:
        found = await self._broker.interactions.request(request.path_params["id"])
        return _json(RequestDocument.of_request(found))

    async def answer(self, request: Request) -> Response:
        asked: AnswerRequest = await self._read(request, AnswerRequest)
        name = request.path_params["id"]
        return _json(ToldDocument.of(await self._broker.interactions.answer(name, asked.by, asked.payload())))

    async def end_request(self, request: Request) -> Response:
        await self._broker.interactions.end(request.path_params["id"], request.query_params.get("by", ""))
        return Response(status_code=204)

    async def tell(self, request: Request) -> Response:
        asked: TellRequest = await self._read(request, TellRequest)
        return _json(ToldDocument.of(await self._broker.interactions.tell(asked.normalised())), 201)

    async def interactions(self, request: Request) -> Response:
        service, of = request.query_params.get("service"), request.query_params.get("request")

        def seen(each: Interaction) -> bool:
            return service is None or service in (each.by, each.of, *each.told)

        limit = asked_limit(request)
        rows = await self._broker.interactions.interactions(asked_whole(request, "after", 0), limit, of, seen)
        following = str(rows[-1][0]) if len(rows) == limit else None
        return _json(Page([InteractionDocument.of_interaction(each) for _, each in rows], following))

    async def notification(self, request: Request) -> Response:
        """The data as it was published; the whole event for those who accept one."""
        offset, index = (whole_number(name, request.path_params[name]) for name in ("offset", "index"))
        found = (await self._broker.interactions.fetch(offset, index)).notification
        if cloudevents.STRUCTURED in request.headers.get("accept", ""):
            return Response(cloudevents.structured(found)[1], 200, _HARMLESS, cloudevents.STRUCTURED)
        return Response(found.payload.data, 200, {**_HARMLESS, "Content-Type": _kind(found)})

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError


def _kind(notification: Notification) -> str:
    return notification.payload.media_type or "application/octet-stream"


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
