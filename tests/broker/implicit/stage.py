"""A runtime with notifiers on a real store, without a node around it: what services are told is a list, other nodes are
a script, and a crash is to let it go."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from msgspec import Raw

from tocsin.broker.implicit.family import (
    FOREIGN,
    MESSAGES,
    NAME,
    ForeignCarrier,
    Here,
    Notifiers,
    publication_letter,
    tables_of,
)
from tocsin.broker.implicit.host import Host
from tocsin.broker.implicit.implicit import here_of
from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.broker.implicit.results import Results
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.notification import Payload
from tocsin.routing.implicit.history import CentralHistory
from tocsin.routing.implicit.messages import (
    HISTORY,
    Claim,
    Copy,
    Granted,
    Handled,
    Join,
    Membership,
    Message,
    Publish,
)
from tocsin.routing.implicit.notifier import Notifier
from tocsin.routing.implicit.result import Dissemination
from tocsin.runtime.family import LETTERS, REPORTS
from tocsin.runtime.peers import Link, Way
from tocsin.runtime.questions import Questions
from tocsin.runtime.runtime import Runtime
from tocsin.runtime.turn import Item
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.store.database import Store
from tocsin.store.machines import Letter, MachineTables, Outgoing
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import Batch, Question, WireLetter, decode_batch

HERE, THERE, ELSEWHERE = "http://here", "http://there", "http://elsewhere/soap"
TOPIC = "T"
QUICK = DeliverySettings(attempts=3, first_delay=0.001, longest_delay=0.01)
FAILED = Answer(0, error="nobody there")
BEGIN = 1_000_000_000


class Said:
    """A batch that came to another node."""

    def __init__(self, batch: Batch) -> None:
        letters = [MESSAGES.decode(each.body) for each in batch.letters]
        self.copies = [each for each in letters if isinstance(each, Copy)]
        self.reports = [each for each in letters if isinstance(each, Handled)]
        self.claims = [MESSAGES.decode(each.body) for each in batch.questions]


Says = Callable[[str, Said], Answer]


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
    address = ELSEWHERE if node == ELSEWHERE else f"{node}/notifiers/{name}" if node else ""
    return Service(name, tuple(categories.split(",")), notifier=address, node="" if node == ELSEWHERE else node)


class Scripted(Link):
    """Other nodes, who say nothing while they have no script."""

    def __init__(self, says: Says | None, http: HttpClient, now: Callable[[], Instant]) -> None:
        super().__init__(http, b"", now)
        self._says = says

    async def ask(self, method: str, node: str, target: str, body: bytes = b"") -> Answer:
        if self._says is None:
            await asyncio.Event().wait()
        assert self._says is not None
        return self._says(node, Said(decode_batch(body)))


class Foreign(HttpClient):
    """Somebody else's notifiers, none of whom answers; without an end while other nodes have no script."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__(timeout=1, guard=AddressGuard(loopback_allowed=True))
        self.asked, self._fails = 0, fails

    async def request(self, method: str, url: str, headers: Pairs = (), body: bytes = b"", **more: object) -> Answer:
        self.asked += 1
        if not self._fails:
            await asyncio.Event().wait()
        return FAILED


class Asked(Questions):
    """Claims that were made of a central history elsewhere, until somebody grants them."""

    def __init__(self) -> None:
        self.claims: dict[tuple[MessageId, str], tuple[str, Claim, asyncio.Future[Granted]]] = {}

    async def ask(self, peer: str, of: str, question: Claim) -> Granted:
        assert of == HISTORY
        answer = asyncio.get_running_loop().create_future()
        self.claims[question.message, question.copy] = peer, question, answer
        try:
            granted: Granted = await answer
            return granted
        finally:
            self.claims.pop((question.message, question.copy), None)


class Services:
    """Stands for the node around it; the next service that is told while it is `stuck` is the last thing that
    happens."""

    def __init__(self, node: str) -> None:
        self.base_url = node
        self.told: list[tuple[str, MessageId]] = []
        self.refuses: dict[str, Exception] = {}
        self.stuck = False

    async def tell_service(self, copy: Copy, topic: object, producer: str) -> None:
        del topic, producer
        if copy.to in self.refuses:
            raise self.refuses[copy.to]
        self.told.append((copy.to, copy.message.id))
        if self.stuck:
            await asyncio.Event().wait()


