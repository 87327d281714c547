"""The world as this node has it: kept here, with its history, or by another node of which it knows a part."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from tocsin.app.implicit.one_by_one import OneByOne
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.changes import Change, Changing, PutService, RemoveService
from tocsin.semantics.part import Entry, Part, entry_of, part_of
from tocsin.semantics.service import Service
from tocsin.semantics.taxonomy import Taxonomy
from tocsin.semantics.world import World
from tocsin.store.errors import DatabaseFailed, StoreError
from tocsin.store.implicit import ImplicitTables
from tocsin.wire.peer_messages import Registering


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

    async def register(self, asked: Registering) -> None: ...


class LocalRegistry:
    """Changes are tried on a world of their own, written, and only then seen by anybody."""

    def __init__(self, tables: ImplicitTables, now: Callable[[], Instant]) -> None:
        self._tables, self._now = tables, now
        self._changes = OneByOne()
        self._changed = asyncio.Event()
        self._closing = False
        self._world = _remade(tables.changes())
        self._tried = _again(self._world)

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
        self.entries(names)

    def entries(self, names: Iterable[str]) -> dict[str, Entry]:
        return {name: entry_of(self._world.service(name)) for name in names}

    def world(self) -> World:
        return self._world

    async def change(self, changes: Sequence[Change], by: str) -> int:
        return await self._changes.do(self._change(changes, by))

    async def _change(self, changes: Sequence[Change], by: str) -> int:
        try:
            self._try(changes)
            first, when = self._world.version + 1, self._now()
            rows = [Changing(number, when, by, change) for number, change in enumerate(changes, first)]
            await asyncio.to_thread(self._tables.add_changes, rows)
        except StoreError as problem:
            self._tried = _again(self._world)
            raise Refusal("cannot-store", f"the change could not be stored, try again: {problem}") from None
        for change in changes:
            self._world.apply(change)
        self._tell_waiting()
        return self._world.version

    def _try(self, changes: Sequence[Change]) -> None:
        for number, change in enumerate(changes):
            try:
                self._tried.apply(change)
            except Refusal:
                if number:
                    self._tried = _again(self._world)
                raise

    async def history(self, after: int, limit: int) -> Sequence[Changing]:
        return await asyncio.to_thread(self._tables.changes, after, limit)

    async def register(self, asked: Registering) -> None:
        """A name belongs to the node that has its notifier; what the world knew of it otherwise is replaced."""
        await self._changes.do(self._register(asked))

    async def _register(self, asked: Registering) -> None:
        found = self._world.services.get(asked.name)
        if found is not None and found.node not in ("", asked.node, asked.before):
            raise Refusal("in-use", f"the notifier of {asked.name!r} is at {found.node}; remove it there first")
        wanted = asked.service
        if wanted is not None and asked.before:  # it moves: all else is as the world has it
            wanted = found and replace(found, notifier=wanted.notifier, node=wanted.node)
        if wanted is not None and wanted != found:
            await self._change([PutService(wanted)], asked.by)
        elif asked.service is None and found is not None:
            await self._change([RemoveService(asked.name)], asked.by)

    def part(self, node: str) -> Part:
        return part_of(self._world, [each for each in self._world.services.values() if each.node == node])

    async def part_after(self, node: str, version: int, seconds: float) -> Part | None:
        """What the node may know, as soon as the world has another version; None when it has none for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._world.version == version and not self._closing:
                    await self._changed.wait()
        return None if self._world.version == version else self.part(node)

    def stop_waiting(self) -> None:
        self._closing = True
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _remade(history: Iterable[Changing]) -> World:
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
