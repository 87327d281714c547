"""Consumers that take nothing any more."""

from collections import Counter

from tocsin.model.delivery import Outcome
from tocsin.model.identity import SubscriptionId


class InARow:
    """Dead letters of a subscription with no delivery between them. Counted since the node was started."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self.counts: Counter[SubscriptionId] = Counter()
        self._over: dict[SubscriptionId, str] = {}

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

    def delivered(self, subscription: SubscriptionId) -> None:
        self.counts.pop(subscription, None)

    def over(self) -> dict[SubscriptionId, str]:
        """Those that had one too many, and why."""
        return dict(self._over)

    def forget(self, subscription: SubscriptionId) -> None:
        self._over.pop(subscription, None)
        self.counts.pop(subscription, None)
