"""The JSON documents of the API: names may be added, none is renamed."""

from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Meta, Struct

from tocsin.mediation import cloudevents, times
from tocsin.mediation.operations import Renew, Subscribe
from tocsin.model.filters import (
    DESCEND,
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Filter,
    Not,
    TopicIs,
)
from tocsin.model.identity import Instant
from tocsin.model.names import QName
from tocsin.model.subscription import Endpoint, Form, State, Subscription
from tocsin.model.topic_expression import TopicDialect, parse_topic_expression

Item = TypeVar("Item")


class Page(Struct, Generic[Item], frozen=True):
    """`next` is what `after` must be for the next page; null on the last."""

    items: list[Item]
    next: str | None


class SubscribeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """CloudEvents to `consumer`, of the topics that match; every topic without `topic`."""

    consumer: Annotated[str, Meta(min_length=1, max_length=2048)]
    mode: Literal["structured", "binary"] = "structured"
    topic: str | None = None
    topic_dialect: TopicDialect = "full"
    namespaces: dict[str, str] = {}
    expires: str | None = None

    def normalised(self, now: Instant) -> Subscribe:
        return Subscribe(
            Endpoint(self.consumer),
            None,
            Form(cloudevents.NAME, wrapped=self.mode == "structured"),
            self._filters(),
            times.expiry(self.expires, now) if self.expires else None,
        )

    def _filters(self) -> tuple[Filter, ...]:
        if self.topic is None:
            return ()
        return (parse_topic_expression(self.topic, self.topic_dialect, self.namespaces),)


class RenewRequest(Struct, frozen=True, forbid_unknown_fields=True):
    expires: str | None = None

    def normalised(self, subscription: str, now: Instant) -> Renew:
        expires = times.expiry(self.expires, now) if self.expires else None
        return Renew(subscription, expires, Form(cloudevents.NAME))


class RedriveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """All dead letters without `ids`."""

    ids: list[Annotated[int, Meta(ge=1, le=2**63 - 1)]] | None = None


class SubscriptionDocument(Struct, frozen=True):
    id: str
    dialect: str
    consumer: str | None
    topics: list[str]
    filters: list[str]
    expires: str | None
    state: State
    reason: str
    since: int

    @classmethod
    def of(cls, subscription: Subscription) -> "SubscriptionDocument":
        return cls(
            subscription.id,
            subscription.form.dialect,
            None if subscription.consumer is None else subscription.consumer.address,
            [topic_text(each) for each in subscription.filters if isinstance(each, TopicIs)],
            [filter_text(each) for each in subscription.filters],
            None if subscription.expires is None else times.timestamp(subscription.expires),
            subscription.state,
            subscription.reason,
            subscription.since.offset,
        )


class DeadLetterDocument(Struct, frozen=True):
    id: int
    notification: str
    subscription: str
    consumer: str
    offset: int
    when: str
    reason: str
    attempts: int
    state: str

    @classmethod
    def of(cls, letter: Any) -> "DeadLetterDocument":
        delivery = letter.delivery
        return cls(
            letter.id,
            delivery.match.notification,
            delivery.match.subscription,
            delivery.to.address,
            delivery.at.offset,
            times.timestamp(letter.when),
            letter.reason,
            letter.attempts,
            letter.state,
        )


class TopicDocument(Struct, frozen=True):
    topic: str
    notifications: int
    last: str


def filter_text(asked: Filter) -> str:
    """For people; the words are those of the dialects the filters come from."""
    match asked:
        case TopicIs():
            return f"topic {topic_text(asked)}"
        case ActionIs(actions):
            return f"action {' '.join(actions)}"
        case AttributeIs(name, how, value):
            return f"{name} {how} {value!r}"
        case AllOf(filters):
            return f"all ({', '.join(map(filter_text, filters))})"
        case AnyOf(filters):
            return f"any ({', '.join(map(filter_text, filters))})"
        case Not(negated):
            return f"not {filter_text(negated)}"


def topic_text(expression: TopicIs) -> str:
    """The expression with names in Clark's form, alternatives by `|`."""
    return "|".join(map(_path_text, expression.alternatives))


def _path_text(path: tuple[QName | str, ...]) -> str:
    text, joint = "", ""
    for step in path:
        text, joint = (text + DESCEND, "") if step == DESCEND else (f"{text}{joint}{step}", "/")
    return text if joint else f"{text}."
