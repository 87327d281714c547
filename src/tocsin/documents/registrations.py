"""The JSON documents of publishers that registered."""

from typing import Annotated

from msgspec import Meta, Struct

from tocsin.documents import filled
from tocsin.mediation import times
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import RegisterPublisher
from tocsin.model import names
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Registration

REGISTRATIONS = "/api/registrations"


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
        return filled(
            cls,
            registration,
            registration.form,
            publisher=None if registration.publisher is None else registration.publisher.address,
            topics=list(map(str, registration.topics)),
            created=times.timestamp(registration.created),
            expires=None if registration.expires is None else times.timestamp(registration.expires),
            upstream=upstream,
        )
