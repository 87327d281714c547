"""The JSON documents of a trace."""

from msgspec import UNSET, Struct, UnsetType

from tocsin.documents import filled
from tocsin.flow.traces import Account, Accounts, Logged, Newest, Outcome
from tocsin.matching.explain.explanation import Part, Verdict
from tocsin.matching.explain.wording import shortened
from tocsin.mediation.times import timestamp
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.notification import came_by
from tocsin.model.subscription import State, Subscription, neighbour_of

TRACE = "/api/trace"

LONGEST = 500  # characters, of what was asked and of the reason


class TracedDocument(Struct, frozen=True):
    """A notification as the log has it: number `index` of the `of` that came in its record. `by` is the node that
    passed it on in a tree or a ring, null for what was published here. In a ring `node` is the one in whose log it is,
    which matched it; it was published at `origin`, and passed on by those of the `path`."""

    id: str
    cause: str
    offset: int
    index: int
    of: int
    when: str
    door: str
    dialect: str
    producer: str
    topic: str
    type: str | None
    content_topic: str | None
    media_type: str
    bytes: int
    by: str | None = None
    node: str | UnsetType = UNSET
    origin: str | UnsetType = UNSET
    path: list[str] | UnsetType = UNSET

    @classmethod
    def of_logged(cls, logged: Logged, node: str = "") -> "TracedDocument":
        said = logged.notification
        way = said.way
        return filled(
            cls,
            logged,
            said,
            said.at,
            said.payload,
            when=timestamp(said.when),
            topic=str(said.topic),
            type=None if said.type is None else str(said.type),
            content_topic=said.attribute(CONTENT_TOPIC),
            bytes=len(said.payload.data),
            by=came_by(said),
            node=node or UNSET,
            origin=(node if way is None else str(way.origin)) if node else UNSET,
            path=([] if way is None else [*way.path]) if node else UNSET,
        )


class PartDocument(Struct, frozen=True):
    """`decides` is true of the one that alone decided what it is a part of; `more` of its parts are left out."""

    what: str
    verdict: Verdict
    why: str
    decides: bool
    parts: list["PartDocument"]
    more: int

    @classmethod
    def of(cls, part: Part) -> "PartDocument":
        what, why = shortened(part.what, LONGEST), shortened(part.why, LONGEST)
        return cls(what, part.verdict, why, part.decides, list(map(cls.of, part.parts)), part.more)


class AccountDocument(Struct, frozen=True):
    """`wanted` is null when a filter could not be evaluated. `state` is that of the subscription then; `outcome` is
    empty of what was not wanted; `more` parts are left out. `node` is the one of a ring that tells it."""

    subscription: str
    consumer: str | None
    state: State
    wanted: bool | None
    because: str
    outcome: Outcome
    detail: str
    remark: str
    parts: list[PartDocument]
    more: int
    node: str | UnsetType = UNSET

    @classmethod
    def of(cls, account: Account, node: str = "") -> "AccountDocument":
        subscription, explanation = account.subscription, account.explanation
        return cls(
            subscription.id,
            _told(subscription),
            subscription.state,
            explanation.wanted,
            shortened(explanation.because, LONGEST),
            account.outcome,
            account.detail,
            account.remark,
            list(map(PartDocument.of, explanation.parts)),
            explanation.more,
            node or UNSET,
        )


def _told(subscription: Subscription) -> str | None:
    """Where, or which node of the tree."""
    neighbour, consumer = neighbour_of(subscription), subscription.consumer
    return f"node {neighbour}" if neighbour is not None else None if consumer is None else consumer.address


class TraceDocument(Struct, frozen=True):
    """`next` is what `after` must be to look at more subscriptions; null when all were looked at.

    In a ring `others` is the notification as other nodes have it, which matched it for some, or have it in a pull
    point; `missing` are nodes that did not answer.
    """

    notification: TracedDocument
    items: list[AccountDocument]
    next: str | None
    others: list[TracedDocument] | UnsetType = UNSET
    missing: list[str] | UnsetType = UNSET

    @classmethod
    def of(cls, logged: Logged, accounts: Accounts, node: str = "") -> "TraceDocument":
        items = [AccountDocument.of(each, node) for each in accounts.items]
        return cls(TracedDocument.of_logged(logged, node), items, accounts.next)


class NewestDocument(Struct, frozen=True):
    """The newest notifications before one subscription, newest first; `cut` when there was no time or room for all that
    were asked for."""

    items: list[TraceDocument]
    cut: bool
    missing: list[str] | UnsetType = UNSET

    @classmethod
    def of(cls, newest: Newest, node: str = "") -> "NewestDocument":
        return cls(
            [TraceDocument.of(logged, Accounts((each,), None), node) for logged, each in newest.items], newest.cut
        )
