"""Dead letters that could not be written are written again from the log, when they are tried again."""

from typing import NamedTuple

import msgspec

from tocsin.flow.addressing import pulled_by
from tocsin.flow.flow import Flow, normalise, unmade, with_meaning
from tocsin.matching.catalogue import Catalogue
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.subscription import Subscription
from tocsin.store.codec import decode
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.log.reader import LogReader


class Refilling(NamedTuple):
    """One that is not sent, but put into a pull point, however its filter may fail."""

    letter: DeadLetter
    pull_point: str
    subscription: SubscriptionId
    notification: Notification


class Remaker:
    """Rules change, and so does what can be written; whatever still cannot be keeps its place and gets its reason."""

    def __init__(self, flow: Flow, store: Store, reader: LogReader) -> None:
        self._flow, self._store, self._reader = flow, store, reader

    def __call__(self, letter: DeadLetter) -> DeadLetter | Refilling:
        if letter.delivery.is_made():
            return letter
        said, subscription = self._notification(letter.delivery), self._subscription(letter.delivery)
        if said is None or subscription is None:
            return letter
        if (pull_point := pulled_by(subscription)) is not None:
            return self._refilling(letter, pull_point, said, subscription)
        return msgspec.structs.replace(letter, delivery=self._made(said, subscription))

    def _refilling(
        self, letter: DeadLetter, pull_point: str, said: Notification, subscription: Subscription
    ) -> DeadLetter | Refilling:
        known = self._known(said, subscription)
        try:
            told = said if known is None else with_meaning(said, subscription, known)
        except Exception as problem:
            return msgspec.structs.replace(letter, delivery=unmade(said, subscription, problem))
        return Refilling(letter, pull_point, subscription.id, told)

    def _made(self, said: Notification, subscription: Subscription) -> Delivery:
        try:
            return self._flow.deliver(said, subscription, self._known(said, subscription))
        except Exception as problem:
            return unmade(said, subscription, problem)

    def _known(self, said: Notification, subscription: Subscription) -> Catalogue | None:
        """As it was then, where the form of the message goes with it."""
        form = subscription.form
        return self._store.past.catalogue(said.at.offset) if form.graph or form.bindings else None

    def _notification(self, delivery: Delivery) -> Notification | None:
        offset = delivery.at.offset
        for _, payload in self._reader.kept_frames(offset, offset + 1):
            record = decode(payload)
            return normalise(record)[delivery.index] if isinstance(record, Accepted) else None
        return None

    def _subscription(self, delivery: Delivery) -> Subscription | None:
        """As its notification met it; one that subscribed from before it was there, as it was at first."""
        history = self._store.past.history(delivery.match.subscription)
        return history.state_at(delivery.at.offset) if history else None
