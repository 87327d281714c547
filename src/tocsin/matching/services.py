"""Subscriptions by which a notifier tells its own service."""

from tocsin.model.filters import ForNotifier
from tocsin.model.subscription import Subscription


def notifier_of(subscription: Subscription) -> str | None:
    """The notifier whose service a subscription stands for."""
    return next((each.name for each in subscription.filters if isinstance(each, ForNotifier)), None)
