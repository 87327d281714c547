"""`/api/registrations`: publishers that register, without SOAP."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.ports.port import Broker
from tocsin.documents.registrations import RegisterRequest, RegistrationDocument
from tocsin.documents.subscriptions import Page
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Registration
from tocsin.wire.asgi import read_body


class RegistrationHandlers:
    _broker: Broker

    async def registrations(self, request: Request) -> Response:
        del request
        found = [self._shown(each) for each in self._broker.registrations()]
        return _json(Page(found, None))

    async def register(self, request: Request) -> Response:
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        try:
            asked = msgspec.json.decode(body or b"{}", type=RegisterRequest)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal("malformed", str(error)) from None
        made = await self._broker.register(asked.normalised(self._broker.now()))
        return _json(self._shown(made), 201, {"Location": f"{self._broker.base_url}/api/registrations/{made.id}"})

    async def registration(self, request: Request) -> Response:
        return _json(self._shown(self._broker.registration(request.path_params["id"])))

    async def destroy_registration(self, request: Request) -> Response:
        await self._broker.destroy_registration(request.path_params["id"])
        return Response(status_code=204)

    def _shown(self, registration: Registration) -> RegistrationDocument:
        return RegistrationDocument.of(registration, self._broker.upstream_of(registration.id))


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
