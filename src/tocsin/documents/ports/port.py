"""What the doors ask of the node behind them."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tocsin.documents.ports.consumers_port import ConsumersPort
from tocsin.documents.ports.declarations_port import DeclarationsPort
from tocsin.documents.ports.implicit_port import ImplicitPort
from tocsin.documents.ports.interactions_port import InteractionsPort
from tocsin.documents.ports.registry_port import RegistryPort
from tocsin.documents.ports.trace_port import TracesPort
from tocsin.mediation.dialects import Reading
from tocsin.mediation.operations import CreatePullPoint, Held, Pulled, Renew, Subscribe
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant, Pairs
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

Allowed = Callable[[Notification], None]
Seen = Callable[[Subscription], bool]


class PullPointState(Protocol):
    """Numbers count from 1: those above `handed_to` wait."""

    @property
    def last(self) -> int: ...

    @property
    def handed_to(self) -> int: ...

    @property
    def overflowed(self) -> int: ...


class Broker(RegistryPort, ConsumersPort, DeclarationsPort, Protocol):
    base_url: str
    body_limit: int

    @property
    def implicit(self) -> ImplicitPort:
        """The notifiers, and the world they are in."""
        ...

    @property
    def interactions(self) -> InteractionsPort:
        """What services ask of each other, and tell."""
        ...

    @property
    def traces(self) -> TracesPort:
        """Who wanted a notification and why, and what became of it."""
        ...

    def now(self) -> Instant: ...

    async def publish(
        self,
        door: str,
        dialect: str,
        headers: Pairs,
        body: bytes,
        reading: Reading | None = None,
        *,
        principal: str | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        """Returns when the request is on disk; refuses what cannot be normalised, is not allowed or cannot be stored.

        `allowed` is asked about each notification before anything is stored, and raises if it is not.
        """
        ...

    async def subscribe(self, request: Subscribe, *, owner: str | None = None) -> Subscription: ...

    async def replace(self, subscription: str, request: Subscribe) -> Subscription:
        """Another consumer, form and filters for a standing subscription; what waits for it is kept."""
        ...

    async def renew(self, request: Renew) -> Subscription: ...

    async def pause(self, subscription: str) -> Subscription: ...

    async def resume(self, subscription: str) -> Subscription: ...

    async def unsubscribe(self, subscription: str) -> Subscription: ...

    async def cancel(self, subscription: str) -> Subscription:
        """Ends it though its subscriber did not ask for that, and tells it so."""
        ...

    def subscription(self, subscription: str) -> Subscription: ...

    def subscriptions(self, after: str, limit: int, seen: Seen | None = None) -> Sequence[Subscription]:
        """In the order of their ids, those alone that are seen: pages are full as long as there are more."""
        ...

    def dead_letters(self, after: int, limit: int, subscription: str | None) -> Sequence[Any]: ...

    async def redrive(self, ids: Sequence[int] | None) -> int: ...

    def topics(self) -> Sequence[tuple[str, int, Instant]]: ...

    async def create_pull_point(self, request: CreatePullPoint, *, owner: str | None = None) -> Subscription: ...

    async def pull(self, pull_point: str, most: int | None, seconds: float = 0.0) -> Pulled:
        """Hands out what waits; waits so long for the first. What was handed out is on disk as such."""
        ...

    async def synchronise(self, subscription: str) -> None:
        """Tells it again how the properties stand that it asks for: the last message of each such topic."""
        ...

    async def held(self, pull_point: str, after: int, limit: int, seconds: float = 0.0) -> Sequence[Held]:
        """What has a higher number, handed out not long ago or not yet; hands out nothing."""
        ...

    async def hand_out(self, pull_point: str, number: int) -> None:
        """All up to that number count as handed out."""
        ...

    def pull_point(self, pull_point: str) -> PullPointState: ...

    def closing(self) -> bool:
        """Whether the node is about to end: then nobody waits any more."""
        ...

    def current_message(self, topic: TopicIs) -> Notification: ...

    def problem(self) -> str | None:
        """Why nothing is accepted any more; None while all is well."""
        ...

    def figures(self) -> dict[str, Any]: ...
