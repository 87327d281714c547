"""The node, as far as implicit notification needs it: how services are told, and by which subscriptions."""

from collections.abc import Callable, Sequence

from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.subscriptions.standing import Seen, StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.model.identity import Instant
from tocsin.model.subscription import Subscription


class Host:
    def __init__(
        self,
        base_url: str,
        body_limit: int,
        now: Callable[[], Instant],
        publishing: Publishing,
        subscriptions: Subscriptions,
        standing: StandingSubscriptions,
    ) -> None:
        self.base_url, self.body_limit, self.now, self._standing = base_url, body_limit, now, standing
        self.tell_service = publishing.tell_service
        self.subscribe_service = subscriptions.subscribe_service
        self.subscribe_again = subscriptions.subscribe_again

    async def unsubscribe(self, subscription: str) -> Subscription:
        return await self._standing.end(subscription, "unsubscribed")

    def subscription(self, subscription: str) -> Subscription:
        return self._standing.get(subscription)

    def subscriptions(self, after: str, limit: int, seen: Seen | None = None) -> Sequence[Subscription]:
        return self._standing.page(after, limit, seen)
