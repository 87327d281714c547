"""Who asks a service for something. Each operation states the right that it needs, so that every door is held to it."""

from collections.abc import Callable

from tocsin.matching import rights
from tocsin.model.access import Principal
from tocsin.model.filters import Filter
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

Users = Callable[[str], Principal | None]


class Caller:
    """Without a principal nobody is asked who they are, and everything may be done. `users` finds others by name."""

    __slots__ = ("name", "principal", "users")

    def __init__(self, principal: Principal | None = None, users: Users = lambda _: None) -> None:
        self.principal, self.users = principal, users
        self.name = None if principal is None else principal.name

    def anybody(self) -> None:
        """Whoever got in may: said where an operation needs no right of its own."""

    def may_publish(self, topic: Topic) -> bool:
        return self.principal is None or rights.may_publish(self.principal, topic)

    def may_hear(self, topic: Topic) -> bool:
        return self.principal is None or rights.may_hear(self.principal, topic)

    def may_know_of(self, topic: Topic) -> bool:
        return self.may_hear(topic) or self.may_publish(topic) or self.manages_everything()

    def may_subscribe(self, filters: tuple[Filter, ...]) -> bool:
        return self.principal is None or rights.may_subscribe(self.principal, filters)

    def may_subscribe_at_all(self) -> bool:
        return self.principal is None or bool(self.principal.of("subscribe"))

    def may_publish_everything(self) -> bool:
        return self.principal is None or any(each.topics is None for each in self.principal.of("publish"))

    def may_manage(self, subscription: Subscription) -> bool:
        return self.principal is None or rights.may_manage(self.principal, subscription)

    def may_pull(self, subscription: Subscription) -> bool:
        return self.principal is None or rights.may_pull(self.principal, subscription)

    def owns(self, subscription: Subscription) -> bool:
        """By name; who is not asked for one owns nothing."""
        return self.principal is not None and rights.owns(self.principal, subscription)

    def manages_everything(self) -> bool:
        return self.principal is None or rights.may_manage_everything(self.principal)

    def must_publish(self, topic: Topic) -> None:
        if not self.may_publish(topic):
            raise self.may_not(f"publish under the topic {topic}")

    def must_manage(self, subscription: Subscription) -> Subscription:
        if not self.may_manage(subscription):
            raise self.may_not(f"manage the subscription {subscription.id}, which is another's")
        return subscription

    def must_manage_everything(self, what: str) -> None:
        if not self.manages_everything():
            raise self.may_not(what)

    def may_not(self, what: str) -> Refusal:
        name = self.name or "whoever does not say who it is"
        return Refusal("not-allowed", f"{name} may not {what}; `tocsin users grant` gives rights")


NODE = Caller()  # the node itself; and everybody while access is open