@dataclass
class Stage:
    """`runtime` is one life of it; the store outlasts it."""

    path: Path
    store: Store
    tables: MachineTables
    registry: LocalRegistry
    runtime: Runtime[Any]
    services: Services
    asked: Asked
    foreign: Foreign
    life: "asyncio.Task[None]" = field(init=False)
    reports: list[str] = field(default_factory=list)

    @property
    def told(self) -> list[tuple[str, MessageId]]:
        return self.services.told

    async def take(self, *items: Publish | Copy | Claim | Item) -> list[Any]:
        return await self.runtime.take([_item(each) for each in items])

    async def grant(self, granted: Granted) -> None:
        """The answer to a claim, and what follows from it at once."""
        self.asked.claims[granted.message, granted.copy][2].set_result(granted)
        await self.granted()

    async def granted(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        await self.runtime.take([])

    def claims(self) -> list[tuple[str, Claim]]:
        return [(peer, claim) for peer, claim, _ in self.asked.claims.values()]

    async def settled(self) -> None:
        """Until nothing is left to be stepped."""
        for _ in range(1000):
            await self.runtime.take([])
            if not self.runtime.waits:
                return
        raise TimeoutError("it does not come to an end")

    def outbox(self, peer: str = THERE) -> list[Outgoing]:
        lanes = (LETTERS, REPORTS, FOREIGN)
        rows = (row for lane in lanes for row in self.tables.outbox.first(peer, lane, 1000, 1 << 20))
        return sorted(rows, key=lambda row: row.seq)

    async def result(self, message: str) -> Dissemination:
        return await Results(self.store.implicit).of(message, 0)

    def notifier(self, name: str) -> Notifier:
        found = self.runtime.machines[name]
        assert isinstance(found, Notifier)
        return found

    def history(self) -> CentralHistory:
        found = self.runtime.machines[HISTORY]
        assert isinstance(found, CentralHistory)
        return found


def _item(each: Publish | Copy | Claim | Item) -> Item:
    match each:
        case Publish():
            return publication_letter(each)
        case Copy():
            return Letter(each.to, each, each.id)
        case Claim():
            return Letter(HISTORY, each)
    return each


def batch(*said: Copy | Claim) -> Batch:
    """As another node sends it."""
    copies, claims = ([each for each in said if isinstance(each, kind)] for kind in (Copy, Claim))
    return Batch(
        tuple(WireLetter(each.id, each.to, Raw(MESSAGES.encode(each))) for each in copies if isinstance(each, Copy)),
        tuple(Question(number, HISTORY, Raw(MESSAGES.encode(each))) for number, each in enumerate(claims)),
    )


@contextlib.asynccontextmanager
async def opened(
    path: Path,
    changes: Iterable[Change] = (),
    history: str = HERE,
    node: str = HERE,
    says: Says | None = None,
    longest: float = 1e6,
    begin: int = BEGIN,
) -> AsyncIterator[Stage]:
    """On the way out nothing is ended well: the loop is cut off wherever it is. `says` are the other nodes."""
    store, clock = Store.open(path / "tocsin.db"), itertools.count(begin)
    now = cast(Callable[[], Instant], lambda: next(clock))
    registry = LocalRegistry(store.implicit, now)
    if listed := list(changes):
        await registry.change(listed, "operator")
    services, reports, asked, foreign = Services(node), list[str](), Asked(), Foreign(fails=says is not None)
    link = Scripted(says, foreign, now)
    questions = asked if says is None else Questions(link, NAME, MESSAGES, QUICK, reports.append)
    here: Here = here_of(node, history, store)
    results = Results(store.implicit)
    family = Notifiers(here, cast(Host, services), registry, results, questions, reports.append)
    way, tables = Way(link, QUICK, longest, {FOREIGN: ForeignCarrier(link, QUICK)}), tables_of(store)
    runtime = Runtime(family, tables, now, reports.append, way)
    stage = Stage(path, store, tables, registry, runtime, services, asked, foreign, reports=reports)
    stage.life = runtime.start()
    missing = [each for each in registry.world().services.values() if each.node == HERE]
    if joining := [join(each) for each in missing if each.name not in runtime.machines]:
        await runtime.take(joining)
    try:
        yield stage
    finally:
        stage.life.cancel()
        await asyncio.gather(stage.life, return_exceptions=True)
        await asyncio.gather(runtime.close(), return_exceptions=True)
        await foreign.close()
        store.close()


def join(service: Service) -> Letter:
    return Letter(service.name, Join(Membership(service, "")))


def message(number: int = 1, protocol: str = "hin-din", root: str = "N1", reports: str = HERE) -> Message:
    data = Payload("text/plain", b"quake")
    return Message(MessageId(f"urn:message:{number}"), protocol, root, TOPIC, data, Instant(1_000_000_000), reports)


def published(number: int = 1, protocol: str = "hin-din", root: str = "N1", most: int = 100) -> Publish:
    return Publish(message(number, protocol, root), most)


def copied(to: str, number: int = 1, protocol: str = "hin-din", name: str = "") -> Copy:
    """From a notifier of another node, which gathers what became of the message."""
    said = message(number, protocol, "R", THERE)
    return Copy(name or f"copy-{to}-{number}", said, "R", to, 1, (to,) if protocol.startswith("hin") else ())
