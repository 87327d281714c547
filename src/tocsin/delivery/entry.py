"""One thing to be delivered to one subscription, not yet made into a request."""

from msgspec import Struct

from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId

Place = tuple[int, int]
LAST_INDEX = 1 << 30  # behind all notifications of a record
_SMALL = 4096  # bytes: the bound on their number is bound enough


class Entry(Struct, frozen=True, gc=False):
    """Its place is (offset, index): the order of a subscription is the order of places.

    Its weight is the bytes it keeps in memory, 0 for what is small: most are, and are then not counted one by one.
    """

    subscription: SubscriptionId
    place: Place
    what: object
    weight: int = 0


def weight(size: int) -> int:
    return size if size > _SMALL else 0


class Undeliverable(Exception):
    """It is known whom it was for, and why it will not be sent: a dead letter without a try."""

    def __init__(self, delivery: Delivery, reason: str) -> None:
        super().__init__(reason)
        self.delivery, self.reason = delivery, reason
