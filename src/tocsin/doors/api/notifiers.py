"""`/api/notifiers` and `/api/disseminations`: notifiers, what is published through them, and what became of it."""

from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.notifiers import (
    DisseminationDocument,
    DisseminationRow,
    NotifierDocument,
    NotifierRequest,
    PublishedDocument,
    PublishRequest,
)
from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.queries import asked_limit, asked_wait
from tocsin.doors.waiting import while_connected

NOTIFIERS = "/api/notifiers"
DISSEMINATIONS = "/api/disseminations"
_ONCE = {"Cache-Control": "no-store"}


class NotifierHandlers:
    _broker: Broker

    async def notifiers(self, request: Request) -> Response:
        del request
        found = self._broker.implicit.notifiers()
        return _json(Page([NotifierDocument.of(each, self._broker.base_url) for each in found], None))

    async def create_notifier(self, request: Request) -> Response:
        asked: NotifierRequest = await self._read(request, NotifierRequest)
        made = await self._broker.implicit.create_notifier(asked.normalised(), asked.by, asked.owner)
        place = f"{self._broker.base_url}{NOTIFIERS}/{quote(asked.name, safe='')}"
        return _json(NotifierDocument.of(made, self._broker.base_url), 201, {"Location": place})

    async def notifier(self, request: Request) -> Response:
        found = self._broker.implicit.notifier(request.path_params["name"])
        return _json(NotifierDocument.of(found, self._broker.base_url))

    async def remove_notifier(self, request: Request) -> Response:
        by = request.query_params.get("by", "")
        await self._broker.implicit.remove_notifier(request.path_params["name"], by)
        return Response(status_code=204)

    async def publish_through(self, request: Request) -> Response:
        """The notifier first: who misspells it is told that, whatever else is wrong."""
        name: str = request.path_params["name"]
        self._broker.implicit.notifier(name)
        asked: PublishRequest = await self._read(request, PublishRequest)
        made = await self._broker.implicit.publish_through(name, asked.normalised())
        told = PublishedDocument.of(made, self._broker.base_url)
        return _json(told, 202, {"Location": told.result})

    async def disseminations(self, request: Request) -> Response:
        found = await self._broker.implicit.disseminations(asked_limit(request))
        return _json(Page([DisseminationRow(*row) for row in found], None), headers=_ONCE)

    async def dissemination(self, request: Request) -> Response:
        name, seconds = str(request.path_params["id"]), asked_wait(request)
        row = DisseminationRow(*await self._broker.implicit.publication(name))
        found = await while_connected(request.receive, self._broker.implicit.dissemination(name, seconds))
        return _json(DisseminationDocument.of(row, found), headers=_ONCE)

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
