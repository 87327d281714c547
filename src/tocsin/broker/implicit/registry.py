"""The world as this node has it: kept here, with its history, or by another node of which it knows a part."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.services import Changes
from tocsin.runtime.serial import Serial
from tocsin.semantics.interest.changes import CastVote, Change, Changing, PutEdge, PutService, RemoveEdge, RemoveService
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.partition import Entry, Partition, entry_of, part_of
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import World
from tocsin.store.errors import DatabaseFailed, StoreError
from tocsin.store.implicit import ImplicitTables
from tocsin.wire.peer_messages import Registering

ON_RING = "ring:"  # as the node of a notifier: whichever has the key of its name
Spread = Callable[[Changes, str], Awaitable[int] | None]
MOST_PARTS = 100  # that are remembered; the rest is worked out again


class Registry(Protocol):
    """What the notifiers of this node may know."""

    @property
    def topics(self) -> Taxonomy: ...

    def neighbours(self, service: str, topic: str) -> Sequence[str]: ...

    def current(self, service: Service) -> Service:
        """A service of this node as the world has it now."""
        ...

    def entry(self, name: str) -> Entry | None:
        """Where a notifier is that may be told; None when there is none of that name, as far as is known here."""
        ...

    async def find(self, names: Iterable[str]) -> None:
        """Whom a service names by itself, and who need not be among those it tells otherwise; refused if unknown."""
        ...

    async def look_up(self, names: Iterable[str]) -> Mapping[str, Entry]:
        """Where these are now, whatever was known here; who is not among them is nowhere. Refused while whoever keeps
        the world cannot be asked."""
        ...

    async def register(self, asked: Registering) -> None: ...


class LocalRegistry:
    """Changes are tried on a world of their own, written, and only then seen by anybody. `changed` hears of each.
    `spread` makes them where other nodes have the same world, and says None where there are none."""

    def __init__(
        self,
        tables: ImplicitTables,
        now: Callable[[], Instant],
        changed: Callable[[World], Awaitable[None]] | None = None,
        spread: Spread | None = None,
    ) -> None:
        self._tables, self._now, self._on_changed, self._spread = tables, now, changed, spread
        self._changes = Serial()
        self._changed = asyncio.Event()
        self._closing = False
        self._take(_made(tables.changes()))

    def _take(self, world: World) -> None:
        self._world, self._tried = world, _again(world)
        self._shown = world.version  # of the last change that a part may show
        self._parts: dict[str, tuple[int, Partition]] = {}  # what each node was told, and as of which such change

    @property
    def topics(self) -> Taxonomy:
        return self._world.topics

    def neighbours(self, service: str, topic: str) -> Sequence[str]:
        """One that was taken out of the world has none, though its notifier still runs."""
        return self._world.neighbours(service, topic) if service in self._world.services else ()

    def current(self, service: Service) -> Service:
        return self._world.services.get(service.name, service)

    def entry(self, name: str) -> Entry | None:
        found = self._world.services.get(name)
        return None if found is None else entry_of(found)

    async def find(self, names: Iterable[str]) -> None:
        for name in names:
            self._world.service(name)

    async def look_up(self, names: Iterable[str]) -> Mapping[str, Entry]:
        return {name: entry for name in names if (entry := self.entry(name)) is not None}

    def world(self) -> World:
        return self._world

    async def change(self, changes: Changes, by: str) -> int:
        if self._spread is not None and (spreading := self._spread(changes, by)) is not None:
            return await spreading
        return await self.change_here(changes, by)

    async def append(self, changes: Sequence[Changing]) -> int:
        """Made elsewhere, in their order; the version that this world has then. Those it has are passed over. Who made
        them has told of them all who have to hear of it."""
        return await self._changes.do(self._append(changes))

    async def _append(self, changes: Sequence[Changing]) -> int:
        fresh = [each for each in changes if each.version > self._world.version]
        if fresh and fresh[0].version == self._world.version + 1:
            await self._stored(self._keep_all(fresh))
        return self._world.version

    async def replace(self, changes: Sequence[Changing]) -> None:
        """Another world, with its history."""
        await self._changes.do(self._replace(changes))

    async def _replace(self, changes: Sequence[Changing]) -> None:
        world = _made(changes)
        await asyncio.to_thread(self._tables.replace_changes, changes)
        self._take(world)
        self._tell_waiting()

    async def change_here(self, changes: Changes, by: str) -> int:
        """At this node alone."""
        return await self._changes.do(self._change(changes, by))

    async def _change(self, changes: Changes, by: str) -> int:
        if made := changes(self._world) if callable(changes) else changes:
            await self._stored(self._keep(made, by))
            await self.tell_changed()
        return self._world.version

    async def _stored(self, keeping: Coroutine[Any, Any, None]) -> None:
        try:
            await keeping
        except StoreError as problem:
            raise Refusal("cannot-store", f"the change could not be stored, try again: {problem}") from None
        finally:
            if self._tried.version != self._world.version:  # whatever went wrong
                self._tried = _again(self._world)
        self._tell_waiting()

    async def tell_changed(self) -> None:
        if self._on_changed is not None:
            await self._on_changed(self._world)

    async def _keep(self, changes: Sequence[Change], by: str) -> None:
        first, when = self._world.version + 1, self._now()
        await self._keep_all([Changing(number, when, by, change) for number, change in enumerate(changes, first)])

    async def _keep_all(self, rows: Sequence[Changing]) -> None:
        changes = [each.change for each in rows]
        for change in changes:
            self._tried.apply(change)
        await asyncio.to_thread(self._tables.add_changes, rows)
        for change in changes:
            # An edge that counts no more and no less than before is nothing that another node has to hear of
            before = _counted(self._world, change)
            self._world.apply(change)
            if before is None or before != _counted(self._world, change):
                self._shown = self._world.version

    async def history(self, after: int, limit: int) -> Sequence[Changing]:
        return await asyncio.to_thread(self._tables.changes, after, limit)

    async def register(self, asked: Registering) -> None:
        """A name belongs to the node that has its notifier; what the world knew of it otherwise is replaced. Who leaves
        after another took the name leaves that one alone."""
        await self.change(lambda world: _registering(world, asked), asked.by)

    def part(self, node: str) -> Partition:
        """With the version since which it is as it is."""
        as_of, known = self._parts.get(node, (-1, Partition()))
        if as_of != self._shown:
            found = part_of(self._world, [each for each in self._world.services.values() if each.node == node])
            if as_of < 0 or replace(found, version=known.version) != known:
                known = found
            self._parts[node] = self._shown, known
            if len(self._parts) > MOST_PARTS:
                del self._parts[next(iter(self._parts))]
        return known

    async def part_after(self, node: str, version: int, seconds: float) -> Partition | None:
        """What the node may know, as soon as that has another version; None when it has none for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (found := self.part(node)).version == version and not self._closing:
                    await self._changed.wait()
        return None if found.version == version else found

    async def newer(self, version: int, seconds: float) -> None:
        """Waits for a later one, so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._world.version <= version and not self._closing:
                    await self._changed.wait()

    def stop_waiting(self) -> None:
        self._closing = True
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _registering(world: World, asked: Registering) -> Sequence[Change]:
    found, wanted = world.services.get(asked.name), asked.service
    if wanted is None:
        return [RemoveService(asked.name)] if found is not None and _runs_there(found, asked) else []
    if found is not None and found.node not in ("", asked.node, asked.before) and asked.node != ON_RING:
        raise Refusal("in-use", f"the notifier of {asked.name!r} is at {found.node}; remove it there first")
    if asked.before:  # it moves: all else is as the world has it
        wanted = found and replace(found, notifier=wanted.notifier, node=wanted.node)
    return [PutService(wanted)] if wanted is not None and wanted != found else []


def _counted(world: World, change: Change) -> bool | None:
    """Whether messages go along the edge that is changed; None for a change of anything else."""
    match change:
        case PutEdge(Edge(source, topic, target)) | CastVote(source, topic, target) | RemoveEdge(source, topic, target):
            edge = world.edges.get((source, topic, target))
            return edge is not None and world.counts(edge)
    return None


def _runs_there(service: Service, asked: Registering) -> bool:
    """A world that was loaded from a document has the address of the notifier, and not its node."""
    if service.node:
        return asked.node == ON_RING or service.node in (asked.node, asked.before)
    return service.notifier.startswith(f"{asked.node}/")


def _made(history: Iterable[Changing]) -> World:
    world = World()
    for each in history:
        try:
            world.apply(each.change)
        except Refusal as refusal:
            raise DatabaseFailed(f"change {each.version} of the world cannot be made again: {refusal.text}") from None
    return world


def _again(world: World) -> World:
    """The same once more, with the same number of changes behind it."""
    made = World.of(world.changes())
    made.version = world.version
    return made
