"""Subscriptions that stand for consumers which asked a producer to push to them (paper 000, Fig. 3a and 3b)."""

from msgspec.structs import replace

from tocsin.broker.interactions.records import Records
from tocsin.broker.interactions.ways import Ways
from tocsin.model.interactions import Request
from tocsin.model.refusal import Refusal
from tocsin.routing.interaction import pattern
from tocsin.semantics.interest.ino import topic_of
from tocsin.semantics.interest.world import World


class Standing:
    """Who calls holds the producer's turn, so that nobody else subscribes there meanwhile."""

    def __init__(self, ways: Ways, records: Records) -> None:
        self._ways, self._records = ways, records

    async def subscribe(self, world: World, request: Request) -> Request:
        await self._end_lost(world, request.producer)
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

    async def _end_lost(self, world: World, producer: str) -> None:
        for each in self._asked(producer):
            if not self._reaches(world, each):
                await self.end(each)

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
