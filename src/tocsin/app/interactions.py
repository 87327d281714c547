"""Services that interact by the eight patterns of paper 000 s2.1: what they ask, who answers, who is told."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from tocsin.app.fetching import fetch
from tocsin.app.interaction_ways import Around, Ways
from tocsin.model import names
from tocsin.model.identity import Instant, MessageId, Pairs, after
from tocsin.model.names import Topic
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.model.request import NO_DATA, Act, Choice, Interaction, Request
from tocsin.routing.implicit.protocols import DEFAULT, protocol
from tocsin.routing.interaction import (
    Pattern,
    answer_goes_to,
    choose,
    pattern,
    subscribed,
    together,
    told_by_rule,
)
from tocsin.semantics.labels import topic_of
from tocsin.semantics.service import Service
from tocsin.semantics.world import World
from tocsin.store.errors import StoreError
from tocsin.store.requests import RequestTable
from tocsin.wire.implicit_port import Published
from tocsin.wire.interactions_port import Ask, Fetched, SeenInteraction, SeenRequest, Tell, Told

MOST_LIVE = 100_000
FORGET_SECONDS = 60.0
NAMES = "urn:tocsin:request:"
_PAGE = 500
_MOST_NAMED = 100  # requests that an answer names
Answer = TypeVar("Answer")


class Interactions:
    """Implements `tocsin.wire.interactions_port.InteractionsPort`. What is asked of one producer goes in turn."""

    def __init__(self, around: Around, table: RequestTable, log: Path, kept_seconds: float) -> None:
        self._around, self._table, self._log, self._kept = around, table, log, kept_seconds
        self._ways = Ways(around)
        self._live = {each.id: each for each in table.live()}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ask(self, asked: Ask, *, principal: str | None = None) -> Request:
        del principal
        rules, world = pattern(asked.pattern), self._around.implicit.world()
        if not rules.asked:
            raise Refusal("malformed", f"{rules.name} begins with the producer, which tells: nobody asks")
        if len(self._live) >= MOST_LIVE:
            raise Refusal("overloaded", f"{MOST_LIVE} requests are open; end or answer some first")
        world.topics.check(asked.topic)
        asker = world.service(asked.asker)
        producer, why = _producer(world, rules, asked)
        request = _request(rules, asked, producer.name, why, self._around.now())
        async with self._turn(producer.name):
            if rules.standing:
                return await self._subscribe(world, request)
            return await self._pull(asker, producer, request)

    async def answer(self, request: str, by: str, data: Payload, *, principal: str | None = None) -> Told:
        """To all that it is for, or to nobody: one message, whose copies are on disk together."""
        producer = (await self.request(request)).producer
        async with self._turn(producer):
            found = self._answerable(await self.request(request), by)
            world = self._around.implicit.world()
            closing = together(found, self._live.values())
            told = answer_goes_to(found, self._live.values(), world)
            _check_registered(world, told, closing)
            message = await self._send_answer(world, found, closing, told, data, principal)
            answered = [replace(each, state="answered", answers=each.answers + 1) for each in closing]
            await self._keep(answered, self._record("answered", found, by, told, message))
            return Told(message, told, tuple(each.id for each in answered if not _is_live(each)))

    async def tell(self, tell: Tell, *, principal: str | None = None) -> Told:
        rules, world = pattern(tell.pattern), self._around.implicit.world()
        if rules.mode != "push":
            raise Refusal("malformed", f"{rules.name} begins with a consumer, which asks; the producer answers")
        if tell.protocol and rules.name != "push-1:n-implicit":
            raise Refusal("malformed", f"a protocol is for push-1:n-implicit; {rules.name} has none")
        world.topics.check(tell.topic)
        producer = world.service(tell.producer)
        done = await self._told(world, rules, producer, tell, principal)
        said = Interaction(
            self._around.now(), rules.name, "told", producer.name, done.told, tell.topic, "", done.message
        )
        await self._stored(lambda: self._table.keep((), said.when, said))
        return done

    async def end(self, request: str, by: str) -> Request:
        producer = (await self.request(request)).producer
        async with self._turn(producer):
            found = await self.request(request)
            if by and by != found.asker:
                raise Refusal("not-allowed", f"request {found.id} is {found.asker}'s to end, not {by}'s")
            return await self._end(_check_live(found, "ended"))

    async def request(self, request: str) -> Request:
        """By its id, or by that of the message that told of it: all that a service which speaks SOAP has of it."""
        request = request.removeprefix(NAMES)
        found = await self._stored(lambda: self._table.get(request))
        if found is None:
            hint = f"what is over is forgotten after {self._kept:g} s"
            raise Refusal("unknown-name", f"there is no request {request[:80]!r} here; {hint}")
        return found

    async def requests(self, after: int, limit: int, seen: SeenRequest) -> Sequence[tuple[int, Request]]:
        return await self._pages(self._table.page, after, limit, seen)

    async def interactions(
        self, after: int, limit: int, request: str | None, seen: SeenInteraction
    ) -> Sequence[tuple[int, Interaction]]:
        def page(after: int, limit: int) -> list[tuple[int, Interaction]]:
            return self._table.interactions(after, limit, request)

        return await self._pages(page, after, limit, seen)

    async def fetch(self, offset: int, index: int) -> Fetched:
        return await asyncio.to_thread(fetch, self._log, offset, index, self._around.now())

    def subscription_of(self, service: str) -> str | None:
        running = self._ways.here(service)
        return None if running is None else running.subscription

    def topic_of(self, label: str) -> Topic:
        world = self._around.implicit.world()
        world.topics.check(label)
        return topic_of(world.topics, label)

    async def forget(self) -> None:
        """In the background: what is over, when it has been long enough, and what nobody can use any more."""
        with contextlib.suppress(Refusal):  # another node may keep the world
            services = self._around.implicit.world().services
            for each in [each for each in self._live.values() if _is_pointless(each, services)]:
                await self.end(each.id, "")
        await self._stored(lambda: self._table.forget(after(self._around.now(), -self._kept)))

    async def _pull(self, asker: Service, producer: Service, request: Request) -> Request:
        """On disk before the producer hears of it, which may answer at once."""
        await self._keep([request])
        reply = f"{self._around.base_url}/api/requests/{request.id}"
        said = Published(
            request.topic,
            request.data,
            id=MessageId(f"{NAMES}{request.id}"),
            attributes=(("replyto", reply), ("request", request.id)),
        )
        try:
            message = await self._ways.tell(asker, (producer.name,), said)
        except BaseException:
            await self._drop(request)
            raise
        await self._keep([], self._record("asked", request, request.asker, (producer.name,), message))
        return request

    async def _subscribe(self, world: World, request: Request) -> Request:
        for each in self._subscribed(request.producer):
            if not self._stands(world, each):
                await self._end(each)
        self._check_free(world, request)
        asker, producer = world.service(request.asker), world.service(request.producer)
        subscription = await self._ways.stand(asker, producer, topic_of(world.topics, request.topic))
        made = replace(request, subscription=subscription)
        try:
            await self._keep([made], self._record("asked", made, made.asker, (), ""))
        except BaseException:
            await self._ways.lift(subscription)
            raise
        return made

    def _check_free(self, world: World, request: Request) -> None:
        """A producer that has one subscriber on a topic has no other there, nor above or below it."""
        near = {*world.topics.above(request.topic), *world.topics.below(request.topic)}
        for each in self._subscribed(request.producer):
            if each.topic not in near:
                continue
            if "push-1:1-explicit" in (each.pattern, request.pattern):
                hint = f"end {each.id}, or let both use push-1:n-explicit"
                raise Refusal("in-use", f"{each.asker} subscribed at {each.producer} for {each.topic!r}; {hint}")
            if each.asker == request.asker and each.topic == request.topic:
                raise Refusal("in-use", f"{each.asker} asked for that already: request {each.id} stands")

    def _subscribed(self, producer: str) -> list[Request]:
        return [each for each in self._live.values() if each.producer == producer and each.subscription]

    def _stands(self, world: World, request: Request) -> bool:
        return self._ways.stands(world.services.get(request.asker), request.subscription)

    async def _end(self, request: Request) -> Request:
        if request.subscription:
            await self._ways.lift(request.subscription)
        ended = replace(request, state="ended")
        await self._keep([ended], self._record("ended", ended, ended.asker, (), ""))
        return ended

    async def _send_answer(
        self,
        world: World,
        request: Request,
        closing: Sequence[Request],
        told: Sequence[str],
        data: Payload,
        principal: str | None,
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
            await self._ways.say(producer, channel, data, message, principal)
        return message

    async def _told(self, world: World, rules: Pattern, producer: Service, tell: Tell, principal: str | None) -> Told:
        told: tuple[str, ...]
        name = MessageId(f"urn:uuid:{uuid.uuid4()}")
        said = Published(tell.topic, tell.data, id=name)
        if rules.name == "push-1:1-implicit":
            told = (told_by_rule(producer, tell.topic),)
            return Told(await self._ways.tell(producer, told, said), told)
        if rules.name == "push-1:n-implicit":
            way = protocol(tell.protocol or DEFAULT).name
            told = world.neighbours(producer.name, tell.topic)
            return Told(await self._ways.spread(producer, replace(said, protocol=way)), told)
        standing = (each for each in self._subscribed(producer.name) if self._stands(world, each))
        told = subscribed(producer.name, tell.topic, standing, world)
        if not told and rules.name == "push-1:1-explicit":
            raise Refusal("unknown-name", f"nobody has subscribed at {producer.name} for {tell.topic!r}")
        await self._ways.say(producer, topic_of(world.topics, tell.topic), tell.data, name, principal)
        return Told(name, told)

    def _answerable(self, request: Request, by: str) -> Request:
        if by != request.producer:
            raise Refusal("not-allowed", f"request {request.id} is for {request.producer} to answer, not for {by!r}")
        if request.subscription:
            raise Refusal("malformed", f"request {request.id} is a subscription: {request.producer} tells, as it likes")
        return _check_live(request, "answered")

    def _record(self, act: Act, request: Request, by: str, told: Sequence[str], message: str) -> Interaction:
        now = self._around.now()
        return Interaction(now, request.pattern, act, by, tuple(told), request.topic, request.id, message)

    async def _keep(self, requests: Sequence[Request], record: Interaction | None = None) -> None:
        rows, now = [(each, _is_live(each)) for each in requests], self._around.now()
        await self._stored(lambda: self._table.keep(rows, now, record))
        for each, live in rows:
            if live:
                self._live[each.id] = replace(each, data=NO_DATA)
            else:
                self._live.pop(each.id, None)

    async def _drop(self, request: Request) -> None:
        self._live.pop(request.id, None)
        await self._stored(lambda: self._table.remove(request.id))

    async def _pages(
        self,
        page: Callable[[int, int], list[tuple[int, Answer]]],
        after: int,
        limit: int,
        seen: Callable[[Answer], bool],
    ) -> list[tuple[int, Answer]]:
        found: list[tuple[int, Answer]] = []
        while len(found) < limit:
            start = after
            rows = await self._stored(lambda: page(start, _PAGE))  # noqa: B023 - it is called at once
            found += [row for row in rows if seen(row[1])]
            if len(rows) < _PAGE:
                break
            after = rows[-1][0]
        return found[:limit]

    async def _stored(self, work: Callable[[], Answer]) -> Answer:
        try:
            return await asyncio.to_thread(work)
        except StoreError as problem:
            raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None

    def _turn(self, producer: str) -> asyncio.Lock:
        return self._turns.setdefault(producer, asyncio.Lock())


def _producer(world: World, rules: Pattern, asked: Ask) -> tuple[Service, Choice | None]:
    if asked.producer:
        if rules.name == "pull-1:1-implicit":
            raise Refusal("malformed", f"with {rules.name} the broker picks the producer: name a category instead")
        if asked.producer == asked.asker:
            raise Refusal("malformed", f"{asked.asker!r} cannot ask itself")
        return world.service(asked.producer), None
    if rules.name != "pull-1:1-implicit":
        raise Refusal("malformed", f"with {rules.name} a producer is asked by name: say which with `of`")
    return choose(world, asked.topic, asked.asker, asked.category, asked.profile)


def _request(rules: Pattern, asked: Ask, producer: str, why: Choice | None, now: Instant) -> Request:
    also = asked.also
    if rules.name != "pull-1:n-implicit":
        if also or asked.channel:
            raise Refusal("malformed", f"only the answer of pull-1:n-implicit also goes to others, not {rules.name}'s")
    elif not also:
        also = "channel" if asked.channel else "interests"
    if asked.channel and (also != "channel" or names.topic(asked.channel) is None):
        raise Refusal("malformed", f"the channel is a topic such as a/b, for also=channel; not {asked.channel[:80]!r}")
    return Request(
        uuid.uuid4().hex,
        rules.name,
        asked.topic,
        asked.asker,
        producer,
        asked.data,
        now,
        also=also,
        channel=asked.channel,
        chosen_because=why,
    )


def _is_live(request: Request) -> bool:
    return request.state == "open" or (request.state == "answered" and pattern(request.pattern).lasting)


def _is_pointless(request: Request, services: Collection[str]) -> bool:
    """Nobody is left to answer, or to hear it; who asked together with others has to be let go by name."""
    gone = request.asker not in services and request.pattern != "pull-1:n-explicit"
    return gone or request.producer not in services


def _check_live(request: Request, what: str) -> Request:
    if not _is_live(request):
        raise Refusal("over", f"request {request.id} was {request.state} before, and cannot be {what}; ask again")
    return request


def _check_registered(world: World, told: Sequence[str], closing: Sequence[Request]) -> None:
    """One that left is not passed over in silence: who asked together is answered together."""
    for name in told:
        if name not in world.services:
            own = next((each.id for each in closing if each.asker == name), "")
            hint = f"end its request {own} and answer again" if own else "answer again"
            raise Refusal("unknown-name", f"{name!r} is no longer registered, so nobody was told; {hint}")
