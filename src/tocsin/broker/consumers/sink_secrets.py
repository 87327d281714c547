"""The secrets that came with subscriptions: each goes when the last that uses it has gone, however it ended."""

from collections import Counter

from tocsin.broker.consumers.secrets import Secrets
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.model.access import is_of_a_sink
from tocsin.model.subscription import Subscription


class SinkSecrets:
    """Counts their users, so that many subscriptions can end at once. What no subscription came to use, or was left
    behind by one that ended, is swept away at the start."""

    def __init__(self, secrets: Secrets, standing: StandingSubscriptions) -> None:
        self._secrets, self._standing = secrets, standing
        self._of = {each.id: used for each in standing.by_id.values() if (used := _of_sinks(each))}
        self._users = Counter(name for used in self._of.values() for name in used)
        for secret in secrets.all():
            if is_of_a_sink(secret.name) and not self._users[secret.name]:
                secrets.forget(secret.name)

    def changed(self, subscription: Subscription) -> None:
        before, used = self._of.pop(subscription.id, set[str]()), _of_sinks(subscription)
        if used:
            self._of[subscription.id] = used
            self._users.update(used)
        for name in before:
            self._users[name] -= 1
            if self._users[name] <= 0:
                del self._users[name]
                self._let_go(name)

    def _let_go(self, name: str) -> None:
        if not any(name in _of_sinks(each) for each in self._standing.changing.values()):
            self._secrets.forget(name)


def secrets_of(subscription: Subscription) -> set[str]:
    ends = (subscription.consumer, subscription.end_to)
    return {end.secret for end in ends if end is not None and end.secret is not None}


def _of_sinks(subscription: Subscription) -> set[str]:
    """Who has ended uses none."""
    return set() if subscription.state == "ended" else set(filter(is_of_a_sink, secrets_of(subscription)))
