"""The broker as one principal sees it: every request is held against its rights, then passed on."""

from collections.abc import Callable, Sequence
from typing import Any

from tocsin.documents.ports.implicit_port import ImplicitPort
from tocsin.documents.ports.interactions_port import InteractionsPort
from tocsin.documents.ports.port import Allowed, Broker, PullPointState, Seen
from tocsin.documents.ports.trace_port import TracesPort
from tocsin.doors.guarded_consumers import GuardedConsumers
from tocsin.doors.guarded_declarations import GuardedDeclarations
from tocsin.doors.guarded_implicit import GuardedImplicit
from tocsin.doors.guarded_interactions import GuardedInteractions
from tocsin.doors.guarded_registry import GuardedRegistry
from tocsin.doors.guarded_traces import GuardedTraces
from tocsin.flow.addressing import PULL_POINTS, pull_point_of
from tocsin.matching import rights
from tocsin.mediation.dialects import Reading
from tocsin.mediation.operations import CreatePullPoint, Held, Pulled, Renew, Subscribe
from tocsin.model import names
from tocsin.model.access import Principal
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant, Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription

Known = Callable[[str], Principal | None]


class Guarded(GuardedConsumers, GuardedDeclarations, GuardedRegistry):
    """Implements `Broker`. What is not written here cannot be asked for: nothing passes by itself.

    `known` tells what another may: nobody is made to hear what it has no right to.
    """

    def __init__(self, broker: Broker, principal: Principal, known: Known = lambda _: None) -> None:
        self._broker: Broker = broker
        self._principal, self._known = principal, known
        self.base_url, self.body_limit = broker.base_url, broker.body_limit

    @property
    def implicit(self) -> ImplicitPort:
        return GuardedImplicit(self._broker.implicit, self._principal, self._known)

    @property
    def interactions(self) -> InteractionsPort:
        return GuardedInteractions(self._broker, self._principal)

    @property
    def traces(self) -> TracesPort:
        return GuardedTraces(self._broker.traces, self._principal)

    def now(self) -> Instant:
        return self._broker.now()

    async def publish(
        self,
        door: str,
        dialect: str,
        headers: Pairs,
        body: bytes,
        reading: Reading | None = None,
        *,
        principal: str | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        del principal, allowed  # are this one's
        await self._broker.publish(
            door, dialect, headers, body, reading, principal=self._principal.name, allowed=self._allowed_at(door)
        )

    async def subscribe(self, request: Subscribe, *, owner: str | None = None) -> Subscription:
        del owner
        self._may_ask(request)
        return await self._broker.subscribe(request, owner=self._principal.name)

    async def replace(self, subscription: str, request: Subscribe) -> Subscription:
        self._managed(subscription)
        self._may_ask(request)
        return await self._broker.replace(subscription, request)

    async def renew(self, request: Renew) -> Subscription:
        self._managed(request.id)
        return await self._broker.renew(request)

    async def pause(self, subscription: str) -> Subscription:
        self._managed(subscription)
        return await self._broker.pause(subscription)

    async def resume(self, subscription: str) -> Subscription:
        self._managed(subscription)
        return await self._broker.resume(subscription)

    async def unsubscribe(self, subscription: str) -> Subscription:
        self._managed(subscription)
        return await self._broker.unsubscribe(subscription)

    async def cancel(self, subscription: str) -> Subscription:
        self._managed(subscription)
        return await self._broker.cancel(subscription)

    def subscription(self, subscription: str) -> Subscription:
        return self._managed(subscription)

    def subscriptions(self, after: str, limit: int, seen: Seen | None = None) -> Sequence[Subscription]:
        """Those it may manage."""
        return self._broker.subscriptions(
            after, limit, lambda each: rights.may_manage(self._principal, each) and (seen is None or seen(each))
        )

    def dead_letters(self, after: int, limit: int, subscription: str | None) -> Sequence[Any]:
        """Of one subscription to whoever manages it; of all only to who manages all."""
        if not rights.may_manage_everything(self._principal):
            if subscription is None:
                raise self._may_not("read the dead letters of everybody; name a subscription")
            self._managed(subscription)
        return self._broker.dead_letters(after, limit, subscription)

    async def redrive(self, ids: Sequence[int] | None) -> int:
        self._must_manage_everything("try dead letters again")
        return await self._broker.redrive(ids)

    def topics(self) -> Sequence[tuple[str, int, Instant]]:
        return [row for row in self._broker.topics() if self._may_know(names.topic(row[0]))]

    async def create_pull_point(self, request: CreatePullPoint, *, owner: str | None = None) -> Subscription:
        del owner
        if not self._principal.of("subscribe"):
            raise self._may_not("have a pull point without any right to subscribe")
        return await self._broker.create_pull_point(request, owner=self._principal.name)

    async def pull(self, pull_point: str, most: int | None, seconds: float = 0.0) -> Pulled:
        self._pulled(pull_point)
        return await self._broker.pull(pull_point, most, seconds)

    async def synchronise(self, subscription: str) -> None:
        self._managed(subscription)
        await self._broker.synchronise(subscription)

    async def held(self, pull_point: str, after: int, limit: int, seconds: float = 0.0) -> Sequence[Held]:
        self._pulled(pull_point)
        return await self._broker.held(pull_point, after, limit, seconds)

    async def hand_out(self, pull_point: str, number: int) -> None:
        self._pulled(pull_point)
        await self._broker.hand_out(pull_point, number)

    def pull_point(self, pull_point: str) -> PullPointState:
        found = self._broker.pull_point(pull_point)
        self._managed(pull_point)
        return found

    def closing(self) -> bool:
        return self._broker.closing()

    def current_message(self, topic: TopicIs) -> Notification:
        if not rights.may_subscribe(self._principal, (topic,)):
            raise self._may_not("hear of this topic")
        return self._broker.current_message(topic)

    def problem(self) -> str | None:
        return self._broker.problem()

    def figures(self) -> dict[str, Any]:
        return self._broker.figures()

    def _allowed_at(self, door: str) -> Allowed:
        """The mailbox of another takes from us what its owner could have subscribed to."""
        name = pull_point_of(door)
        if name is None or rights.may_manage(self._principal, found := self._broker.subscription(name)):
            return self._may_publish
        owner = None if found.owner is None else self._known(found.owner)

        def allowed(notification: Notification) -> None:
            self._may_publish(notification)
            if owner is None or not rights.may_hear(owner, notification.topic):
                raise self._may_not(f"fill the pull point {name}, which is another's, with {notification.topic}")

        return allowed

    def _may_publish(self, notification: Notification) -> None:
        if not rights.may_publish(self._principal, notification.topic):
            raise self._may_not(f"publish under the topic {notification.topic}")

    def _may_ask(self, request: Subscribe) -> None:
        if not rights.may_subscribe(self._principal, request.filters):
            raise self._may_not(self._too_wide())
        for endpoint in (request.consumer, request.end_to):
            self._check_pull_point(endpoint)
            self._check_secret(endpoint)

    def _too_wide(self) -> str:
        if not self._principal.of("subscribe"):
            return "subscribe to any topic"
        return "subscribe to all that these filters match; name topics that it has the right to"

    def _may_know(self, topic: Topic | None) -> bool:
        return topic is not None and self._may_know_of(topic)

    def _pulled(self, pull_point: str) -> None:
        """What lies there was chosen by its owner's rights, and is its owner's to read."""
        self._broker.pull_point(pull_point)
        found = self._broker.subscription(pull_point)
        if not rights.may_pull(self._principal, found):
            raise self._may_not(f"pull from {pull_point}, which is another's")

    def _managed(self, subscription: str) -> Subscription:
        found = self._broker.subscription(subscription)
        if not rights.may_manage(self._principal, found):
            raise self._may_not(f"manage the subscription {subscription}, which is another's")
        return found

    def _must_manage_everything(self, what: str) -> None:
        if not rights.may_manage_everything(self._principal):
            raise self._may_not(what)

    def _may_not(self, what: str) -> Refusal:
        name = self._principal.name or "whoever does not say who it is"
        return Refusal("not-allowed", f"{name} may not {what}; `tocsin users grant` gives rights")

    def _check_pull_point(self, endpoint: Endpoint | None) -> None:
        """Nobody fills the mailbox of another."""
        start = f"{self.base_url}{PULL_POINTS}"
        if endpoint is not None and endpoint.address.startswith(start):
            self._managed(endpoint.address[len(start) :])
