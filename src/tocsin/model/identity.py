"""Identities and instants."""

from typing import NewType

Node = NewType("Node", str)
MessageId = NewType("MessageId", str)
SubscriptionId = NewType("SubscriptionId", str)
Instant = NewType("Instant", int)  # nanoseconds since 1970, UTC
Pairs = tuple[tuple[str, str], ...]

SECOND = 1_000_000_000


def after(now: Instant, seconds: float) -> Instant:
    return Instant(now + round(seconds * SECOND))
