"""The engine: takes subscriptions as they change, says who wants a notification."""

from collections.abc import Iterable

from tocsin.matching.filters import satisfies
from tocsin.matching.topics import TopicIndex
from tocsin.model.filters import ForNotifier, TopicIs
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

ROOM = 1 << 20  # so many candidates are remembered, over all topics
_Candidate = tuple[Subscription, bool]  # and whether its place in the index says all


class Engine:
    """The first topic filter of a subscription is its key in the index; whatever else it asks is verified."""

    def __init__(self) -> None:
        self._subscriptions: dict[SubscriptionId, Subscription] = {}
        self._topics: TopicIndex[SubscriptionId] = TopicIndex()
        self._generic: dict[SubscriptionId, None] = {}
        self._services: dict[str, dict[SubscriptionId, None]] = {}  # by the notifier that tells them
        self._candidates: dict[Topic, list[_Candidate]] = {}  # of topics seen before, until a change
        self._room = ROOM

    def apply(self, subscription: Subscription) -> None:
        """The new state of one subscription; an ended one leaves the index."""
        self._forget()
        self.remove(subscription.id)
        if subscription.state == "ended":
            return
        self._subscriptions[subscription.id] = subscription
        if (notifier := notifier_of(subscription)) is not None:
            self._services.setdefault(notifier, {})[subscription.id] = None
        elif (key := _key(subscription)) is not None:
            self._topics.add(subscription.id, key)
        else:
            self._generic[subscription.id] = None

    def remove(self, subscription: SubscriptionId) -> None:
        """It leaves the index, if it is there, though it may go on elsewhere."""
        if (old := self._subscriptions.pop(subscription, None)) is not None:
            self._forget()
            self._remove(old)

    def match(self, notification: Notification) -> list[Subscription]:
        """Those that want it, as of its position and accept time, in the order of their ids."""
        topic, at, when = notification.topic, notification.at, notification.when
        candidates = self._services_of(notification) if notification.addressee else self._candidates.get(topic)
        if candidates is None:
            candidates = self._remember(topic)
        return [
            subscription
            for subscription, is_decided in candidates
            if subscription.wants_at(at, when) and (is_decided or matches_filters(subscription, notification))
        ]

    def __contains__(self, subscription: SubscriptionId) -> bool:
        return subscription in self._subscriptions

    def __len__(self) -> int:
        return len(self._subscriptions)

    def _services_of(self, notification: Notification) -> list[_Candidate]:
        return self._named(self._services.get(notification.addressee, ()))

    def _remember(self, topic: Topic) -> list[_Candidate]:
        found = self._named((*self._topics.match(topic), *self._generic))
        self._room -= len(found) + 1
        if self._room < 0:
            self._forget()
        self._candidates[topic] = found
        return found

    def _named(self, names: Iterable[SubscriptionId]) -> list[_Candidate]:
        return [(each := self._subscriptions[name], _is_decided(each)) for name in sorted(names)]

    def _forget(self) -> None:
        self._candidates.clear()
        self._room = ROOM

    def _remove(self, subscription: Subscription) -> None:
        if (notifier := notifier_of(subscription)) is not None:
            self._services[notifier].pop(subscription.id, None)
        elif (key := _key(subscription)) is not None:
            self._topics.remove(subscription.id, key)
        else:
            self._generic.pop(subscription.id, None)


def notifier_of(subscription: Subscription) -> str | None:
    """The notifier whose service a subscription stands for."""
    return next((each.name for each in subscription.filters if isinstance(each, ForNotifier)), None)


def _key(subscription: Subscription) -> TopicIs | None:
    return next((each for each in subscription.filters if isinstance(each, TopicIs)), None)


def _is_decided(subscription: Subscription) -> bool:
    """Whether its place in the index says all: it asks for one topic expression, or for nothing in particular."""
    filters = subscription.filters
    return not filters or (len(filters) == 1 and type(filters[0]) is TopicIs)


def matches_filters(subscription: Subscription, notification: Notification) -> bool:
    return all(satisfies(notification, each) for each in subscription.filters)


def matches(subscription: Subscription, notification: Notification) -> bool:
    """The oracle, and the test for one subscription that reads the log by itself."""
    if notification.addressee and notifier_of(subscription) is None:
        return False
    return subscription.wants_at(notification.at, notification.when) and matches_filters(subscription, notification)
