"""Services that interact by the eight patterns of paper 000 s2.1: what they ask, who answers, who is told."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec.structs import replace

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.interactions.records import NAMES, Records, check_live, is_live
from tocsin.broker.interactions.ways import Standing, Ways
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.tracing.lookup import fetch
from tocsin.documents.interactions import REQUESTS
from tocsin.model import names
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.interactions import Also, Ask, Choice, Fetched, Interaction, Receivers, Request, Tell
from tocsin.model.names import Topic
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import DEFAULT, protocol
from tocsin.routing.implicit.services import Published
from tocsin.routing.interaction import (
    Pattern,
    answer_goes_to,
    choosing,
    pattern,
    subscribed,
    together,
    told_by_rule,
)
from tocsin.semantics.interest.ino import Service, topic_of
from tocsin.semantics.interest.world import World

MOST_LIVE = 100_000
FORGET_SECONDS = 60.0
_MOST_NAMED = 100  # requests that an answer names


class Interactions:
    """What is asked of one producer goes in turn. A caller speaks for the service of its own name, and for those whose
    subscriptions it manages."""

    def __init__(
        self,
        ways: Ways,
        records: Records,
        standing: StandingSubscriptions,
        implicit: Implicit,
        log: Path,
        base_url: str,
    ) -> None:
        self._ways, self._records, self._subscriptions = ways, records, standing
        self._implicit, self._log, self._base_url = implicit, log, base_url
        self._standing = Standing(ways, records)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ask(self, caller: Caller, asked: Ask) -> Request:
        """Returns when the request is on disk, and so is what tells the producer of it."""
        self._must_speak_for(caller, asked.asker)
        if caller.principal is not None and not caller.may_hear(topic := self._topic_of(asked.topic)):
            raise caller.may_not(f"ask about {topic}, of which it may not hear")
        rules, world = pattern(asked.pattern), self._world()
        if not rules.asked:
            raise Refusal("malformed", f"{rules.name} begins with the producer, which tells: nobody asks")
        if len(self._records.live) >= MOST_LIVE:
            raise Refusal("overloaded", f"{MOST_LIVE} requests are open; end or answer some first")
        world.topics.check(asked.topic)
        asker = world.service(asked.asker)
        producer, why = await _producer(world, rules, asked)
        request = _request(rules, asked, producer.name, why, self._ways.now())
        async with self._turn(producer.name):
            if rules.standing:
                return await self._standing.subscribe(world, request)
            return await self._pull(asker, producer, request)

    async def answer(self, caller: Caller, request: str, by: str, data: Payload) -> Receivers:
        """To all that it is for, or to nobody: one message, whose copies are on disk together."""
        asked = await self._records.get(request)
        self._must_speak_for(caller, by)
        if caller.principal is not None:
            caller.must_publish(self._topic_of(asked.topic))
            if (channel := names.topic(asked.channel)) is not None:
                caller.must_publish(channel)
        async with self._turn(asked.producer):
            found, world = _answerable(await self._records.get(request), by), self._world()
            closing = together(found, self._records.live)
            told = answer_goes_to(found, self._records.live, world)
            _check_registered(world, told, closing)
            message = await self._send_answer(caller, world, found, closing, told, data)
            answered = [replace(each, state="answered", answers=each.answers + 1) for each in closing]
            await self._records.keep(answered, self._records.said("answered", found, by, told, message))
            return Receivers(message, told, tuple(each.id for each in answered if not is_live(each)))

    async def tell(self, caller: Caller, tell: Tell) -> Receivers:
        self._must_speak_for(caller, tell.producer)
        if caller.principal is not None:
            caller.must_publish(self._topic_of(tell.topic))
        rules, world = pattern(tell.pattern), self._world()
        if rules.mode != "push":
            raise Refusal("malformed", f"{rules.name} begins with a consumer, which asks; the producer answers")
        if tell.protocol and not rules.spreads:
            raise Refusal("malformed", f"a protocol is for push-1:n-implicit; {rules.name} has none")
        world.topics.check(tell.topic)
        producer = world.service(tell.producer)
        done = await self._push(caller, world, rules, producer, tell)
        said = Interaction(self._ways.now(), rules.name, "told", producer.name, done.told, tell.topic, "", done.message)
        await self._records.keep((), said)
        return done

    async def end(self, caller: Caller, request: str, by: str) -> Request:
        asked = await self._records.get(request)
        self._must_speak_for(caller, asked.asker)
        async with self._turn(asked.producer):
            found = await self._records.get(request)
            if by and by != found.asker:
                raise Refusal("not-allowed", f"request {found.id} is {found.asker}'s to end, not {by}'s")
            return await self._standing.end(check_live(found, "ended"))

    async def request(self, caller: Caller, request: str) -> Request:
        found = await self._records.get(request)
        if not self._sees(caller, found):
            raise caller.may_not(f"read the request {found.id}, which is another's")
        return found

    async def requests(
        self, caller: Caller, after: int, limit: int, seen: Callable[[Request], bool]
    ) -> Sequence[tuple[int, Request]]:
        return await self._records.requests(after, limit, lambda each: self._sees(caller, each) and seen(each))

    async def interactions(
        self, caller: Caller, after: int, limit: int, request: str | None, seen: Callable[[Interaction], bool]
    ) -> Sequence[tuple[int, Interaction]]:
        def both(each: Interaction) -> bool:
            return any(self._speaks_for(caller, name) for name in (each.by, each.of, *each.told)) and seen(each)

        return await self._records.interactions(after, limit, request, seen if caller.principal is None else both)

    async def fetch(self, caller: Caller, offset: int, index: int) -> Fetched:
        """One notification of the log; refused when there is none there, or none any more."""
        found = await asyncio.to_thread(fetch, self._log, offset, index, self._ways.now())
        if not caller.manages_everything() and (found.private or not caller.may_hear(found.notification.topic)):
            raise caller.may_not("hear of what is there")
        return found

    def _world(self) -> World:
        return self._implicit.world(NODE)

    def _topic_of(self, label: str) -> Topic:
        """What a topic of the world is on the wire."""
        world = self._world()
        world.topics.check(label)
        return topic_of(world.topics, label)

    def _sees(self, caller: Caller, request: Request) -> bool:
        return self._speaks_for(caller, request.asker) or self._speaks_for(caller, request.producer)

    def _must_speak_for(self, caller: Caller, service: str) -> None:
        if not self._speaks_for(caller, service):
            raise caller.may_not(f"speak for the service {service!r}")

    def _speaks_for(self, caller: Caller, service: str) -> bool:
        if service == caller.name or caller.manages_everything():
            return True
        running = self._ways.here(service)
        try:
            return running is not None and caller.may_manage(self._subscriptions.get(running.subscription))
        except Refusal:
            return False

    async def forget(self) -> None:
        """In the background: what is over, when it has been long enough, and what nobody can use any more."""
        with contextlib.suppress(Refusal):  # another node may keep the world
            services = self._world().services
            for each in [each for each in self._records.live if _is_pointless(each, services)]:
                await self.end(NODE, each.id, "")
        await self._records.forget()

    async def _pull(self, asker: Service, producer: Service, request: Request) -> Request:
        """On disk before the producer hears of it, which may answer at once."""
        await self._records.keep([request])
        reply = f"{self._base_url}{REQUESTS}/{request.id}"
        said = Published(
            request.topic,
            request.data,
            id=MessageId(f"{NAMES}{request.id}"),
            attributes=(("replyto", reply), ("request", request.id)),
        )
        try:
            message = await self._ways.tell(asker, (producer.name,), said)
        except BaseException:
            await self._records.drop(request)
            raise
        await self._records.keep([], self._records.said("asked", request, request.asker, (producer.name,), message))
        return request

    async def _send_answer(
        self,
        caller: Caller,
        world: World,
        request: Request,
        closing: Sequence[Request],
        told: Sequence[str],
        data: Payload,
    ) -> str:
        """Its name is the same when it is sent again, because we were killed before it was remembered; another answer
        has another one."""
        producer = world.service(request.producer)
        ids = " ".join(each.id for each in closing[:_MOST_NAMED])
        digest = blake2b(data.media_type.encode() + b"\0" + data.data, digest_size=8).hexdigest()
        name = MessageId(f"{NAMES}{request.id}:{request.answers + 1}:{digest}")
        attributes: Pairs = (("request", ids),)
        message = await self._ways.tell(producer, told, Published(request.topic, data, id=name, attributes=attributes))
        if request.also == "channel":
            channel = names.topic(request.channel) or topic_of(world.topics, request.topic)
            await self._ways.say(caller, producer, channel, data, message)
        return message

    async def _push(self, caller: Caller, world: World, rules: Pattern, producer: Service, tell: Tell) -> Receivers:
        told: tuple[str, ...]
        name = MessageId(f"urn:uuid:{uuid.uuid4()}")
        said = Published(tell.topic, tell.data, id=name)
        if rules.ruled:
            told = (told_by_rule(producer, tell.topic),)
            return Receivers(await self._ways.tell(producer, told, said), told)
        if rules.spreads:
            way = protocol(tell.protocol or DEFAULT).name
            told = world.neighbours(producer.name, tell.topic)
            return Receivers(await self._ways.spread(producer, replace(said, protocol=way)), told)
        told = subscribed(producer.name, tell.topic, self._standing.at(world, producer.name), world)
        if not told and rules.exclusive:
            raise Refusal("unknown-name", f"nobody has subscribed at {producer.name} for {tell.topic!r}")
        await self._ways.say(caller, producer, topic_of(world.topics, tell.topic), tell.data, name)
        return Receivers(name, told)

    def _turn(self, producer: str) -> asyncio.Lock:
        return self._turns.setdefault(producer, asyncio.Lock())


async def _producer(world: World, rules: Pattern, asked: Ask) -> tuple[Service, Choice | None]:
    """The one that is named, or the best of many, which others need not wait for."""
    if rules.chooses and asked.producer:
        raise Refusal("malformed", f"with {rules.name} the broker picks the producer: name a category instead")
    if rules.chooses:
        work = choosing(world, asked.topic, asked.asker, asked.category, asked.profile)
        return await asyncio.to_thread(work)
    if not asked.producer:
        raise Refusal("malformed", f"with {rules.name} a producer is asked by name: say whom you ask")
    if asked.producer == asked.asker:
        raise Refusal("malformed", f"{asked.asker!r} cannot ask itself")
    return world.service(asked.producer), None


def _request(rules: Pattern, asked: Ask, producer: str, why: Choice | None, now: Instant) -> Request:
    return Request(
        uuid.uuid4().hex,
        rules.name,
        asked.topic,
        asked.asker,
        producer,
        asked.data,
        now,
        also=_also(rules, asked),
        channel=asked.channel,
        chosen_because=why,
    )


def _also(rules: Pattern, asked: Ask) -> Also:
    also = asked.also
    if not rules.shared:
        if also or asked.channel:
            raise Refusal("malformed", f"only the answer of pull-1:n-implicit also goes to others, not {rules.name}'s")
    elif not also:
        also = "channel" if asked.channel else "interests"
    if asked.channel and (also != "channel" or names.topic(asked.channel) is None):
        hint = "and only an answer that also goes to a channel has one"
        raise Refusal("malformed", f"a channel is a topic such as a/b, {hint}; not {asked.channel[:80]!r}")
    return also


def _answerable(request: Request, by: str) -> Request:
    if by != request.producer:
        raise Refusal("not-allowed", f"request {request.id} is for {request.producer} to answer, not for {by!r}")
    if request.subscription:
        raise Refusal("malformed", f"request {request.id} is a subscription: {request.producer} tells, as it likes")
    return check_live(request, "answered")


def _is_pointless(request: Request, services: Collection[str]) -> bool:
    """Nobody is left to answer, or to hear it; who asked together with others has to be let go by name."""
    gone = request.asker not in services and not pattern(request.pattern).joint
    return gone or request.producer not in services


def _check_registered(world: World, told: Sequence[str], closing: Sequence[Request]) -> None:
    """One that left is not passed over in silence: who asked together is answered together."""
    for name in told:
        if name not in world.services:
            own = next((each.id for each in closing if each.asker == name), "")
            hint = f"end its request {own} and answer again" if own else "answer again"
            raise Refusal("unknown-name", f"{name!r} is no longer registered, so nobody was told; {hint}")
