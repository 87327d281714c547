"""The JSON documents of pull points; `openapi` is made from these too."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Raw, Struct
from msgspec.structs import replace

from tocsin.flow.pull_points import PULL_POINTS
from tocsin.mediation import cloudevents, times
from tocsin.mediation.operations import Held, Subscribe
from tocsin.model import names
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import State, Subscription
from tocsin.model.topic_expression import parse_topic_expression
from tocsin.wire.documents import SubscribeRequest, SubscriptionDocument
from tocsin.wire.port import PullPointState

LONGEST_WAIT = 300.0
_WAIT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_PREFIX = "xmlns:"


class PullPointRequest(SubscribeRequest, frozen=True, forbid_unknown_fields=True):
    """As to subscribe, but what matches is kept until it is pulled: there is no consumer."""

    consumer: Literal[""] = ""

    def normalised(self, now: Instant) -> Subscribe:
        if self.thin:
            raise Refusal(
                "unsupported-delivery", "a thin notice is for who is sent to; what is pulled is there already"
            )
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
    def of(cls, subscription: Subscription, base_url: str, point: PullPointState) -> "PullPointDocument":
        shown = SubscriptionDocument.of(subscription)
        waiting = point.last - point.handed_to
        numbers = (waiting, point.last, point.handed_to, point.overflowed)
        address, messages = f"{base_url}{PULL_POINTS}{shown.id}", f"{base_url}/api/pullpoints/{shown.id}/messages"
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


def asked_topic(query: Mapping[str, str]) -> TopicIs | None:
    """`topic` with names in Clark's form, or an expression whose prefixes are told by `xmlns:p=URI`."""
    text = query.get("topic")
    if not text:
        return None
    if (topic := names.topic(text)) is not None:
        return TopicIs((topic.steps,))
    spaces = {name.removeprefix(_PREFIX): uri for name, uri in query.items() if name.startswith(_PREFIX)}
    return parse_topic_expression(text, "full", spaces)


def asked_number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not text.isdecimal() or not text.isascii() or len(text) > 18:
        raise Refusal("malformed", f"{name}={text[:80]!r} is not a whole number")
    return int(text)


def asked_wait(query: Mapping[str, str]) -> float:
    """In seconds, and no longer than the longest: who asks for more gets an empty answer then, and asks again."""
    text = query.get("wait", "0")
    found = _WAIT.fullmatch(text)
    if found is None:
        raise Refusal("malformed", f"wait={text[:80]!r} is not a time such as 30s, 500ms or 2m")
    return min(LONGEST_WAIT, float(found[1]) * _UNITS[found[2]])


def asked_flag(query: Mapping[str, str], name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise Refusal("malformed", f"{name}={text[:80]!r} is neither true nor false")
    return text == "true"
