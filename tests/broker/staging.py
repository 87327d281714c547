"""A stage for what services ask of each other: a real store, and notifiers played by a list of what they were told."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.interactions.interactions import Interactions
from tocsin.broker.interactions.records import Records
from tocsin.broker.interactions.ways import Ways
from tocsin.mediation.operations import Subscribe
from tocsin.model.identity import Instant, MessageId, Node, Pairs, SubscriptionId
from tocsin.model.interactions import Ask, Request
from tocsin.model.notification import Copy, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position, Subscription
from tocsin.routing.implicit.services import Published, Running
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.store.database import Store

BASE = "http://broker.example"
DATA, YES = Payload("application/json", b"{}"), Payload("application/json", b'"yes"')


def service(name: str, category: str, **more: Any) -> Service:
    return Service(name, (category,), notifier=f"{BASE}/notifiers/{name}", node=BASE, **more)


def small_world() -> World:
    return World.of(
        [
            c.PutTopic("Vote"),
            c.PutTopic("Final", "Vote"),
            c.PutCategory("Coordinators"),
            c.PutCategory("Participants"),
            c.PutCategory("Watchers"),
            c.PutService(service("P1", "Participants")),
            c.PutService(service("P2", "Participants")),
            c.PutService(service("W", "Watchers", qualities={"price": 3})),
            c.PutService(service("C", "Coordinators", qualities={"price": 2}, tells={"Final": "P2"})),
            c.PutEdge(Edge("Coordinators", "Vote", "Watchers")),
        ]
    )


class Notifiers:
    """The part of the implicit port that is used."""

    def __init__(self, world: World, here: set[str] | None = None) -> None:
        self._world, self._here = world, here
        self.said: list[tuple[str, Published]] = []
        self.copies: list[Copy] = []
        self.refuses = False
        self.turn: asyncio.Event | None = None

    def world(self, caller: Caller = NODE) -> World:
        return self._world

    def notifier(self, caller: Caller, name: str) -> Running:
        if name not in self._world.services or (self._here is not None and name not in self._here):
            raise Refusal("unknown-name", "no such notifier here")
        return Running(self._world.services[name], f"sub-{name}", 0, 0)

    async def publish_through(self, caller: Caller, notifier: str, asked: Published) -> MessageId:
        if self.turn is not None:
            await self.turn.wait()
        if self.refuses:
            raise Refusal("overloaded", "not now")
        self.said.append((notifier, asked))
        return asked.id or MessageId("new")

    async def pass_on(self, caller: Caller, copies: Sequence[Copy]) -> None:
        self.copies += copies


class Broker:
    base_url = BASE

    def __init__(self, implicit: Notifiers) -> None:
        self.implicit = implicit
        self.subscriptions: dict[str, Subscription] = {}
        self.published: list[bytes] = []
        self.time = 0

    def now(self) -> Instant:
        self.time += 1
        return Instant(self.time)

    async def publish(self, caller: Caller, door: str, dialect: str, headers: Pairs, body: bytes) -> None:
        self.published.append(body)

    async def subscribe_for_good(self, request: Subscribe, owner: str | None) -> Subscription:
        name, since = SubscriptionId(f"made-{self.now()}"), Position(Node("n"), 0)
        made = Subscription(name, owner, request.consumer, None, request.form, request.filters, since, None)
        self.subscriptions[name] = made
        return made

    async def end(self, subscription: str, reason: str) -> Subscription:
        self.get(subscription)
        return self.subscriptions.pop(subscription)

    def get(self, subscription: str) -> Subscription:
        if subscription.startswith("sub-"):
            return Subscription(
                SubscriptionId(subscription), "ann", None, None, cast(Any, None), (), Position(Node("n"), 0), None
            )
        if subscription not in self.subscriptions:
            raise Refusal("unknown-subscription", "gone")
        return self.subscriptions[subscription]


class Stage:
    def __init__(self, store: Store, log: Path, here: set[str] | None = None) -> None:
        self.notifiers = Notifiers(small_world(), here)
        self.broker = Broker(self.notifiers)
        self.store, self.log = store, log
        self.interactions = self.again()

    def again(self) -> Interactions:
        """As after a restart."""
        broker, implicit = cast(Any, self.broker), cast(Any, self.notifiers)
        ways = Ways(BASE, self.broker.now, implicit=implicit, publishing=broker, subscriptions=broker, standing=broker)
        records = Records(self.store.requests, self.broker.now, 100.0)
        return Interactions(ways, records, broker, implicit, self.log, BASE)

    async def ask(self, pattern: str, by: str = "P1", of: str = "C", topic: str = "Vote", **more: Any) -> Request:
        return await self.interactions.ask(NODE, Ask(pattern, topic, by, DATA, of, **more))

    def told(self) -> list[tuple[str, tuple[str, ...] | None]]:
        return [(root, said.only) for root, said in self.notifiers.said]


async def refused(work: Any, reason: str, words: str) -> None:
    with pytest.raises(Refusal) as found:
        await work
    assert (found.value.reason, words in found.value.text) == (reason, True), found.value.text
