"""The engine: indexes subscriptions as they change, and matches notifications against them."""

from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.filters import satisfies_all
from tocsin.matching.index.atoms import Term, terms_of
from tocsin.matching.index.combination import NO_STATISTICS, Combination, Statistics
from tocsin.matching.index.compiled import Compiled
from tocsin.matching.index.topics import TopicIndex, size_of
from tocsin.matching.judge import Judge, Undecided
from tocsin.model.filters import TopicIs, plane_of
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import Topic
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.model.subscription import Subscription, neighbour_of, notifier_of

Tells = Callable[[Subscription, Notification, Catalogue], bool]
_id = attrgetter("id")
ROOM = 1 << 20  # so many candidates are remembered, over all topics


class Matched(NamedTuple):
    """Who wants a notification, in the order of their ids; and whose filters could not be evaluated, and why."""

    wanted: list[Subscription]
    undecided: list[tuple[Subscription, str]]


def tells_all(subscription: Subscription, notification: Notification, catalogue: Catalogue) -> bool:
    """Where there is no ring, or it does not matter."""
    del subscription, notification, catalogue
    return True


class Engine:
    """Subscriptions that ask for a topic expression or for everything are found by the topic alone, remembered for each
    topic; all others by the combination of what they ask for. Under them may lie a snapshot, of which those hold that
    did not change since. `tells` says whether this node is to tell one that stands at several of its ring."""

    def __init__(
        self,
        catalogue: Catalogue | None = None,
        judge: Judge | None = None,
        base_url: str = "",
        statistics: Statistics = NO_STATISTICS,
        base: Compiled | None = None,
        tells: Tells = tells_all,
    ) -> None:
        self.catalogue = catalogue or Catalogue()
        self._tells = tells
        self._judge, self._base_url = judge, base_url
        self._plain: dict[SubscriptionId, Subscription] = {}
        self._topics: TopicIndex[SubscriptionId] = TopicIndex()
        self._generic: dict[SubscriptionId, None] = {}
        self._services: dict[str, dict[SubscriptionId, None]] = {}  # by the notifier that tells them
        self._candidates: dict[Topic, list[Subscription]] = {}  # of topics seen before, until a change
        self._room = ROOM
        self._known_statistics = statistics
        self._slots: dict[SubscriptionId, int] = {}
        self._at_slot: list[Subscription] = []  # what left is there until another takes its slot
        self._base = base
        self._over: set[SubscriptionId] = set()  # of the snapshot, those that changed since
        for service in () if base is None else map(base.subscription, base.services):
            self.apply(service)

    @cached_property
    def _combined(self) -> Combination:
        """Made when somebody asks for more than a topic."""
        return Combination(self.catalogue, self._known_statistics)

    def apply(self, subscription: Subscription) -> None:
        """The new state of one subscription; an ended one leaves the index."""
        old = self._current(subscription.id)
        asks_the_same = old is not None and old.filters == subscription.filters and old.form == subscription.form
        if asks_the_same and subscription.state != "ended":
            self._exchange(subscription)
            return
        terms = [] if _is_plain(subscription) or subscription.state == "ended" else terms_of(subscription)
        self.remove(subscription.id)
        if subscription.state != "ended":
            self._add(subscription, terms)

    def remove(self, subscription: SubscriptionId) -> None:
        """It leaves the index, if it is there, though it may go on elsewhere."""
        if (old := self._current(subscription)) is not None:
            self._remove(old)
        if self._base is not None and subscription in self._base:
            self._over.add(subscription)

    def match(self, notification: Notification) -> Matched:
        """As of its position and accept time."""
        topic, offset, when = notification.topic, notification.at.offset, notification.when
        if notification.addressee:
            return self._told(notification)
        candidates = self._candidates.get(topic)
        if candidates is None:
            candidates = self._remember(topic)
        wanted = [
            each  # as `Subscription.wants_at`, without a call for each
            for each in candidates
            if each.state == "active" and offset >= each.since.offset and (each.expires is None or each.expires > when)
        ]
        alone = not self._slots and self._base is None
        found = Matched(wanted, []) if alone else self._with_combined(wanted, notification)
        return found if notification.way is None else self._passed_on(found, notification)

    def get(self, subscription: SubscriptionId) -> Subscription | None:
        found, base = self._current(subscription), self._base
        if found is not None or base is None or subscription in self._over:
            return found
        slot = base.slot(subscription)
        return None if slot is None else base.subscription(slot)

    def statistics(self) -> Statistics:
        return self._combined.statistics()

    def __contains__(self, subscription: SubscriptionId) -> bool:
        return self._current(subscription) is not None or self._is_below(subscription)

    def __len__(self) -> int:
        return len(self._plain) + len(self._slots) + (0 if self._base is None else len(self._base) - len(self._over))

    def _current(self, subscription: SubscriptionId) -> Subscription | None:
        slot = self._slots.get(subscription)
        return self._plain.get(subscription) if slot is None else self._at_slot[slot]

    def _is_below(self, subscription: SubscriptionId) -> bool:
        return self._base is not None and subscription not in self._over and subscription in self._base

    def _told(self, notification: Notification) -> Matched:
        """What a notifier says is for its service alone."""
        found = [self._plain[each] for each in sorted(self._services.get(notification.addressee, ()))]
        return self._verified(found, self._evidence(notification))

    def _evidence(self, notification: Notification) -> Evidence:
        if self._judge is not None:
            self._judge.begin()
        return Evidence(notification, self.catalogue, self._judge, self._base_url)

    def _with_combined(self, wanted: list[Subscription], notification: Notification) -> Matched:
        evidence = self._evidence(notification)
        decided, partly = self._candidates_of(evidence)
        wanted += decided
        undecided: list[tuple[Subscription, str]] = []
        if partly:
            verified, undecided = self._verified(partly, evidence)
            wanted += verified
            undecided.sort(key=lambda pair: pair[0].id)
        wanted.sort(key=_id)
        return Matched(wanted, undecided)

    def _candidates_of(self, evidence: Evidence) -> tuple[list[Subscription], list[Subscription]]:
        decided, partly = map(self._standing, self._combined.match(evidence)) if self._slots else ([], [])
        if self._base is not None:
            below, partly_below = map(self._below, self._base.match(evidence))
            return decided + below, partly + partly_below
        return decided, partly

    def _standing(self, slots: list[int]) -> list[Subscription]:
        return list(map(self._at_slot.__getitem__, slots))

    def _below(self, slots: list[int]) -> list[Subscription]:
        assert self._base is not None
        return [each for each in map(self._base.subscription, slots) if each.id not in self._over]

    def _verified(self, candidates: Iterable[Subscription], evidence: Evidence) -> Matched:
        at, when = evidence.notification.at, evidence.notification.when
        found = Matched([], [])
        for each in candidates:
            if not each.wants_at(at, when):
                continue
            try:
                if satisfies_all(evidence, each.filters, each):
                    found.wanted.append(each)
            except Undecided as problem:
                found.undecided.append((each, str(problem)))
        return found

    def _passed_on(self, found: Matched, notification: Notification) -> Matched:
        catalogue, tells = self.catalogue, self._tells
        wanted = [each for each in found.wanted if may_have(each, notification, catalogue, tells)]
        return Matched(wanted, [p for p in found.undecided if may_have(p[0], notification, catalogue, tells)])

    def _add(self, subscription: Subscription, terms: list[Term]) -> None:
        if not _is_plain(subscription):
            slot = self._slots[subscription.id] = self._combined.add(subscription, terms)
            self._at_slot[slot : slot + 1] = [subscription]
            return
        self._plain[subscription.id] = subscription
        if (notifier := notifier_of(subscription)) is not None:
            self._services.setdefault(notifier, {})[subscription.id] = None
        elif not subscription.filters:
            self._forget()
            self._generic[subscription.id] = None
        elif (expression := _topic_only(subscription)) is not None:
            self._forget()
            self._topics.add(subscription.id, expression)

    def _remove(self, subscription: Subscription) -> None:
        if (slot := self._slots.pop(subscription.id, None)) is not None:
            self._combined.remove(slot)
            return
        del self._plain[subscription.id]
        if (notifier := notifier_of(subscription)) is not None:
            del self._services[notifier][subscription.id]
        elif not subscription.filters:
            self._forget()
            del self._generic[subscription.id]
        elif (expression := _topic_only(subscription)) is not None:
            self._forget()
            self._topics.remove(subscription.id, expression)

    def _exchange(self, subscription: Subscription) -> None:
        """It asks for the same: renewed, paused or resumed."""
        if (slot := self._slots.get(subscription.id)) is not None:
            self._at_slot[slot] = subscription
            self._combined.exchange(slot, subscription)
        else:
            self._plain[subscription.id] = subscription
            self._forget()

    def _remember(self, topic: Topic) -> list[Subscription]:
        names = sorted((*self._topics.match(topic), *self._generic))
        found = [self._plain[name] for name in names]
        self._room -= len(found) + size_of(*topic.steps)
        if self._room < 0:
            self._forget()
        self._candidates[topic] = found
        return found

    def _forget(self) -> None:
        self._candidates.clear()
        self._room = ROOM


