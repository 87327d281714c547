"""The engine: takes subscriptions as they change, says who wants a notification."""

from collections.abc import Iterable

from tocsin.matching.topics import TopicIndex, topic_matches
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription


class Engine:
    """The first topic filter of a subscription is its key in the index; whatever else it asks is verified."""

    def __init__(self) -> None:
        self._subscriptions: dict[SubscriptionId, Subscription] = {}
        self._topics: TopicIndex[SubscriptionId] = TopicIndex()
        self._generic: dict[SubscriptionId, None] = {}

    def apply(self, subscription: Subscription) -> None:
        """The new state of one subscription; an ended one leaves the index."""
        if (old := self._subscriptions.pop(subscription.id, None)) is not None:
            self._remove(old)
        if subscription.state == "ended":
            return
        self._subscriptions[subscription.id] = subscription
        if subscription.filters:
            self._topics.add(subscription.id, subscription.filters[0])
        else:
            self._generic[subscription.id] = None

    def match(self, notification: Notification) -> list[Subscription]:
        """Those that want it, as of its position and accept time, in the order of their ids."""
        found = self._topics.match(notification.topic)
        candidates: Iterable[SubscriptionId] = sorted((*found, *self._generic)) if self._generic else sorted(found)
        at, when = notification.at, notification.when
        return [
            subscription
            for subscription in map(self._subscriptions.__getitem__, candidates)
            if subscription.wants_at(at, when) and rest_matches(subscription, notification)
        ]

    def __len__(self) -> int:
        return len(self._subscriptions)

    def _remove(self, subscription: Subscription) -> None:
        if subscription.filters:
            self._topics.remove(subscription.id, subscription.filters[0])
        else:
            self._generic.pop(subscription.id, None)


def rest_matches(subscription: Subscription, notification: Notification) -> bool:
    return all(topic_matches(each, notification.topic) for each in subscription.filters[1:])


def matches(subscription: Subscription, notification: Notification) -> bool:
    """The oracle, and the test for one subscription that reads the log by itself."""
    return subscription.wants_at(notification.at, notification.when) and all(
        topic_matches(each, notification.topic) for each in subscription.filters
    )
