"""`/api/secrets` and `/api/consents`: what consumers are shown of us, and what they allow."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.consumers import ConsentDocument, SecretDocument, SecretRequest
from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.wire.asgi import only

RATE = "webhook-allowed-rate"


class ConsumerHandlers:
    _broker: Broker

    async def secrets(self, request: Request) -> Response:
        del request
        return _json(Page([SecretDocument.of(each) for each in self._broker.secrets()], None))

    async def add_secret(self, request: Request) -> Response:
        asked: SecretRequest = await self._read(request, SecretRequest)
        secret = asked.normalised(self._broker.now())
        await self._broker.add_secret(secret, replace=asked.replace)
        return _json(SecretDocument.of(secret), 201)

    async def remove_secret(self, request: Request) -> Response:
        await self._broker.remove_secret(request.path_params["id"])
        return Response(status_code=204)

    async def consents(self, request: Request) -> Response:
        del request
        waiting = self._broker.consents()
        return _json(Page([ConsentDocument(each.subscription, each.consumer, each.state) for each in waiting], None))

    async def give_consent(self, request: Request) -> Response:
        """By GET or POST (web hooks s4.1.3). A look by HEAD is no consent."""
        if request.method == "HEAD":
            reply = only("GET", "POST")
            return Response(reply.body, reply.status, dict(reply.headers))
        rate = request.headers.get(RATE, "")
        return _json({"subscription": await self._broker.give_consent(request.path_params["id"], rate)})

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, None, "application/json")