def may_have(subscription: Subscription, notification: Notification, catalogue: Catalogue, tells: Tells) -> bool:
    """What came from a neighbour never goes back to it, and what came to a node of a ring may be for some alone."""
    if (way := notification.way) is None:
        return True
    if neighbour_of(subscription) == way.by or (way.only and subscription.id not in way.only):
        return False
    if way.plane in ("", EVERY_PLANE):
        return True
    return plane_of(subscription.filters) == way.plane and (
        not way.arcs or tells(subscription, notification, catalogue)
    )


def _is_plain(subscription: Subscription) -> bool:
    """Whether its topic, or the notifier that tells it, says all."""
    return not subscription.filters or _topic_only(subscription) is not None or notifier_of(subscription) is not None


def _topic_only(subscription: Subscription) -> TopicIs | None:
    filters = subscription.filters
    return filters[0] if len(filters) == 1 and isinstance(filters[0], TopicIs) else None


def matches(
    subscription: Subscription,
    notification: Notification,
    catalogue: Catalogue | None = None,
    judge: Judge | None = None,
    base_url: str = "",
    tells: Tells = tells_all,
) -> bool:
    """The oracle, and the test for one subscription that reads the log by itself; raises `Undecided`."""
    if notification.addressee and notifier_of(subscription) is None:
        return False
    if not subscription.wants_at(notification.at, notification.when):
        return False
    if not may_have(subscription, notification, catalogue or Catalogue(), tells):
        return False
    return matches_filters(subscription, notification, catalogue, judge, base_url)


def matches_filters(
    subscription: Subscription,
    notification: Notification,
    catalogue: Catalogue | None = None,
    judge: Judge | None = None,
    base_url: str = "",
) -> bool:
    evidence = Evidence(notification, catalogue or Catalogue(), judge, base_url)
    return satisfies_all(evidence, subscription.filters, subscription)
