"""Notifiers without a node: a world in memory, and a record of what the doors asked."""

import asyncio
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.doors.gate import Gate
from tocsin.model.access import Account, Accounts, Principal
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Copy
from tocsin.routing.implicit.result import Dissemination, Step
from tocsin.routing.implicit.services import Published, Running
from tocsin.semantics.interest.changes import PutCategory, PutService, PutTopic, RemoveService
from tocsin.semantics.interest.ino import Service, topic_of
from tocsin.semantics.interest.world import World
from tocsin.wire.asgi import Application, Message

KEY = b"shared by the nodes of one world"
NOW = Instant(1_700_000_000_000_000_000)


@dataclass
class FakeImplicit:
    """The part of `Implicit` that doors ask."""

    the_world: World
    published: list[tuple[str, Published]] = field(default_factory=list)
    notified: list[Copy] = field(default_factory=list)
    asked_by: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    keeps_world: bool = True
    peer_side: Any = field(default_factory=lambda: SimpleNamespace(runtimes={}))  # no other node asks

    def world(self, caller: Caller) -> World:
        if not self.keeps_world:
            raise Refusal("not-here", "another node keeps the world")
        return self.the_world

    async def create_notifier(self, caller: Caller, service: Service, by: str, owner: str = "") -> Running:
        self.the_world.apply(PutService(service))
        self.asked_by.append(by)
        self.owners.append(owner)
        return self.notifier(caller, service.name)

    async def remove_notifier(self, caller: Caller, name: str, by: str) -> None:
        self.the_world.apply(RemoveService(name))
        self.asked_by.append(by)

    def notifier(self, caller: Caller, name: str) -> Running:
        return Running(self.the_world.service(name), f"subscription-of-{name}", 0, 0)

    def notifiers(self, caller: Caller) -> Sequence[Running]:
        return [self.notifier(caller, name) for name in sorted(self.the_world.services)]

    async def publish_through(self, caller: Caller, notifier: str, asked: Published) -> MessageId:
        caller.must_publish(self._topic(asked.topic))
        self.published.append((notifier, asked))
        return MessageId(f"m{len(self.published)}")

    async def notify(self, caller: Caller, copy: Copy) -> None:
        caller.must_publish(self._topic(copy.message.topic))
        self.notified.append(copy)

    def proof(self, caller: Caller, copy: Copy) -> str:
        caller.must_manage_everything("sign")
        return hmac.new(KEY, msgspec.msgpack.encode(copy), hashlib.sha256).hexdigest()

    async def dissemination(self, caller: Caller, message: str, seconds: float = 0.0) -> Dissemination:
        return Dissemination("din", 1, 0, ("CARE",), (Step("IDER", "CARE", 1),), None, hops=1)

    async def publication(self, caller: Caller, message: str) -> tuple[MessageId, str, str, str]:
        for row in await self.disseminations(caller, 1000):
            if row[0] == message:
                return row
        raise Refusal("unknown-name", f"no message {message!r}")

    async def disseminations(self, caller: Caller, limit: int) -> Sequence[tuple[MessageId, str, str, str]]:
        rows = [
            (MessageId(f"m{number}"), root, each.topic, each.protocol)
            for number, (root, each) in enumerate(self.published, 1)
        ]
        return rows[-limit:]

    def _topic(self, label: str) -> Topic:
        self.the_world.topics.check(label)
        return topic_of(self.the_world.topics, label)


WORLD = (
    PutTopic("Disaster Info"),
    PutTopic("Earthquake", "Disaster Info"),
    PutCategory("Research", owner="ada"),
    PutCategory("Global"),
    PutService(Service("IDER", ("Research",))),
    PutService(Service("CARE", ("Global",))),
    PutService(Service('Rè & "Co"', ("Global",))),
)


def small_world() -> World:
    return World.of(WORLD)


class FakeNode:
    """The part of a node that is asked here."""

    base_url, body_limit = "http://here:1", 100_000

    def __init__(self, port: FakeImplicit) -> None:
        self.implicit = port
        self.tree = SimpleNamespace(runtime=None)  # nor here
        self.ring = None

    def now(self) -> Instant:
        return NOW


def gate(port: FakeImplicit, *principals: Principal) -> Gate:
    """Open, or for these, each with its name as password."""
    return guarded(cast(Node, FakeNode(port)), *principals)


def guarded(node: Node, *principals: Principal) -> Gate:
    if not principals:
        return Gate(node)
    accounts = Accounts.of(tuple(Account(each, password=each.name) for each in principals))
    return Gate(node, lambda: accounts)


async def ask(
    door: Application, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """One request, without a socket; the target's path is as it is after decoding."""
    path, _, query = target.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "server": ("here", 1),
    }
    coming: list[Message] = [{"type": "http.request", "body": body}]
    sent: list[Message] = []

    async def receive() -> Message:
        if not coming:
            await asyncio.Event().wait()  # it stays until it is answered
        return coming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await door(scope, receive, send)
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:])
