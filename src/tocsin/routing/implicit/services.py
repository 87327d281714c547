"""What is published through notifiers, what is known of them, and how the world they are in is changed."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from tocsin.model.identity import MessageId, Pairs
from tocsin.model.notification import Payload
from tocsin.semantics.interest.changes import Change
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world import World

Changes = Sequence[Change] | Callable[[World], Sequence[Change]]


class Published(Struct, frozen=True):
    """Publish(T, D) with what may be said besides; `only` are told by the sender's own rule, not by the graph."""

    topic: str
    data: Payload
    protocol: str = "hin-din"
    id: MessageId | None = None
    limit: int | None = None
    only: tuple[str, ...] | None = None
    attributes: Pairs = ()
    reply: tuple[str, str] | None = None  # the type of replies that are asked for, and for how long


class Running(Struct, frozen=True):
    """A notifier of this node: what the registry says of it, and how its service is told (a subscription's id)."""

    service: Service
    subscription: str
    handled: int
    remembered: int
