"""How services reach each other here: through notifiers, on topics of the broker, and by subscriptions that stand."""

import uuid
from collections.abc import Callable, Sequence
from urllib.parse import quote

from msgspec.structs import replace

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.interactions.records import Records
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.documents.subscriptions import SubscribeRequest
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.soap.templates import PULL_POINTS
from tocsin.model.filters import DESCEND, AttributeIs, Filter, TopicIs
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.interactions import Request
from tocsin.model.names import Topic
from tocsin.model.notification import Copy, Message, Notification, Payload
from tocsin.model.paths import EVENTS
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position
from tocsin.routing.implicit.protocols import DIRECT
from tocsin.routing.implicit.services import Published, Running
from tocsin.routing.interaction import pattern
from tocsin.semantics.interest.ino import Service, topic_of
from tocsin.semantics.interest.world import World

_NOWHERE = Position(Node(""), 0)


class Ways:
    def __init__(
        self,
        base_url: str,
        now: Callable[[], Instant],
        *,
        implicit: Implicit,
        publishing: Publishing,
        subscriptions: Subscriptions,
        standing: StandingSubscriptions,
    ) -> None:
        self._base_url, self.now, self._implicit = base_url, now, implicit
        self._publishing, self._subscriptions, self._standing = publishing, subscriptions, standing

    async def tell(self, root: Service, names: Sequence[str], said: Published) -> str:
        """Exactly those, in one step that is on disk when it returns."""
        if self.here(root.name) is not None:
            asked = replace(said, protocol=DIRECT.name, only=tuple(names))
            return await self._implicit.publish_through(NODE, root.name, asked)
        name = said.id or MessageId(f"urn:uuid:{uuid.uuid4()}")
        reports = root.node or self._base_url
        message = Message(name, DIRECT.name, root.name, said.topic, said.data, self.now(), reports, said.attributes)
        copies = [Copy(f"{name}/{quote(each, safe='')}", message, root.name, each, 1) for each in names]
        await self._implicit.pass_on(NODE, copies)
        return name

    async def spread(self, root: Service, said: Published) -> str:
        """By a protocol over the graph of interests, which its notifier begins."""
        if self.here(root.name) is None:
            raise _elsewhere(root)
        return await self._implicit.publish_through(NODE, root.name, said)

    async def say(self, caller: Caller, producer: Service, topic: Topic, data: Payload, name: str) -> None:
        """On a topic of the broker, where every subscription has its own filter."""
        said = Notification(
            MessageId(name),
            _NOWHERE,
            0,
            self.now(),
            "raw",
            "",
            producer.notifier,
            topic,
            None,
            (),
            data,
        )
        headers, body = cloudevents.structured(said)
        known = tuple((key.lower(), value) for key, value in headers)
        await self._publishing.publish(caller, EVENTS, cloudevents.NAME, known, body)

    async def stand(self, asker: Service, producer: Service, topic: Topic) -> str:
        """A subscription of that consumer to what that producer says about the topic, until it is ended."""
        filters: tuple[Filter, ...] = (
            TopicIs(((*topic.steps, DESCEND),)),
            AttributeIs("source", "exact", producer.notifier),
        )
        running = self.here(asker.name)
        address = asker.address or self._pull_point(asker, running)
        asked = SubscribeRequest(address, asker.dialect or cloudevents.NAME).normalised(self.now())
        owner = None if running is None else self._standing.get(running.subscription).owner
        return (await self._subscriptions.subscribe_for_good(replace(asked, filters=filters), owner)).id

    async def lift(self, subscription: str) -> None:
        try:
            await self._standing.end(subscription, "unsubscribed")
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":
                raise

    def stands(self, asker: Service | None, subscription: str) -> bool:
        """Whether it still reaches that service: it may have been ended, and the service may have come back."""
        try:
            consumer = self._standing.get(subscription).consumer
            at = "" if asker is None else asker.address or self._pull_point(asker, self.here(asker.name))
        except Refusal:
            return False
        base = self._base_url
        return consumer is not None and consumer.address.removeprefix(base) == at.removeprefix(base)

    def here(self, service: str) -> Running | None:
        try:
            return self._implicit.notifier(NODE, service)
        except Refusal:
            return None

    def _pull_point(self, asker: Service, running: Running | None) -> str:
        if running is None:
            raise _elsewhere(asker)
        return f"{self._base_url}{PULL_POINTS}{running.subscription}"


def _elsewhere(service: Service) -> Refusal:
    where = service.node or service.notifier or "another node"
    return Refusal("not-here", f"the notifier of {service.name!r} is run by {where}, not by this node: ask there")


class Standing:
    """Who calls holds the producer's turn, so that nobody else subscribes there meanwhile."""

    def __init__(self, ways: Ways, records: Records) -> None:
        self._ways, self._records = ways, records

    async def subscribe(self, world: World, request: Request) -> Request:
        for each in self._asked(request.producer):
            if not self._reaches(world, each):
                await self.end(each)
        self._check_free(world, request)
        asker, producer = world.service(request.asker), world.service(request.producer)
        subscription = await self._ways.stand(asker, producer, topic_of(world.topics, request.topic))
        made = replace(request, subscription=subscription)
        try:
            await self._records.keep([made], self._records.said("asked", made, made.asker))
        except BaseException:
            await self._ways.lift(subscription)
            raise
        return made

    async def end(self, request: Request) -> Request:
        """Any request; with its subscription where it has one."""
        if request.subscription:
            await self._ways.lift(request.subscription)
        ended = replace(request, state="ended")
        await self._records.keep([ended], self._records.said("ended", ended, ended.asker))
        return ended

    def at(self, world: World, producer: str) -> list[Request]:
        """Those that still reach who asked."""
        return [each for each in self._asked(producer) if self._reaches(world, each)]

    def _check_free(self, world: World, request: Request) -> None:
        """A producer that has one subscriber on a topic has no other there, nor above or below it."""
        near = {*world.topics.above(request.topic), *world.topics.below(request.topic)}
        for each in self._asked(request.producer):
            if each.topic not in near:
                continue
            if pattern(each.pattern).exclusive or pattern(request.pattern).exclusive:
                hint = f"end {each.id}, or let both use push-1:n-explicit"
                raise Refusal("in-use", f"{each.asker} subscribed at {each.producer} for {each.topic!r}; {hint}")
            if each.asker == request.asker and each.topic == request.topic:
                raise Refusal("in-use", f"{each.asker} asked for that already: request {each.id} stands")

    def _asked(self, producer: str) -> list[Request]:
        return [each for each in self._records.live if each.producer == producer and each.subscription]

    def _reaches(self, world: World, request: Request) -> bool:
        return self._ways.stands(world.services.get(request.asker), request.subscription)
