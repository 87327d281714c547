"""One thing to be delivered to one subscription, not yet made into a request."""

from msgspec import Struct

from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId

Place = tuple[int, int]
LAST_INDEX = 1 << 30  # behind all notifications of a record


class Entry(Struct, frozen=True, gc=False):
    """Its place is (offset, index): the order of a subscription is the order of places."""

    subscription: SubscriptionId
    place: Place
    what: object


class Undeliverable(Exception):
    """It is known whom it was for, and why it will not be sent: a dead letter without a try."""

    def __init__(self, delivery: Delivery, reason: str) -> None:
        super().__init__(reason)
        self.delivery, self.reason = delivery, reason
