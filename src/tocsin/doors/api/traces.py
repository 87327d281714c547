"""`/api/trace` and `/api/subscriptions/{id}/explain`: who was told of a notification, who was not, and why."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.ports.port import Broker
from tocsin.documents.ports.trace_port import Accounts, Sought
from tocsin.documents.traces import NewestDocument, TraceDocument
from tocsin.doors.api.queries import asked_flag, asked_limit, asked_whole, asked_whole_or_none
from tocsin.model.refusal import Refusal

TRACE = "/api/trace"
NEWEST, MOST_NEWEST = 10, 100
Asked = ParamSpec("Asked")


class TraceHandlers:
    _broker: Broker

    async def trace(self, request: Request) -> Response:
        """With `subscription` of that one, else of those that wanted it, or with `all` of all that stand."""
        sought, traces = _sought(request), self._broker.traces
        named = request.query_params.get("subscription")
        if named:
            return await self._explained(sought, named)
        found = await traces.find(sought)
        after, every = request.query_params.get("after", ""), asked_flag(request, "all")
        accounts = await traces.accounts(found, after, asked_limit(request), every=every)
        return await asyncio.to_thread(_json, TraceDocument.of, found, accounts)

    async def explain(self, request: Request) -> Response:
        """Of one notification, or without a name of the newest."""
        name, sought = request.path_params["id"], _sought(request)
        if sought.message or sought.offset is not None:
            return await self._explained(sought, name)
        most = max(1, min(asked_whole(request, "limit", NEWEST), MOST_NEWEST))
        return await asyncio.to_thread(_json, NewestDocument.of, await self._broker.traces.newest(name, most))

    async def _explained(self, sought: Sought, subscription: str) -> Response:
        traces = self._broker.traces
        await traces.known_subscription(subscription)  # before the log is searched in vain
        found = await traces.find(sought)
        accounts = Accounts((await traces.account(found, subscription),), None)
        return await asyncio.to_thread(_json, TraceDocument.of, found, accounts)


def _sought(request: Request) -> Sought:
    message = request.path_params.get("message") or request.query_params.get("message", "")
    offset, index = asked_whole_or_none(request, "offset"), asked_whole_or_none(request, "index")
    if message and offset is not None:
        raise Refusal("malformed", "name a notification by its id or cause, or by its offset: not by both")
    return Sought(message, offset, index)


def _json(document: Callable[Asked, object], *told: Asked.args, **more: Asked.kwargs) -> Response:
    """In a thread: it may be large."""
    return Response(msgspec.json.encode(document(*told, **more)), 200, None, "application/json")
