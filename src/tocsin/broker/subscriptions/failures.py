"""Filters that cannot be evaluated, and consumers that take nothing any more."""

from collections import Counter
from collections.abc import Iterable

from tocsin.flow.flow import UNJUDGED
from tocsin.model.delivery import Outcome
from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Changed
from tocsin.store.judge.judge import NOT_ITS_OWN


class _Counted:
    """What a subscription fails with, as long as nothing succeeds; counted since the node was started."""

    def __init__(self) -> None:
        self.counts: Counter[SubscriptionId] = Counter()
        self._over: dict[SubscriptionId, str] = {}

    def delivered(self, subscription: SubscriptionId) -> None:
        self.counts.pop(subscription, None)

    def over(self) -> dict[SubscriptionId, str]:
        """Those that failed too often, and why."""
        return dict(self._over)

    def forget(self, subscription: SubscriptionId) -> None:
        self._over.pop(subscription, None)
        self.counts.pop(subscription, None)


class FilterFailures(_Counted):
    """Dead letters of a subscription that its filter made, with no delivery between them.

    With either engine these are what the node is told of a filter: that one said no is not heard of here.
    """

    def __init__(self, most: int = 3, suspended: Iterable[SubscriptionId] = ()) -> None:
        super().__init__()
        self._most, self._suspended = most, set(suspended)
        self._resumed: dict[SubscriptionId, int] = {}

    def died(self, outcome: Outcome) -> None:
        """What was held while it was suspended is no reason to do so again."""
        name, detail = outcome.match.subscription, outcome.detail
        reason = detail.removeprefix(UNJUDGED)
        if reason == detail or reason in NOT_ITS_OWN or outcome.at.offset < self._resumed.get(name, 0):
            return
        self.counts[name] += 1
        if self.counts[name] >= self._most:
            self._over[name] = f"its filter failed {self.counts[name]} times in a row: {reason}"

    def changed(self, change: Changed) -> None:
        """Who is resumed begins anew."""
        name, state = change.subscription.id, change.subscription.state
        if state == "ended":
            self.forget(name)
            self._suspended.discard(name)
            self._resumed.pop(name, None)
        elif state == "suspended":
            self._suspended.add(name)
        elif state == "active" and name in self._suspended:
            self.forget(name)
            self._suspended.discard(name)
            self._resumed[name] = change.at.offset


class InARow(_Counted):
    """Dead letters of a subscription with no delivery between them."""

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self._most = most

    def died(self, outcome: Outcome) -> bool:
        """Whether it is one too many; what was never tried says nothing of its consumer."""
        name = outcome.match.subscription
        if self._most is None or not outcome.attempt:
            return False
        self.counts[name] += 1
        if self.counts[name] < self._most:
            return False
        self._over[name] = f"{self.counts[name]} notifications in a row could not be delivered: {outcome.detail}"
        return True
