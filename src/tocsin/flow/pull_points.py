"""Which notifications go into which pull point. The node's engines and Spark agree because all of them ask here."""

from tocsin.mediation.soap.templates import PULL_POINTS as PULL_POINTS
from tocsin.model.records import Accepted
from tocsin.model.subscription import Subscription


def pull_point_of(path: str) -> str | None:
    """The pull point whose own address has that path."""
    name = path[len(PULL_POINTS) :] if path.startswith(PULL_POINTS) else ""
    return name if name and "/" not in name else None


def pulled_by(subscription: Subscription) -> str | None:
    """The pull point that a subscription feeds; None for one whose notifications are sent.

    Without a consumer it feeds itself. A consumer that is a pull point of this broker is kept as a path alone, so that
    it stays one when the broker is reached at another address.
    """
    consumer = subscription.consumer
    return subscription.id if consumer is None else pull_point_of(consumer.address)


def addressed_to(record: Accepted) -> str | None:
    """The one pull point that gets what was posted to its address; None where subscriptions decide."""
    return pull_point_of(record.door)
