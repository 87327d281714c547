"""The records of a node's log: accepted requests, changed subscriptions, declarations, in one order."""

from msgspec import Struct

from tocsin.model.declarations import Declaration
from tocsin.model.identity import Instant, Node, Pairs
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Position, Subscription

__all__ = ["Accepted", "Changed", "Declared", "Node", "Position", "Record"]


class Accepted(Struct, frozen=True, array_like=True, tag="a", gc=False):
    """A request that was accepted, as it came. Its notifications are a pure function of it.

    `reply` is what was made of it here, where its publisher asks for replies.
    """

    at: Position
    when: Instant
    door: str
    dialect: str
    headers: Pairs
    principal: str | None
    cause: str
    body: bytes
    reply: ReplyRequest | None = None


class Changed(Struct, frozen=True, array_like=True, tag="c"):
    """A subscription's new state, whole: subscribed, renewed, paused or ended.

    `shared` is where it stands in the order of changes that nodes share, if they do.
    """

    at: Position
    when: Instant
    subscription: Subscription
    shared: int | None = None


class Declared(Struct, frozen=True, array_like=True, tag="d"):
    """A declaration, in force from this record on."""

    at: Position
    when: Instant
    what: Declaration
    shared: int | None = None


Record = Accepted | Changed | Declared
