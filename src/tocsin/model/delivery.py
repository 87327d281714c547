"""Deliveries, the matches they come from, and the outcomes of attempts to send them."""

from typing import Literal

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId, Pairs, SubscriptionId
from tocsin.model.subscription import Endpoint, Position

# Request Timeout, Too Early, Too Many Requests: the only refusals that time can heal.
PASSING = frozenset({408, 425, 429})


class Match(Struct, frozen=True, array_like=True, gc=False):
    notification: MessageId
    subscription: SubscriptionId
    bindings: Pairs = ()


class Delivery(Struct, frozen=True, array_like=True, gc=False):
    """One HTTP request to one consumer, complete, with the times at which its notification was accepted and expires.

    `snapshot` names the compiled subscriptions that decided, where Spark did by some.
    """

    match: Match
    at: Position
    index: int
    to: Endpoint
    headers: Pairs
    body: bytes
    attempt: int = 0
    when: Instant = Instant(0)
    expires: Instant | None = None
    snapshot: str | None = None

    def is_made(self) -> bool:
        """One that could not be written has no headers, and for a body the reason."""
        return len(self.headers) > 0


Result = Literal["delivered", "retry", "dead", "dropped", "replied"]


class Outcome(Struct, frozen=True, array_like=True, gc=False):
    match: Match
    at: Position
    index: int
    when: Instant
    result: Result
    attempt: int
    detail: str
    snapshot: str | None = None
