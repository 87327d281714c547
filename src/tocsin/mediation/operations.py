"""The normalised information sets: what a request asks for, and what is answered (WS-Messenger s4.1)."""

from msgspec import Struct

from tocsin.model.filters import Filter
from tocsin.model.identity import Instant, Pairs
from tocsin.model.subscription import Endpoint, Form, Subscription


class Context(Struct, frozen=True):
    """Whom we answer: the reply follows the requester's SOAP, WS-Addressing and specification."""

    dialect: str
    soap: str
    addressing: str | None
    message_id: str = ""
    operation: str = ""


class Publish(Struct, frozen=True):
    """One or more notifications; the message itself goes into the log and is normalised from there."""


class Subscribe(Struct, frozen=True):
    consumer: Endpoint
    end_to: Endpoint | None
    form: Form
    filters: tuple[Filter, ...]
    expires: Instant | None


class Renew(Struct, frozen=True):
    id: str
    expires: Instant | None
    form: Form


class GetStatus(Struct, frozen=True):
    id: str


class Unsubscribe(Struct, frozen=True):
    id: str


Request = Publish | Subscribe | Renew | GetStatus | Unsubscribe


class Subscribed(Struct, frozen=True):
    subscription: Subscription
    address: str
    now: Instant


class Renewed(Struct, frozen=True):
    subscription: Subscription
    now: Instant


class Status(Struct, frozen=True):
    subscription: Subscription
    now: Instant


class Unsubscribed(Struct, frozen=True):
    pass


Answer = Subscribed | Renewed | Status | Unsubscribed


class Reply(Struct, frozen=True):
    """An HTTP response, complete."""

    status: int
    headers: Pairs
    body: bytes
