"""One thing to be delivered to one subscription, not yet made into a request."""

from msgspec import Struct

from tocsin.model.identity import SubscriptionId

Place = tuple[int, int]


class Entry(Struct, frozen=True, gc=False):
    """Its place is (offset, index): the order of a subscription is the order of places."""

    subscription: SubscriptionId
    place: Place
    what: object
