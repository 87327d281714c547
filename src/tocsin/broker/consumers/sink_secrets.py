"""The secrets that came with subscriptions: each goes when the last that uses it has gone, however it ended."""

from collections import Counter
from collections.abc import Mapping

from tocsin.broker.consumers.secrets import Secrets
from tocsin.model.access import is_of_a_sink
from tocsin.model.identity import SubscriptionId
from tocsin.model.subscription import Subscription

Subscriptions = Mapping[SubscriptionId, Subscription]


class SinkSecrets:
    """Counts their users, so that many subscriptions can end at once; `changing` are not on disk yet."""

    def __init__(self, secrets: Secrets, standing: Subscriptions, changing: Subscriptions) -> None:
        self._secrets, self._standing, self._changing = secrets, standing, changing
        self._users: Counter[str] = Counter()

    def start(self) -> None:
        """Sweeps away what no subscription came to use, or was left behind by one that ended."""
        for each in self._standing.values():
            self._users.update(_of_sinks(each))
        for secret in self._secrets.all():
            if is_of_a_sink(secret.name) and not self._users[secret.name]:
                self._secrets.forget(secret.name)

    def changed(self, before: Subscription | None, after: Subscription) -> None:
        self._users.update(_of_sinks(after))
        if before is None:
            return
        for name in _of_sinks(before):
            self._users[name] -= 1
            if self._users[name] <= 0:
                del self._users[name]
                self._let_go(name)

    def _let_go(self, name: str) -> None:
        if not any(name in _of_sinks(each) for each in self._changing.values()):
            self._secrets.forget(name)


def secrets_of(subscription: Subscription) -> set[str]:
    ends = (subscription.consumer, subscription.end_to)
    return {end.secret for end in ends if end is not None and end.secret is not None}


def _of_sinks(subscription: Subscription) -> set[str]:
    """Who has ended uses none."""
    return set() if subscription.state == "ended" else set(filter(is_of_a_sink, secrets_of(subscription)))
