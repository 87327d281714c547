"""What the doors ask of the node about implicit notification: the world it is in, and the notifiers it runs."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Payload
from tocsin.routing.implicit.messages import Copy
from tocsin.routing.implicit.result import Dissemination
from tocsin.semantics.interest.changes import Change, Changing
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


class Running(Struct, frozen=True):
    """A notifier of this node: what the registry says of it, and how its service is told (a subscription's id)."""

    service: Service
    subscription: str
    handled: int
    remembered: int


class ImplicitPort(Protocol):
    """`by` is who asks: the principal where access is on, else the name that was given."""

    def world(self) -> World:
        """As it stands, to read. Refused where another node keeps it."""
        ...

    def topic(self, label: str) -> Topic:
        """Of a topic of the world its path, which every node knows."""
        ...

    async def change_world(self, changes: Changes, by: str) -> int:
        """All of them or none; returns the version when it is on disk. What depends on the world as it is asks for it:
        nobody else changes it between that look and the change."""
        ...

    async def world_history(self, after: int, limit: int) -> Sequence[Changing]: ...

    async def create_notifier(self, service: Service, by: str, owner: str = "") -> Running:
        """Registers the service under its categories, with a notifier of this node; returns when it can be called.

        `owner` is whose the service's subscription is, who therefore fetches from it; by default it is who asks.
        """
        ...

    async def remove_notifier(self, name: str, by: str) -> None: ...

    def notifier(self, name: str) -> Running: ...

    def notifiers(self) -> Sequence[Running]:
        """Those of this node, by name."""
        ...

    async def publish_through(self, notifier: str, asked: Published) -> MessageId:
        """Returns when the message and all copies it causes at its root are on disk."""
        ...

    async def notify(self, copy: Copy) -> None:
        """A copy whose proof was checked, or a stranger's as a message of its own; returns when it is on disk."""
        ...

    async def pass_on(self, copies: Sequence[Copy]) -> None:
        """Copies whose root may be elsewhere, each to where its receiver is told; all of them are on disk, or none."""
        ...

    def proof(self, copy: Copy) -> str:
        """What shows that a node of this world made the copy."""
        ...

    async def dissemination(self, message: str, seconds: float = 0.0) -> Dissemination:
        """Of a message that was published through a notifier of this node; waits so long for its end."""
        ...

    async def publication(self, message: str) -> tuple[MessageId, str, str, str]:
        """Of that message: id, root, topic, protocol."""
        ...

    async def disseminations(self, limit: int) -> Sequence[tuple[MessageId, str, str, str]]:
        """The latest: id, root, topic, protocol."""
        ...
