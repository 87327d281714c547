"""How services reach each other here: through notifiers, on topics of the broker, and by subscriptions that stand."""

import uuid
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from msgspec.structs import replace

from tocsin.documents.ports.implicit_port import ImplicitPort, Published, Running
from tocsin.documents.subscriptions import SubscribeRequest
from tocsin.flow.addressing import PULL_POINTS
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import Subscribe
from tocsin.model.filters import DESCEND, AttributeIs, Filter, TopicIs
from tocsin.model.identity import Instant, MessageId, Node, Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Copy, Message, Notification, Payload
from tocsin.model.paths import EVENTS
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position, Subscription
from tocsin.routing.implicit.protocols import DIRECT
from tocsin.semantics.interest.ino import Service

_NOWHERE = Position(Node(""), 0)


class Around(Protocol):
    """The node, as far as it is needed here."""

    base_url: str

    @property
    def implicit(self) -> ImplicitPort: ...

    def now(self) -> Instant: ...

    async def publish(
        self, door: str, dialect: str, headers: Pairs, body: bytes, *, principal: str | None = None
    ) -> None: ...

    async def subscribe_for_good(self, request: Subscribe, *, owner: str | None = None) -> Subscription: ...

    async def unsubscribe(self, subscription: str) -> Subscription: ...

    def subscription(self, subscription: str) -> Subscription: ...


class Ways:
    def __init__(self, around: Around) -> None:
        self._around = around

    async def tell(self, root: Service, names: Sequence[str], said: Published) -> str:
        """Exactly those, in one step that is on disk when it returns."""
        if self.here(root.name) is not None:
            asked = replace(said, protocol=DIRECT.name, only=tuple(names))
            return await self._around.implicit.publish_through(root.name, asked)
        name = said.id or MessageId(f"urn:uuid:{uuid.uuid4()}")
        reports = root.node or self._around.base_url
        message = Message(
            name, DIRECT.name, root.name, said.topic, said.data, self._around.now(), reports, said.attributes
        )
        copies = [Copy(f"{name}/{quote(each, safe='')}", message, root.name, each, 1) for each in names]
        await self._around.implicit.pass_on(copies)
        return name

    async def spread(self, root: Service, said: Published) -> str:
        """By a protocol over the graph of interests, which its notifier begins."""
        if self.here(root.name) is None:
            raise _elsewhere(root)
        return await self._around.implicit.publish_through(root.name, said)

    async def say(self, producer: Service, topic: Topic, data: Payload, name: str, principal: str | None) -> None:
        """On a topic of the broker, where every subscription has its own filter."""
        said = Notification(
            MessageId(name),
            _NOWHERE,
            0,
            self._around.now(),
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
        await self._around.publish(EVENTS, cloudevents.NAME, known, body, principal=principal)

    async def stand(self, asker: Service, producer: Service, topic: Topic) -> str:
        """A subscription of that consumer to what that producer says about the topic, until it is ended."""
        filters: tuple[Filter, ...] = (
            TopicIs(((*topic.steps, DESCEND),)),
            AttributeIs("source", "exact", producer.notifier),
        )
        running = self.here(asker.name)
        address = asker.address or self._pull_point(asker, running)
        asked = SubscribeRequest(address, asker.dialect or cloudevents.NAME).normalised(self._around.now())
        owner = None if running is None else self._around.subscription(running.subscription).owner
        return (await self._around.subscribe_for_good(replace(asked, filters=filters), owner=owner)).id

    async def lift(self, subscription: str) -> None:
        try:
            await self._around.unsubscribe(subscription)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":
                raise

    def stands(self, asker: Service | None, subscription: str) -> bool:
        """Whether it still reaches that service: it may have been ended, and the service may have come back."""
        try:
            consumer = self._around.subscription(subscription).consumer
            at = "" if asker is None else asker.address or self._pull_point(asker, self.here(asker.name))
        except Refusal:
            return False
        base = self._around.base_url
        return consumer is not None and consumer.address.removeprefix(base) == at.removeprefix(base)

    def here(self, service: str) -> Running | None:
        try:
            return self._around.implicit.notifier(service)
        except Refusal:
            return None

    def _pull_point(self, asker: Service, running: Running | None) -> str:
        if running is None:
            raise _elsewhere(asker)
        return f"{self._around.base_url}{PULL_POINTS}{running.subscription}"


def _elsewhere(service: Service) -> Refusal:
    where = service.node or service.notifier or "another node"
    return Refusal("not-here", f"the notifier of {service.name!r} is run by {where}, not by this node: ask there")
