"""The way of a message between the log and the senders."""

from collections.abc import Sequence

from tocsin.flow.lifetime import expiry_of
from tocsin.flow.services import NOTIFIERS, addressed_by
from tocsin.flow.thin import thinned
from tocsin.matching.engine import Engine
from tocsin.mediation import dialects
from tocsin.mediation.dialects import Reading, customise
from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import Pairs, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription

__all__ = ["Flow", "normalise", "unmade"]


def normalise(record: Accepted, reading: Reading | None = None) -> tuple[Notification, ...]:
    """The notifications of an accepted request; at the door of a notifier they are for its service alone."""
    found = dialects.normalise(record, reading)
    return found if not record.door.startswith(NOTIFIERS) else addressed_by(record.door, found)


class Flow:
    """Subscriptions as of some offset, and what they make of notifications. `base_url` is where we are reached."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._engine = Engine()

    def apply(self, subscription: Subscription) -> None:
        self._engine.apply(subscription)

    def remove(self, subscription: SubscriptionId) -> None:
        self._engine.remove(subscription)

    def match(self, notification: Notification) -> Sequence[Subscription]:
        return self._engine.match(notification)

    def deliver(self, notification: Notification, subscription: Subscription) -> Delivery:
        form = subscription.form
        told = thinned(notification, form.dialect, self._base_url) if form.thin else notification
        headers, body = customise(told, subscription, self._base_url)
        to = subscription.consumer or Endpoint("")
        return _delivery(notification, subscription, to, headers, body)

    def __contains__(self, subscription: SubscriptionId) -> bool:
        return subscription in self._engine

    def __len__(self) -> int:
        return len(self._engine)


def unmade(notification: Notification, subscription: Subscription, problem: Exception) -> Delivery:
    """What stands for a delivery that could not be written: it goes to the dead letters, with the reason."""
    reason = problem.text if isinstance(problem, Refusal) else f"{type(problem).__name__}: {problem}"
    said = f"it could not be written as {subscription.form.dialect}: {reason}"
    return _delivery(notification, subscription, subscription.consumer or Endpoint(""), (), said.encode())


def _delivery(said: Notification, subscription: Subscription, to: Endpoint, headers: Pairs, body: bytes) -> Delivery:
    match, expires = Match(said.id, subscription.id), expiry_of(said) if said.attributes else None
    return Delivery(match, said.at, said.index, to, headers, body, 0, said.when, expires)
