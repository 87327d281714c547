"""The JSON documents of the API: names may be added, none is renamed."""

from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, field

from tocsin.documents import filled
from tocsin.documents.latency import latency_text, with_latency
from tocsin.matching.explain.wording import filter_text, topic_text
from tocsin.mediation import times
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.dialects import outgoing, takes_several
from tocsin.mediation.graph_forms import with_graph
from tocsin.mediation.operations import Renew, Start, Subscribe
from tocsin.model.filters import Filter, TopicIs
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, State, Subscription
from tocsin.model.topics import TopicDialect, parse_topic_expression

SUBSCRIPTIONS, DEAD_LETTERS = "/api/subscriptions", "/api/dead-letters"

Item = TypeVar("Item")
TOGETHER = 100  # at most, in a batch


class Page(Struct, Generic[Item], frozen=True):
    """`next` is what `after` must be for the next page; null on the last. `missing` are the nodes of a ring that did
    not answer, where there are some: what they have is not among the items."""

    items: list[Item]
    next: str | None
    missing: list[str] | UnsetType = UNSET


class StartRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """From where in the log: the record of that offset, or the first accepted at that time or later."""

    offset: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    time: str | None = None

    def normalised(self) -> Start:
        try:
            return Start(self.offset, None if self.time is None else times.instant(self.time))
        except Refusal:
            hint = "write one such as 2030-01-31T12:00:00Z"
            raise Refusal("bad-start", f"{self.time!r} is not a time to begin at; {hint}") from None


class SubscribeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What `consumer` is sent, of the topics that match; every topic without `topic`. All `filters` must hold as well.

    A filter is an object of one dialect: those of the CloudEvents Subscriptions API (exact, prefix, suffix, all, any,
    not, sql), and `urn:tocsin:dialect:` + topic, content-topic, type, action, producer, xpath, items, jsonpath, sparql,
    graph-pattern. In CloudEvents unless another `dialect` is named; `mode` is how those are sent, and `binary` is raw
    in SOAP. A message has up to `together` of them, and with `max_latency` they wait for one another to go in one. With
    `thin` it is told where each can be fetched, and not its data. `graph` (turtle, n-quads, json-ld, rdf-xml) has it
    sent the event graph, `bindings` what the variables stand for.
    """

    consumer: Annotated[str, Meta(min_length=1, max_length=2048)]
    dialect: str = cloudevents.NAME
    mode: Annotated[
        Literal["structured", "binary", "batched"],
        Meta(description="How events are sent; binary is raw in SOAP, and batched is several in one message"),
    ] = "structured"
    topic: Annotated[str | None, Meta(description="A topic expression; every topic without")] = None
    topic_dialect: TopicDialect = "full"
    namespaces: dict[str, str] = {}
    filters: list[dict[str, Any]] = []
    expires: Annotated[
        str | None, Meta(description="A duration such as PT1H or a time; the broker's default lease without")
    ] = None
    start: Annotated[
        StartRequest | None,
        Meta(description="An offset of the log or a time; what is kept from there on is sent first"),
    ] = field(default=None, name="from")
    secret: Annotated[str | None, Meta(description="The name of a secret: messages are signed with it or carry it")] = (
        None
    )
    consent: Annotated[bool, Meta(description="The consumer is asked before anything is sent to it")] = False
    together: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None,
        Meta(description="How many may be in one batch of CloudEvents or Notify of WS-Notification, 100 unless told"),
    ] = None
    max_latency: Annotated[
        str | None,
        Meta(description="A duration such as PT1S, which each may wait to be sent with others; at once without"),
    ] = None
    thin: Annotated[
        bool, Meta(description="The consumer is told where each notification can be fetched, without its data")
    ] = False
    graph: Annotated[
        str | None,
        Meta(
            description="The event graph is sent in this syntax: turtle, n-quads, json-ld or rdf-xml; "
            "as published without"
        ),
    ] = None
    bindings: Annotated[
        bool, Meta(description="What the variables of a graph pattern stand for is told with each event")
    ] = False

    def normalised(self, now: Instant) -> Subscribe:
        return Subscribe(
            Endpoint(self.consumer, secret=self.secret, consent=self.consent),
            None,
            self._form(),
            self._filters(),
            times.expiry(self.expires, now) if self.expires else None,
            None if self.start is None else self.start.normalised(),
        )

    def _form(self) -> Form:
        if self.max_latency and not self.consumer:
            raise Refusal("unsupported-delivery", "max_latency is for who is sent to; what is pulled is there at once")
        if self.thin and not self.consumer:
            text = "a thin notice is for who is sent to; what is pulled is there already"
            raise Refusal("unsupported-delivery", text)
        rules = outgoing(self.dialect)
        wrapped = self.mode != "binary" and (rules.wrapped is not None or not rules.is_soap)
        soap = "1.2" if rules.is_soap else None
        form = Form(rules.name, soap, rules.addressing, wrapped, together=self._together(wrapped), thin=self.thin)
        return with_graph(with_latency(form, self.max_latency), self.graph, self.bindings)

    def _together(self, wrapped: bool) -> int:
        if not takes_several(self.dialect, wrapped=wrapped) or (self.max_latency and self.mode == "binary"):
            return 1
        return self.together or (TOGETHER if self.mode == "batched" or self.max_latency else 1)

    def _filters(self) -> tuple[Filter, ...]:
        filters = ce_filters.read(self.filters)
        if self.topic is None:
            return filters
        return (parse_topic_expression(self.topic, self.topic_dialect, self.namespaces), *filters)


class RenewRequest(Struct, frozen=True, forbid_unknown_fields=True):
    expires: str | None = None

    def normalised(self, subscription: str, now: Instant) -> Renew:
        expires = times.expiry(self.expires, now) if self.expires else None
        return Renew(subscription, expires, Form(cloudevents.NAME))


LetterNumber = Annotated[int, Meta(ge=1, le=2**63 - 1)]
LetterName = Annotated[str, Meta(pattern=r"^[0-9]{1,18}@.{1,200}$")]
LetterId = LetterNumber | LetterName


class RedriveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """All dead letters without `ids`, which are as they are listed."""

    ids: list[LetterId] | None = None


class SubscriptionDocument(Struct, frozen=True):
    """`delivered` counts from the node's start; `waiting` is what is in memory to be sent.

    `filters` are in words for people; `asked` are the same as one would ask for them, told where there are more than
    topics.
    """

    id: str
    dialect: str
    consumer: str | None
    topics: list[str]
    filters: list[str]
    expires: str | None
    state: State
    reason: str
    since: int
    waiting: int = 0
    delivered: int = 0
    dead_letters: int = 0
    secret: str | None = None
    consent: bool = False
    thin: bool | UnsetType = UNSET  # told where it is so
    asked: list[dict[str, Any]] | UnsetType = UNSET  # where topics are not all
    graph: str | UnsetType = UNSET
    bindings: bool | UnsetType = UNSET
    max_latency: str | UnsetType = UNSET

    @classmethod
    def of(cls, subscription: Subscription, tally: tuple[int, int, int] = (0, 0, 0)) -> "SubscriptionDocument":
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
            *tally,
            None if subscription.consumer is None else subscription.consumer.secret,
            subscription.consumer is not None and subscription.consumer.consent,
            subscription.form.thin or UNSET,
            _asked(subscription.filters),
            subscription.form.graph or UNSET,
            subscription.form.bindings or UNSET,
            latency_text(subscription.form) or UNSET,
        )


def _asked(filters: tuple[Filter, ...]) -> list[dict[str, Any]] | UnsetType:
    more = any(not isinstance(each, TopicIs) for each in filters)
    return [ce_filters.write(each, filter_text) for each in filters] if more else UNSET


class DeadLetterDocument(Struct, frozen=True):
    """In a ring of several nodes `id` says at which it is: 17@node-1f2e3d4c."""

    id: int | str
    notification: str
    subscription: str
    consumer: str
    offset: int
    when: str
    reason: str
    attempts: int
    state: str

    @classmethod
    def of(cls, letter: Any, node: str = "") -> "DeadLetterDocument":
        delivery, id = letter.delivery, f"{letter.id}@{node}" if node else letter.id
        when, consumer = times.timestamp(letter.when), delivery.to.address
        return filled(cls, letter, delivery.match, delivery.at, id=id, when=when, consumer=consumer)
