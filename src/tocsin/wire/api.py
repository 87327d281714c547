"""`/api`: JSON for programs and people, described by `/api/openapi.json`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tocsin.mediation.faults import problem
from tocsin.mediation.times import timestamp
from tocsin.model.refusal import Refusal
from tocsin.wire import openapi
from tocsin.wire.asgi import only, read_body
from tocsin.wire.documents import (
    DeadLetterDocument,
    Page,
    RedriveRequest,
    RenewRequest,
    SubscribeRequest,
    SubscriptionDocument,
    TopicDocument,
)
from tocsin.wire.port import Broker

MOST_ITEMS = 1000
Handler = Callable[[Request], Awaitable[Response]]


def api(broker: Broker) -> Starlette:
    handlers = _Handlers(broker)
    routes = [
        _at("/api/subscriptions", GET=handlers.subscriptions, POST=handlers.subscribe),
        _at("/api/subscriptions/{id}", GET=handlers.subscription, DELETE=handlers.unsubscribe),
        _at("/api/subscriptions/{id}/renew", POST=handlers.renew),
        _at("/api/dead-letters", GET=handlers.dead_letters),
        _at("/api/dead-letters/redrive", POST=handlers.redrive),
        _at("/api/topics", GET=handlers.topics),
        _at("/api/status", GET=handlers.status),
        _at("/api/openapi.json", GET=handlers.openapi),
        _at("/healthz", GET=handlers.healthz),
    ]
    return Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_allowed})


class _Handlers:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def subscriptions(self, request: Request) -> Response:
        limit = _limit(request)
        found = self._broker.subscriptions(request.query_params.get("after", ""), limit)
        items = [SubscriptionDocument.of(each) for each in found]
        return _json(Page(items, items[-1].id if len(items) == limit else None))

    async def subscribe(self, request: Request) -> Response:
        asked = await self._read(request, SubscribeRequest)
        made = await self._broker.subscribe(asked.normalised(self._broker.now()))
        return _json(
            SubscriptionDocument.of(made), 201, {"Location": f"{self._broker.base_url}/api/subscriptions/{made.id}"}
        )

    async def subscription(self, request: Request) -> Response:
        return _json(SubscriptionDocument.of(self._broker.subscription(request.path_params["id"])))

    async def renew(self, request: Request) -> Response:
        asked = await self._read(request, RenewRequest)
        renewed = await self._broker.renew(asked.normalised(request.path_params["id"], self._broker.now()))
        return _json(SubscriptionDocument.of(renewed))

    async def unsubscribe(self, request: Request) -> Response:
        await self._broker.unsubscribe(request.path_params["id"])
        return Response(status_code=204)

    async def dead_letters(self, request: Request) -> Response:
        limit = _limit(request)
        after = _number(request, "after", 0)
        subscription = request.query_params.get("subscription")
        found = await asyncio.to_thread(self._broker.dead_letters, after, limit, subscription)
        items = [DeadLetterDocument.of(each) for each in found]
        return _json(Page(items, str(items[-1].id) if len(items) == limit else None))

    async def redrive(self, request: Request) -> Response:
        asked = await self._read(request, RedriveRequest)
        return _json({"redriven": await self._broker.redrive(asked.ids)})

    async def topics(self, request: Request) -> Response:
        del request
        items = [TopicDocument(name, count, timestamp(last)) for name, count, last in self._broker.topics()]
        return _json(Page(items, None))

    async def status(self, request: Request) -> Response:
        del request
        return _json(self._broker.figures())

    async def openapi(self, request: Request) -> Response:
        del request
        return _json(openapi.document(self._broker.base_url))

    async def healthz(self, request: Request) -> Response:
        del request
        if (problem := self._broker.problem()) is not None:
            return _json({"status": "failing", "reason": problem}, 503)
        return _json({"status": "ok"})

    async def _read(self, request: Request, kind: Any) -> Any:
        """The body as that kind; an empty one as its defaults, where it has them."""
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        try:
            return msgspec.json.decode(body or b"{}", type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal("malformed", str(error)) from None


def _at(path: str, **handlers: Handler) -> Route:
    """One route for all methods of a path, so that who asks for another is told of all of them."""

    async def dispatch(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, _guarded(dispatch), methods=list(handlers))


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except Refusal as refusal:
            reply = problem(refusal)
            return Response(reply.body, reply.status, dict(reply.headers))

    return guarded


async def _not_found(request: Request, error: Exception) -> Response:
    del error
    reply = problem(Refusal("unknown-operation", f"nothing is at {request.url.path}; /api/openapi.json lists what is"))
    return Response(reply.body, reply.status, dict(reply.headers))


async def _not_allowed(request: Request, error: Exception) -> Response:
    del request
    allowed = (getattr(error, "headers", None) or {}).get("Allow", "")
    reply = only(*sorted(each for each in allowed.split(", ") if each != "HEAD"))
    return Response(reply.body, reply.status, dict(reply.headers))


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def _limit(request: Request) -> int:
    return max(1, min(_number(request, "limit", 100), MOST_ITEMS))


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 18:
        raise Refusal("malformed", f"{name}={text!r} is not a whole number")
    return int(text)
