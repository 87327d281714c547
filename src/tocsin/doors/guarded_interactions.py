"""Interactions as one principal sees them: it speaks for the service of its own name, and those it manages."""

from collections.abc import Sequence

from tocsin.documents.ports.interactions_port import (
    Ask,
    Fetched,
    InteractionsPort,
    SeenInteraction,
    SeenRequest,
    Tell,
    Told,
)
from tocsin.documents.ports.port import Broker
from tocsin.matching import rights
from tocsin.model import names
from tocsin.model.access import Principal
from tocsin.model.interactions import Interaction, Request
from tocsin.model.names import Topic
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal


class GuardedInteractions:
    """Implements `InteractionsPort`."""

    def __init__(self, broker: Broker, principal: Principal) -> None:
        self._broker, self._principal = broker, principal
        self._behind: InteractionsPort = broker.interactions

    async def ask(self, asked: Ask) -> Request:
        self._must_speak_for(asked.asker)
        topic = self.topic_of(asked.topic)
        if not rights.may_hear(self._principal, topic):
            raise self._may_not(f"ask about {topic}, of which it may not hear")
        return await self._behind.ask(asked)

    async def answer(self, request: str, by: str, data: Payload, *, principal: str | None = None) -> Told:
        del principal
        found = await self._behind.request(request)
        self._must_speak_for(by)
        self._must_publish(self.topic_of(found.topic))
        if (channel := names.topic(found.channel)) is not None:
            self._must_publish(channel)
        return await self._behind.answer(request, by, data, principal=self._principal.name)

    async def tell(self, tell: Tell, *, principal: str | None = None) -> Told:
        del principal
        self._must_speak_for(tell.producer)
        self._must_publish(self.topic_of(tell.topic))
        return await self._behind.tell(tell, principal=self._principal.name)

    async def end(self, request: str, by: str) -> Request:
        self._must_speak_for((await self._behind.request(request)).asker)
        return await self._behind.end(request, by)

    async def request(self, request: str) -> Request:
        found = await self._behind.request(request)
        if not self._sees(found):
            raise self._may_not(f"read the request {found.id}, which is another's")
        return found

    async def requests(self, after: int, limit: int, seen: SeenRequest) -> Sequence[tuple[int, Request]]:
        return await self._behind.requests(after, limit, lambda each: self._sees(each) and seen(each))

    async def interactions(
        self, after: int, limit: int, request: str | None, seen: SeenInteraction
    ) -> Sequence[tuple[int, Interaction]]:
        def both(each: Interaction) -> bool:
            return any(map(self._speaks_for, (each.by, each.of, *each.told))) and seen(each)

        return await self._behind.interactions(after, limit, request, both)

    async def fetch(self, offset: int, index: int) -> Fetched:
        found = await self._behind.fetch(offset, index)
        if rights.may_manage_everything(self._principal):
            return found
        if found.private or not rights.may_hear(self._principal, found.notification.topic):
            raise self._may_not("hear of what is there")
        return found

    def subscription_of(self, service: str) -> str | None:
        return self._behind.subscription_of(service)

    def topic_of(self, label: str) -> Topic:
        return self._behind.topic_of(label)

    def _sees(self, request: Request) -> bool:
        return self._speaks_for(request.asker) or self._speaks_for(request.producer)

    def _must_publish(self, topic: Topic) -> None:
        if not rights.may_publish(self._principal, topic):
            raise self._may_not(f"publish under the topic {topic}")

    def _must_speak_for(self, service: str) -> None:
        if not self._speaks_for(service):
            raise self._may_not(f"speak for the service {service!r}")

    def _speaks_for(self, service: str) -> bool:
        if service == self._principal.name or rights.may_manage_everything(self._principal):
            return True
        subscription = self._behind.subscription_of(service)
        try:
            return subscription is not None and rights.may_manage(
                self._principal, self._broker.subscription(subscription)
            )
        except Refusal:
            return False

    def _may_not(self, what: str) -> Refusal:
        return Refusal("not-allowed", f"{self._principal.name} may not {what}; `tocsin users grant` gives rights")
