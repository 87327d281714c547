"""A shell on a real store, without a node around it: what services are told is a list, and a crash is to let it go."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.broker.implicit.results import Results
from tocsin.broker.implicit.shell import Shell
from tocsin.broker.implicit.turn import Here, Item, Join
from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Payload
from tocsin.routing.implicit.messages import Copy, Granted, Message, Publish
from tocsin.routing.implicit.result import Dissemination
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.store.database import Store
from tocsin.store.implicit import Residing
from tocsin.store.implicit_outbox import Kind, Outgoing

HERE, THERE, FOREIGN = "http://here", "http://there", "http://elsewhere/soap"
TOPIC = "T"


def world(edges: Iterable[tuple[str, str]], services: Iterable[tuple[str, str, str]]) -> list[Change]:
    """Edges between categories, all of one topic; services with their categories by commas, and their node."""
    edges, services = list(edges), list(services)
    names = dict.fromkeys(name for edge in edges for name in edge)
    names.update(dict.fromkeys(name for _, categories, _ in services for name in categories.split(",")))
    made: list[Change] = [PutTopic(TOPIC), *map(PutCategory, names)]
    made += [PutService(_service(*each)) for each in services]
    return [*made, *(PutEdge(Edge(source, TOPIC, target)) for source, target in edges)]


def at_home(category: str, *names: str) -> list[tuple[str, str, str]]:
    return [(name, category, HERE) for name in names]


def _service(name: str, categories: str, node: str) -> Service:
    """One whose node is foreign has an address, and no node; without a node it has neither."""
    address = FOREIGN if node == FOREIGN else f"{node}/notifiers/{name}" if node else ""
    return Service(name, tuple(categories.split(",")), notifier=address, node="" if node == FOREIGN else node)


@dataclass
class Stage:
    """`shell` is one life of it; the store outlasts it."""

    path: Path
    store: Store
    registry: LocalRegistry
    shell: Shell
    life: "asyncio.Task[None]"
    told: list[tuple[str, MessageId]] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    refuses: dict[str, Exception] = field(default_factory=dict)
    stuck: bool = False  # the next service that is told is the last thing that happens

    async def take(self, *items: Item) -> list[Granted]:
        return await self.shell.take(items)

    async def settled(self) -> None:
        """Until nothing is left to be stepped."""
        for _ in range(1000):
            await self.shell.take([])
            if not self.shell.waits:
                return
        raise TimeoutError("it does not come to an end")

    def outbox(self, peer: str = THERE) -> list[Outgoing]:
        outbox, kinds = self.store.implicit.outbox, get_args(Kind)
        rows = (row for kind in kinds for row in outbox.first(peer, kind, 1000, 1 << 20))
        return sorted(rows, key=lambda row: row.seq)

    async def result(self, message: str) -> Dissemination:
        return await Results(self.store.implicit).of(message, 0)


@contextlib.asynccontextmanager
async def opened(
    path: Path, changes: Iterable[Change] = (), history: str = HERE, node: str = HERE
) -> AsyncIterator[Stage]:
    """On the way out nothing is ended well: the loop is cut off wherever it is."""
    store, clock = Store.open(path / "tocsin.db"), itertools.count(1_000_000_000)
    registry = LocalRegistry(store.implicit, lambda: Instant(next(clock)))
    if listed := list(changes):
        await registry.change(listed, "operator")
    stage: Stage

    async def tell(copy: Copy) -> None:
        if copy.to in stage.refuses:
            raise stage.refuses[copy.to]
        stage.told.append((copy.to, copy.message.id))
        if stage.stuck:
            await asyncio.Event().wait()

    reports: list[str] = []
    here = Here(node, history, store.implicit.addresses(node))
    shell = Shell(here, store.implicit, registry, tell, lambda: Instant(next(clock)), reports.append)
    life = shell.start()
    stage = Stage(path, store, registry, shell, life, reports=reports)
    missing = [each for each in registry.world().services.values() if each.node == HERE]
    if joining := [Join(Residing(each, "")) for each in missing if each.name not in shell.machines.residing]:
        await shell.take(joining)
    try:
        yield stage
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
        store.close()


def message(number: int = 1, protocol: str = "hin-din", root: str = "N1", reports: str = HERE) -> Message:
    data = Payload("text/plain", b"quake")
    return Message(MessageId(f"urn:message:{number}"), protocol, root, TOPIC, data, Instant(1_000_000_000), reports)


def published(number: int = 1, protocol: str = "hin-din", root: str = "N1", most: int = 100) -> Publish:
    return Publish(message(number, protocol, root), most)


def copied(to: str, number: int = 1, protocol: str = "hin-din", name: str = "") -> Copy:
    """From a notifier of another node, which gathers what became of the message."""
    said = message(number, protocol, "R", THERE)
    return Copy(name or f"copy-{to}-{number}", said, "R", to, 1, (to,) if protocol.startswith("hin") else ())
