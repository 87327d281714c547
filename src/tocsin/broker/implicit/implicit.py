"""Implicit notification in a node: the world as it is seen from here, the notifiers that run here, their results."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tocsin.broker.caller import Caller
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
from tocsin.broker.implicit.local_notifiers import LocalNotifiers
from tocsin.broker.implicit.on_ring import LETTERS_ON_RING, REPORTS_ON_RING, OnRing
from tocsin.broker.implicit.peer_side import PeerSide
from tocsin.broker.implicit.registry import LocalRegistry, Spread
from tocsin.broker.implicit.remote_registry import RemoteRegistry
from tocsin.broker.implicit.results import Results
from tocsin.broker.implicit.world_rights import allowed
from tocsin.broker.reply.family import NAME as REPLIES
from tocsin.broker.reply.harvests import Harvests
from tocsin.broker.settings import ImplicitSettings
from tocsin.delivery.settings import DeliverySettings
from tocsin.flow.addressing import check_event_for_service
from tocsin.model.identity import SECOND, Instant, MessageId
from tocsin.model.names import Topic
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Copy, Membership, Message, Publication, Publish, publication
from tocsin.routing.implicit.protocols import DIRECT, PROTOCOLS, protocol
from tocsin.routing.implicit.result import Dissemination
from tocsin.routing.implicit.services import Changes, Published, Running
from tocsin.routing.machine import Expire, Send
from tocsin.runtime.peers import Carrier, Link, Way
from tocsin.runtime.questions import Questions
from tocsin.runtime.runtime import Runtime
from tocsin.semantics.interest.changes import Change, Changing
from tocsin.semantics.interest.ino import Service, topic_of
from tocsin.semantics.interest.world import World
from tocsin.store.database import Store
from tocsin.store.machines import Letter
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import copy_proof

FORGET_SECONDS = 60.0
FOLLOW_SECONDS, AGAIN_SECONDS = 5.0, 0.05


class Means(Struct, frozen=True):
    """What it works with; `patience` is that with other nodes, `report` tells an operator, and `world_changed` hears of
    the world where it is kept: first at the start, then after each change. `ring` is that which this node shares with
    others, if it does, and `spread` makes changes of the world there."""

    store: Store
    http: HttpClient
    key: bytes
    patience: DeliverySettings
    report: Callable[[str], None]
    world_changed: Callable[[World], Awaitable[None]]
    harvests: Harvests
    ring: Callable[[], OnRing | None] = lambda: None
    spread: Spread | None = None


class Implicit:
    """`by` is who asks where nobody has to show it, else it is the caller. `peer_side` is for other nodes."""

    def __init__(self, host: Host, asked: ImplicitSettings, means: Means) -> None:
        self._host, self._asked, self._key = host, asked, means.key
        self._keeper = asked.registry or host.base_url
        here = here_of(host.base_url, asked.history or self._keeper, means.store)
        link = Link(means.http, means.key, host.now)
        self._registry = self._make_registry(link, means)
        self._ring = means.ring
        self._results = Results(means.store.implicit)
        self._questions = Questions(link, NAME, MESSAGES, means.patience, means.report)
        self._family = Notifiers(here, host, self._registry, self._results, self._questions, means.report, means.ring)
        self._lanes: dict[str, Carrier] = {FOREIGN: ForeignCarrier(link, means.patience)}
        way = Way(link, means.patience, asked.retention, self._lanes)
        self._runtime = Runtime(self._family, tables_of(means.store), host.now, means.report, way)
        self._local = LocalNotifiers(host, self._registry, self._runtime, means.report, means.ring)
        runtimes: dict[str, Runtime[Any]] = {NAME: self._runtime, REPLIES: means.harvests.runtime}
        self._harvests = means.harvests
        self._following: set[asyncio.Task[None]] = set()
        self.peer_side = PeerSide(host.base_url, means.key, host.body_limit, runtimes, self.kept, host.now)

    def _make_registry(self, link: Link, means: Means) -> LocalRegistry | RemoteRegistry:
        tables, base = means.store.implicit, self._host.base_url
        if self._keeper == base:
            return LocalRegistry(tables, self._host.now, means.world_changed, means.spread)
        return RemoteRegistry(self._keeper, base, link, tables, means.patience, means.report)

    def by_ring(self, carrier: Carrier) -> None:
        """What is for whoever has a key goes by that."""
        self._lanes |= dict.fromkeys((LETTERS_ON_RING, REPORTS_ON_RING), carrier)

    @property
    def runtime(self) -> Runtime[Any]:
        return self._runtime

    @property
    def kept(self) -> LocalRegistry | None:
        """The world, where it is kept here."""
        return self._registry if isinstance(self._registry, LocalRegistry) else None

    async def results(self, message: str, seconds: float) -> Dissemination:
        return await self._results.of(message, seconds)

    async def start(self) -> None:
        self._runtime.start()
        if isinstance(self._registry, RemoteRegistry):
            self._registry.start()
        else:
            await self._registry.tell_changed()
        self._local.start()
        for view, message in self._harvests.spreading():
            self._follow(view, message)

    def stop_waiting(self) -> None:
        """Those who wait at a door go home before it is shut."""
        self._results.stop_waiting()
        if isinstance(self._registry, LocalRegistry):
            self._registry.stop_waiting()

    async def close(self) -> None:
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        await self._local.close()
        if isinstance(self._registry, RemoteRegistry):
            await self._registry.close()
        await self._runtime.close()
        await self._questions.close()

    async def forget(self) -> None:
        retention = round(self._asked.retention * SECOND)
        await self._runtime.take([Expire(Instant(self._host.now() - retention))])

    def figures(self) -> dict[str, Any]:
        handled, waiting = self._runtime.handled.total(), self._runtime.figures()
        return {"notifiers": len(self._local.all()), "handled": handled, "waiting": waiting}

    def changed(self, change: Changed) -> None:
        """Of a subscription: that of a service may have ended."""
        if change.subscription.state == "ended":
            self._local.has_ended(change.subscription)

    def world(self, caller: Caller) -> World:
        """As it stands, to read. Refused where another node keeps it."""
        caller.anybody()
        return self._world().world()

    def topic(self, label: str) -> Topic:
        """Of a topic of the world its path, which every node knows."""
        self._registry.topics.check(label)
        return topic_of(self._registry.topics, label)

    async def change_world(self, caller: Caller, changes: Changes, by: str) -> int:
        """All of them or none; returns the version when it is on disk. What depends on the world as it is asks for it:
        nobody else changes it between that look and the change."""

        def ours(world: World) -> Sequence[Change]:
            return allowed(caller, world, changes(world) if callable(changes) else changes)

        return await self._world().change(ours, caller.name or by)

    async def world_history(self, caller: Caller, after: int, limit: int) -> Sequence[Changing]:
        caller.anybody()
        return await self._world().history(after, limit)

    async def create_notifier(self, caller: Caller, service: Service, by: str, owner: str = "") -> Running:
        """Registers the service under its categories, with a notifier of this node; returns when it can be called.

        `owner` is whose the service's subscription is, who therefore fetches from it; by default it is who asks.
        """
        caller.must_manage_everything("create notifiers")
        if caller.principal is not None and owner and caller.users(owner) is None:
            raise Refusal("unknown-name", f"there is no user {owner[:80]!r} to own it; `tocsin users add` makes one")
        by = caller.name or by
        await self._local.create(service, by, owner or by)
        return self.notifier(caller, service.name)

    async def remove_notifier(self, caller: Caller, name: str, by: str) -> None:
        caller.must_manage_everything("remove notifiers")
        await self._local.remove(name, caller.name or by)

    def notifier(self, caller: Caller, name: str) -> Running:
        caller.anybody()
        return self._running(self._local.get(name))

    def notifiers(self, caller: Caller) -> Sequence[Running]:
        """Those of this node, by name."""
        caller.anybody()
        return [self._running(each) for _, each in sorted(self._local.all().items())]

    async def publish_through(self, caller: Caller, notifier: str, asked: Published) -> MessageId:
        """Returns when the message and all copies it causes at its root are on disk. What is published again with the
        same id is the same message, and changes nothing."""
        self._must_publish(caller, asked.topic)
        self._check(notifier, asked.protocol)
        if asked.protocol == DIRECT.name and not asked.only:
            ways = ", ".join(PROTOCOLS)
            text = f"`direct` tells those that `only` names, and nobody is named; name some, or choose one of {ways}"
            raise Refusal("malformed", text)
        self._registry.topics.check(asked.topic)
        await self._registry.find(asked.only or ())
        made = Message(
            asked.id or MessageId(uuid.uuid4().urn),
            asked.protocol,
            notifier,
            asked.topic,
            asked.data,
            self._host.now(),
            self._host.base_url,
            asked.attributes,
        )
        if asked.reply is not None:
            made = await self._asking_for_replies(caller, made, asked.reply)
        self._check_told(made)
        await self._announce(made)
        await self._runtime.take([publication_letter(Publish(made, self._most(asked.limit), asked.only))])
        return made.id

    async def _announce(self, message: Message) -> None:
        """Else a report could come before anybody knows what of."""
        if (ring := self._ring()) is not None:
            await ring.announce(publication(message))

    def view_of(self, message: str) -> str:
        """Of a message that asks for replies, the view of them."""
        return self._harvests.asking.view_of_message(message)

    async def _asking_for_replies(self, caller: Caller, message: Message, asked: tuple[str, str]) -> Message:
        asking, view = self._harvests.asking, self.view_of(message.id)
        request = asking.begun(asked, view, message.when)
        await self._harvests.begin(caller, request, message.id, message.topic)
        self._follow(view, message.id)
        return replace(message, attributes=(*message.attributes, *asking.for_notifiers(request)))

    def _follow(self, view: str, message: str) -> None:
        task = asyncio.create_task(self._tell_reached(view, message))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _tell_reached(self, view: str, message: str) -> None:
        """Whoever the message reaches can reply, until nobody more is reached."""
        complete = False
        while not complete:
            try:
                found = await self._outcome(message, FOLLOW_SECONDS)
            except Refusal:  # it is just being published
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            complete = found.complete
            self._harvests.reached(view, len(found.receivers), complete=complete)

    async def _outcome(self, message: str, seconds: float) -> Dissemination:
        ring = self._ring()
        return await (self._results.of(message, seconds) if ring is None else ring.outcome(message, seconds))

    async def notify(self, caller: Caller, copy: Copy) -> None:
        """A copy whose proof was checked, or a stranger's as a message of its own; returns when it is on disk. What has
        no sender begins here, and this notifier's service is the first to be told."""
        self._must_publish(caller, copy.message.topic)
        self._check(copy.to, copy.message.protocol)
        if copy.sender:
            await self._runtime.take([Letter(copy.to, copy, copy.id)])
        else:
            self._registry.topics.check(copy.message.topic)
            begun = replace(copy.message, root=copy.to, reports=self._host.base_url)
            self._check_told(begun)
            await self._announce(begun)
            await self._runtime.take([publication_letter(Publish(begun, self._most(None), own=True))])

    async def pass_on(self, caller: Caller, copies: Sequence[Copy]) -> None:
        """Copies whose root may be elsewhere, each to where its receiver is told; all of them are on disk, or none."""
        caller.must_manage_everything("pass on what others say")
        for copy in copies:
            protocol(copy.message.protocol)
        for message in {copy.message.id: copy.message for copy in copies}.values():
            self._check_told(message)
        await self._registry.find(copy.to for copy in copies)
        await self._runtime.take(
            [(Letter if self._local.has(copy.to) else Send)(copy.to, copy, copy.id) for copy in copies]
        )

    def proof(self, caller: Caller, copy: Copy) -> str:
        """What shows that a node of this world made the copy."""
        caller.must_manage_everything("sign for the nodes of this world")
        return copy_proof(self._key, copy)

    async def dissemination(self, caller: Caller, message: str, seconds: float = 0.0) -> Dissemination:
        """Of a message that was published through a notifier of this node; waits so long for its end."""
        await self.publication(caller, message)
        return await self._results.of(message, seconds)

    async def publication(self, caller: Caller, message: str) -> tuple[MessageId, str, str, str]:
        """Id, root, topic and protocol. Who may publish under a topic may know what became of it."""
        found = _said(await self._results.publication(message))
        if not self._may_know(caller, found[2]):
            raise caller.may_not(f"know what became of messages of the topic {found[2]!r}")
        return found

    async def disseminations(self, caller: Caller, limit: int) -> Sequence[tuple[MessageId, str, str, str]]:
        """The latest: id, root, topic, protocol."""
        return [row for row in map(_said, await self._results.latest(limit)) if self._may_know(caller, row[2])]

    def _must_publish(self, caller: Caller, label: str) -> None:
        if caller.principal is not None:
            caller.must_publish(self.topic(label))

    def _may_know(self, caller: Caller, label: str) -> bool:
        """A topic that was taken out of the world is known to who manages everything."""
        try:
            return caller.manages_everything() or caller.may_publish(self.topic(label))
        except Refusal:
            return False

    def _check_told(self, message: Message) -> None:
        check_event_for_service(message, *self._family.described(message))

    def _check(self, notifier: str, protocol_name: str) -> None:
        self._local.get(notifier)
        protocol(protocol_name)

    def _most(self, limit: int | None) -> int:
        most = self._asked.limit
        if limit is not None and not 1 <= limit <= most:
            raise Refusal("malformed", f"a limit is from 1 to {most} here, not {limit}")
        return limit or most

    def _running(self, member: Membership) -> Running:
        service = self._registry.current(member.service)
        handled, remembered = self._runtime.handled[service.name], self._local.remembered(service.name)
        return Running(service, member.subscription, handled, remembered)

    def _world(self) -> LocalRegistry:
        if isinstance(self._registry, RemoteRegistry):
            raise Refusal("not-here", f"the world is kept by {self._keeper}; ask there")
        return self._registry


def here_of(node: str, history: str, store: Store) -> Here:
    before = store.implicit.addresses(node)
    published = (each.id for each in store.implicit.publications(-1)) if before else ()
    return Here(node, history, before, frozenset(published))


def _said(publication: Publication) -> tuple[MessageId, str, str, str]:
    return publication.id, publication.root, publication.topic, publication.protocol
