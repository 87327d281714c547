"""Notifiers without a node: a world in memory, and a record of what the doors asked."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from tocsin.documents.ports.implicit_port import Changes, ImplicitPort, Published, Running
from tocsin.documents.ports.port import Broker
from tocsin.doors.gate import Gate
from tocsin.model.access import Account, Accounts, Principal
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Copy
from tocsin.routing.implicit.result import Dissemination, Step
from tocsin.semantics.interest.changes import Changing, PutCategory, PutService, PutTopic, RemoveService
from tocsin.semantics.interest.ino import Service, topic_of
from tocsin.semantics.interest.world import World
from tocsin.wire.asgi import Application, Message

KEY = b"shared by the nodes of one world"
NOW = Instant(1_700_000_000_000_000_000)


@dataclass
class FakeImplicit:
    """Implements `ImplicitPort`."""

    the_world: World
    published: list[tuple[str, Published]] = field(default_factory=list)
    notified: list[Copy] = field(default_factory=list)
    asked_by: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    keeps_world: bool = True

    def world(self) -> World:
        if not self.keeps_world:
            raise Refusal("not-here", "another node keeps the world")
        return self.the_world

    def topic(self, label: str) -> Topic:
        self.the_world.topics.check(label)
        return topic_of(self.the_world.topics, label)

    async def change_world(self, changes: Changes, by: str) -> int:
        for change in changes(self.the_world) if callable(changes) else changes:
            self.the_world.apply(change)
        self.asked_by.append(by)
        return self.the_world.version

    async def world_history(self, after: int, limit: int) -> Sequence[Changing]:
        return ()

    async def create_notifier(self, service: Service, by: str, owner: str = "") -> Running:
        self.the_world.apply(PutService(service))
        self.asked_by.append(by)
        self.owners.append(owner)
        return self.notifier(service.name)

    async def remove_notifier(self, name: str, by: str) -> None:
        self.the_world.apply(RemoveService(name))
        self.asked_by.append(by)

    def notifier(self, name: str) -> Running:
        return Running(self.the_world.service(name), f"subscription-of-{name}", 0, 0)

    def notifiers(self) -> Sequence[Running]:
        return [self.notifier(name) for name in sorted(self.the_world.services)]

    async def publish_through(self, notifier: str, asked: Published) -> MessageId:
        self.the_world.topics.check(asked.topic)
        self.published.append((notifier, asked))
        return MessageId(f"m{len(self.published)}")

    async def notify(self, copy: Copy) -> None:
        self.the_world.topics.check(copy.message.topic)
        self.notified.append(copy)

    async def pass_on(self, copies: Sequence[Copy]) -> None:
        self.notified += copies

    def proof(self, copy: Copy) -> str:
        return hmac.new(KEY, msgspec.msgpack.encode(copy), hashlib.sha256).hexdigest()

    async def dissemination(self, message: str, seconds: float = 0.0) -> Dissemination:
        await self.publication(message)
        return Dissemination("din", 1, 0, ("CARE",), (Step("IDER", "CARE", 1),), None, hops=1)

    async def publication(self, message: str) -> tuple[MessageId, str, str, str]:
        for row in await self.disseminations(1000):
            if row[0] == message:
                return row
        raise Refusal("unknown-name", f"no message {message!r}")

    async def disseminations(self, limit: int) -> Sequence[tuple[MessageId, str, str, str]]:
        rows = [
            (MessageId(f"m{number}"), root, each.topic, each.protocol)
            for number, (root, each) in enumerate(self.published, 1)
        ]
        return rows[-limit:]


def small_world() -> World:
    services = (Service("IDER", ("Research",)), Service("CARE", ("Global",)), Service('Rè & "Co"', ("Global",)))
    return World.of(
        (
            PutTopic("Disaster Info"),
            PutTopic("Earthquake", "Disaster Info"),
            PutCategory("Research", owner="ada"),
            PutCategory("Global"),
            *map(PutService, services),
        )
    )


class FakeBroker:
    """The part of a node that is asked here."""

    base_url, body_limit = "http://here:1", 100_000

    def __init__(self, port: FakeImplicit) -> None:
        self.implicit: ImplicitPort = port

    def now(self) -> Instant:
        return NOW


def gate(port: FakeImplicit, *principals: Principal) -> Gate:
    """Open, or for these, each with its name as password."""
    broker = cast(Broker, FakeBroker(port))
    if not principals:
        return Gate(broker)
    accounts = Accounts.of(tuple(Account(each, password=each.name) for each in principals))
    return Gate(broker, lambda: accounts)


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
        return coming.pop(0) if coming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await door(scope, receive, send)
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:])
