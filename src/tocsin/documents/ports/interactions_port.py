"""What the doors ask of the node about services that interact (paper 000 s2.1)."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from tocsin.model.interactions import Also, Interaction, Profile, Request
from tocsin.model.names import Topic
from tocsin.model.notification import Notification, Payload


class Ask(Struct, frozen=True):
    """A consumer begins: `producer` is named, or left to the broker by category and profile."""

    pattern: str
    topic: str
    asker: str
    data: Payload
    producer: str = ""
    category: str = ""
    profile: Profile = Profile()
    also: Also = ""
    channel: str = ""


class Tell(Struct, frozen=True):
    """A producer begins; `protocol` is how push-1:n-implicit travels."""

    pattern: str
    topic: str
    producer: str
    data: Payload
    protocol: str = ""


class Told(Struct, frozen=True):
    """Who was told what by that; with push-1:n-implicit the dissemination of `message` knows."""

    message: str
    told: tuple[str, ...]
    closed: tuple[str, ...] = ()


class Fetched(Struct, frozen=True):
    """A notification as the log has it; `private` to one that it was addressed to."""

    notification: Notification
    private: bool


SeenRequest = Callable[[Request], bool]
SeenInteraction = Callable[[Interaction], bool]


class InteractionsPort(Protocol):
    async def ask(self, asked: Ask) -> Request:
        """Returns when the request is on disk, and so is what tells the producer of it."""
        ...

    async def answer(self, request: str, by: str, data: Payload, *, principal: str | None = None) -> Told: ...

    async def tell(self, tell: Tell, *, principal: str | None = None) -> Told: ...

    async def end(self, request: str, by: str) -> Request: ...

    async def request(self, request: str) -> Request: ...

    async def requests(self, after: int, limit: int, seen: SeenRequest) -> Sequence[tuple[int, Request]]: ...

    async def interactions(
        self, after: int, limit: int, request: str | None, seen: SeenInteraction
    ) -> Sequence[tuple[int, Interaction]]: ...

    async def fetch(self, offset: int, index: int) -> Fetched:
        """One notification of the log; refused when there is none there, or none any more."""
        ...

    def subscription_of(self, service: str) -> str | None:
        """By which a service is told at this node; None where it is told elsewhere."""
        ...

    def topic_of(self, label: str) -> Topic:
        """What a topic of the world is on the wire."""
        ...
