"""Telling a subscriber that its subscription ended, when it did not ask for that."""

from collections.abc import Callable
from itertools import count

from msgspec import Struct

from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import Entry
from tocsin.mediation.dialects import customise, end_notice
from tocsin.mediation.operations import Ended
from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import MessageId, Pairs, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Subscription

ENDING = "ended:"  # a lane of its own: that of the subscription is gone
Write = Callable[[Ended, str], tuple[Endpoint, Pairs, bytes] | None]


class Notice(Struct, frozen=True):
    """Tried like a delivery, but kept in memory only."""

    delivery: Delivery


class EndNotices:
    """`write` is the dialect's way to say so; None where it has none, or the subscriber named no address for it."""

    def __init__(self, deliverer: Deliverer, write: Write = end_notice) -> None:
        self._deliverer, self._write, self._numbers = deliverer, write, count(1)

    def send(self, ended: Ended, base_url: str) -> bool:
        """Whether there is anything to say."""
        made = self._write(ended, base_url)
        if made is None:
            return False
        to, headers, body = made
        name = ended.subscription.id
        match = Match(MessageId(f"{ended.address}#ended"), name)
        self._offer(name, Delivery(match, ended.subscription.since, 0, to, headers, body, when=ended.now))
        return True

    def tell(self, notification: Notification, subscription: Subscription, base_url: str) -> None:
        """A notification that the log does not hold for it. It has a lane of its own, which ends with it."""
        assert subscription.consumer is not None
        headers, body = customise(notification, subscription, base_url)
        match, at = Match(notification.id, subscription.id), subscription.since
        delivery = Delivery(match, at, 0, subscription.consumer, headers, body, when=notification.when)
        self._offer(notification.id, delivery)

    def _offer(self, name: str, delivery: Delivery) -> None:
        self._deliverer.offer(Entry(SubscriptionId(ENDING + name), (next(self._numbers), 0), Notice(delivery)))
