"""What the doors ask of the node behind them."""

from collections.abc import Sequence
from typing import Any, Protocol

from tocsin.mediation.dialects import Reading
from tocsin.mediation.operations import Renew, Subscribe
from tocsin.model.identity import Instant, Pairs
from tocsin.model.subscription import Subscription


class Broker(Protocol):
    base_url: str
    body_limit: int

    def now(self) -> Instant: ...

    async def publish(
        self, door: str, dialect: str, headers: Pairs, body: bytes, reading: Reading | None = None
    ) -> None:
        """Returns when the request is on disk; refuses what cannot be normalised or stored."""
        ...

    async def subscribe(self, request: Subscribe) -> Subscription: ...

    async def renew(self, request: Renew) -> Subscription: ...

    async def unsubscribe(self, subscription: str) -> Subscription: ...

    def subscription(self, subscription: str) -> Subscription: ...

    def subscriptions(self, after: str, limit: int) -> Sequence[Subscription]: ...

    def dead_letters(self, after: int, limit: int, subscription: str | None) -> Sequence[Any]: ...

    async def redrive(self, ids: Sequence[int] | None) -> int: ...

    def topics(self) -> Sequence[tuple[str, int, Instant]]: ...

    def problem(self) -> str | None:
        """Why nothing is accepted any more; None while all is well."""
        ...

    def figures(self) -> dict[str, Any]: ...
