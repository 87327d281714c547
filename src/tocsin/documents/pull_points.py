"""The JSON documents of pull points; `openapi` is made from these too."""

from typing import Literal

from msgspec import Raw, Struct
from msgspec.structs import replace

from tocsin.documents.subscriptions import SubscribeRequest, SubscriptionDocument
from tocsin.mediation import times
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import Held, Subscribe
from tocsin.mediation.soap import templates
from tocsin.model.identity import Instant
from tocsin.model.notification import Notification
from tocsin.model.subscription import State, Subscription

PULL_POINTS, CURRENT_MESSAGE = "/api/pullpoints", "/api/topics/current"


class PullPointRequest(SubscribeRequest, frozen=True, forbid_unknown_fields=True):
    """As to subscribe, but what matches is kept until it is pulled: there is no consumer."""

    consumer: Literal[""] = ""

    def normalised(self, now: Instant) -> Subscribe:
        return replace(super().normalised(now), consumer=None)


class PullPointDocument(Struct, frozen=True):
    """Messages are numbered from 1; those above `handed_to` wait. `overflowed` were dropped because it was full.

    `messages` is where they are fetched with GET; `address` is for SOAP, and for subscriptions that feed it.
    """

    id: str
    address: str
    topics: list[str]
    filters: list[str]
    expires: str | None
    state: State
    waiting: int
    last: int
    handed_to: int
    overflowed: int
    messages: str

    @classmethod
    def of(
        cls, subscription: Subscription, base_url: str, last: int, handed_to: int, overflowed: int
    ) -> "PullPointDocument":
        shown, numbers = SubscriptionDocument.of(subscription), (last - handed_to, last, handed_to, overflowed)
        address, messages = (
            f"{base_url}{templates.PULL_POINTS}{shown.id}",
            f"{base_url}{PULL_POINTS}/{shown.id}/messages",
        )
        return cls(shown.id, address, shown.topics, shown.filters, shown.expires, shown.state, *numbers, messages)


class MessageDocument(Struct, frozen=True):
    """`event` is a structured CloudEvent; `subscription` is the one it came by."""

    number: int
    subscription: str
    event: Raw

    @classmethod
    def of(cls, held: Held) -> "MessageDocument":
        return cls(held.number, held.subscription, Raw(cloudevents.structured(held.notification)[1]))


class CurrentMessageDocument(Struct, frozen=True):
    topic: str
    when: str
    event: Raw

    @classmethod
    def of(cls, notification: Notification) -> "CurrentMessageDocument":
        event = Raw(cloudevents.structured(notification)[1])
        return cls(str(notification.topic), times.timestamp(notification.when), event)
