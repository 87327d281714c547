"""`/api/pullpoints`: messages for those who fetch them, at once, after a wait, or as a stream."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.ports.port import Broker
from tocsin.documents.pull_points import (
    CurrentMessageDocument,
    MessageDocument,
    PullPointDocument,
    PullPointRequest,
    asked_topic,
)
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.queries import asked_limit, asked_wait, asked_whole_or_none
from tocsin.doors.api.streams import EventStream, Visit
from tocsin.doors.waiting import while_connected
from tocsin.matching.resolution import as_said
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.wire.asgi import only

_ONCE = {"Cache-Control": "no-store"}


class PullHandlers:
    _broker: Broker

    async def create_pull_point(self, request: Request) -> Response:
        asked: PullPointRequest = await self._read(request, PullPointRequest)
        made = await self._broker.subscribe(asked.normalised(self._broker.now()))
        return _json(self._document(made), 201, {"Location": f"{self._broker.base_url}/api/pullpoints/{made.id}"})

    async def pull_point(self, request: Request) -> Response:
        self._broker.pull_point(_name(request))
        return _json(self._document(self._broker.subscription(_name(request))))

    async def destroy_pull_point(self, request: Request) -> Response:
        self._broker.pull_point(_name(request))
        await self._broker.unsubscribe(_name(request))
        return Response(status_code=204)

    async def messages(self, request: Request) -> Response:
        """Hands out what waits; with `after` it reads what has a higher number and hands out nothing."""
        if request.method == "HEAD":
            return _get_only()
        name, seconds, after = _name(request), asked_wait(request), asked_whole_or_none(request, "after")
        limit = asked_limit(request)
        if after is None:
            pulled = await while_connected(request.receive, self._broker.pull(name, limit, seconds))
            return _json(Page(list(map(MessageDocument.of, pulled.held)), None), headers=_ONCE)
        found = await while_connected(request.receive, _listed(self._broker, name, after, limit, seconds))
        following = str(found[-1].number) if found else str(after)
        return _json(Page(found, following), headers=_ONCE)

    async def stream(self, request: Request) -> Response:
        if request.method == "HEAD":
            return _get_only()
        self._broker.pull_point(_name(request))
        return EventStream(Visit(self._broker, _name(request)), _last_event(request))

    async def own_stream(self, request: Request) -> Response:
        if request.method == "HEAD":
            return _get_only()
        return EventStream(await Visit.begin(self._broker, asked_topic(request.query_params)), None)

    async def upgrade(self, request: Request) -> Response:
        """Whoever comes without the headers of RFC 6455 s4.1 is told which protocol is spoken here."""
        if "id" in request.path_params:
            self._broker.pull_point(_name(request))
        headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
        return Response("this address is for WebSockets", 426, headers, "text/plain")

    async def current_message(self, request: Request) -> Response:
        topic = asked_topic(request.query_params)
        if topic is None:
            raise Refusal("malformed", "of which topic? add ?topic=a/b")
        return _json(CurrentMessageDocument.of(self._broker.current_message(topic)), headers=_ONCE)

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError

    def _document(self, subscription: Subscription) -> PullPointDocument:
        shown = as_said(subscription, self._broker.known)
        return PullPointDocument.of(shown, self._broker.base_url, self._broker.pull_point(subscription.id))


async def _listed(broker: Broker, name: str, after: int, limit: int, seconds: float) -> list[MessageDocument]:
    return list(map(MessageDocument.of, await broker.held(name, after, limit, seconds)))


def _name(request: Request) -> str:
    return str(request.path_params["id"])


def _last_event(request: Request) -> int | None:
    """What a browser sends when it connects again; what is no number of ours says nothing."""
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _get_only() -> Response:
    reply = only("GET")
    return Response(reply.body, reply.status, dict(reply.headers))


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
