"""`/api/registrations`: publishers that register, without SOAP."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.mediation import times
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import RegisterPublisher
from tocsin.model import names
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.model.registration import Registration
from tocsin.model.subscription import Endpoint, Form
from tocsin.wire.asgi import read_body


class RegisterRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """With `demand` the broker subscribes at `publisher`, which speaks WS-Notification 1.3, while it is wanted."""

    publisher: Annotated[str, Meta(min_length=1, max_length=2048)] | None = None
    topics: Annotated[list[str], Meta(max_length=1000)] = []
    demand: bool = False
    expires: str | None = None

    def normalised(self, now: Instant) -> RegisterPublisher:
        return RegisterPublisher(
            None if self.publisher is None else Endpoint(self.publisher),
            tuple(map(_topic, self.topics)),
            self.demand,
            times.expiry(self.expires, now) if self.expires else None,
            Form(cloudevents.NAME),
        )


def _topic(text: str) -> Topic:
    found = names.topic(text)
    if found is None:
        raise Refusal("bad-topic-expression", f"{text[:80]!r} is not a topic such as a/b or {{urn:x}}a/b")
    return found


class RegistrationDocument(Struct, frozen=True):
    """`upstream` is how the broker's own subscription at a publisher on demand stands."""

    id: str
    publisher: str | None
    topics: list[str]
    demand: bool
    dialect: str
    owner: str | None
    created: str
    expires: str | None
    upstream: str | None

    @classmethod
    def of(cls, registration: Registration, upstream: str | None) -> "RegistrationDocument":
        return cls(
            registration.id,
            None if registration.publisher is None else registration.publisher.address,
            list(map(str, registration.topics)),
            registration.demand,
            registration.form.dialect,
            registration.owner,
            times.timestamp(registration.created),
            None if registration.expires is None else times.timestamp(registration.expires),
            upstream,
        )


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
