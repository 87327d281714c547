"""The way of a message between the log and the senders."""

from collections.abc import Sequence

from tocsin.matching.engine import Engine
from tocsin.mediation.dialects import CUSTOMISE, normalise
from tocsin.model.delivery import Delivery, Match
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription

__all__ = ["Flow", "normalise"]


class Flow:
    """Subscriptions as of some offset, and what they make of notifications. `base_url` is where we are reached."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._engine = Engine()

    def apply(self, subscription: Subscription) -> None:
        self._engine.apply(subscription)

    def match(self, notification: Notification) -> Sequence[Subscription]:
        return self._engine.match(notification)

    def deliver(self, notification: Notification, subscription: Subscription) -> Delivery:
        customise = CUSTOMISE.get(subscription.form.dialect)
        if customise is None:
            raise Refusal("unsupported-delivery", f"no rules to write {subscription.form.dialect!r}")
        headers, body = customise(notification, subscription, self._base_url)
        to = subscription.consumer or Endpoint("")
        match = Match(notification.id, subscription.id)
        return Delivery(match, notification.at, notification.index, to, headers, body)

    def __len__(self) -> int:
        return len(self._engine)
