"""What the machines of a node remember, on the disks of those who keep copies of it before anything follows from that;
and given to whoever has the machines next."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from tocsin.broker.implicit.family import MESSAGES, ROWS
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import PAUSE, Circle, Unreachable, life_of
from tocsin.broker.ring.messages import GatherMachines, KeepMachines, MachinesKept, MachinesOf
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import key_of
from tocsin.routing.ring.identifiers import within
from tocsin.routing.ring.roster import Member
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import MachineTables, Piece, Writing

PAGE_BYTES = 1 << 20
SECONDS = 30.0
_COPY = "copy "  # with a life, the family of what is kept of it
_KEPT = "ring_machines "  # in the store: of each life the number of the last that is kept of it


def pages(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    """One at least."""
    start = size = 0
    for at, each in enumerate(pieces):
        size += len(each.body) + len(each.key) + len(each.machine)
        if size >= PAGE_BYTES:
            yield tuple(pieces[start : at + 1])
            start, size = at + 1, 0
    yield tuple(pieces[start:])


class MachineCopies:
    """Of this node's machines at those behind it. `seq` counts what was told, and grows over all starts: a copy that
    has missed something is made anew."""

    def __init__(self, circle: Circle, asking: Asking, runtime: Runtime[Any], tables: MachineTables, now: Instant):
        self._circle, self._asking, self._runtime, self._tables = circle, asking, runtime, tables
        self._life, self._keepers = "", tuple[Member, ...]()
        self._have: dict[str, int] = {}  # by the life of a keeper, the last that it has
        self._seq, self._is_out = int(now), False
        self._sent: list[Piece] = []
        self._refreshing: set[asyncio.Task[None]] = set()
        runtime.written = self.written
        tables.outbox.told_sent = self._told_sent

    def chosen(self, life: str, keepers: Sequence[Member]) -> None:
        if life != self._life:
            self._have = {}
        self._life, self._keepers, self._is_out = life, tuple(keepers), False
        lives = {life_of(each) for each in keepers}
        self._have = {name: seq for name, seq in self._have.items() if name in lives}
        if len(self._have) < len(lives):
            self._refresh()

    @property
    def is_level(self) -> bool:
        """Whether all who keep some have what is here."""
        return not self._refreshing and all(self._have.get(life_of(each)) == self._seq for each in self._keepers)

    def put_out(self) -> None:
        """Nobody keeps anything of this node: nothing more may follow from what it does."""
        self._keepers, self._have, self._is_out = (), {}, True

    def begin_again(self) -> None:
        """There are other machines than before, not by any turn."""
        self._have = {}
        self._refresh()

    def _refresh(self) -> None:
        task = asyncio.create_task(self._tell_begun())
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)

    async def close(self) -> None:
        for task in self._refreshing:
            task.cancel()
        await asyncio.gather(*self._refreshing, return_exceptions=True)

    async def _tell_begun(self) -> None:
        async with self._runtime.between_turns():
            await self._tell_all(())

    async def written(self, writing: Writing) -> None:
        """In the order of turns: there is one at a time. Refused where nobody will have it: others go on for this node,
        or it ends and says so the next time."""
        if self._keepers:
            await self._tell_all(self._tables.pieces_of(writing))
        else:
            self._sent = []
        if self._is_out or (self._keepers and self._circle.closing):
            raise Refusal("overloaded", "this node is not in its ring now; try again at another, or a little later")

    def _told_sent(self, pieces: list[Piece]) -> None:
        """Nobody waits for that: what went out is sent again, and known by its id."""
        if self._keepers:
            self._sent += pieces

    async def _tell_all(self, pieces: Sequence[Piece]) -> None:
        sent, self._sent = self._sent, []
        before, self._seq = self._seq, self._seq + 1
        told = (*sent, *pieces)
        await asyncio.gather(*(self._tell(each, before, told) for each in self._keepers))

    async def _tell(self, keeper: Member, before: int, pieces: tuple[Piece, ...]) -> None:
        """Until it is there, or need not be."""
        while keeper in self._keepers and not self._circle.closing:
            try:
                if self._have.get(life_of(keeper)) == before:
                    if not await self._keep(keeper, before, pieces):
                        del self._have[life_of(keeper)]
                        continue
                else:
                    await self._tell_whole(keeper)
                self._have[life_of(keeper)] = self._seq
                return
            except (Unreachable, Refusal):
                await self._circle.until(lambda: keeper not in self._keepers, PAUSE)

    async def _tell_whole(self, keeper: Member) -> None:
        everything = await asyncio.to_thread(self._tables.pieces, _any, outgoing=True)
        found = list(pages(everything))
        for at, page in enumerate(found):
            await self._keep(keeper, -1 if at == 0 else 0, page, whole=at == len(found) - 1)

    async def _keep(self, keeper: Member, before: int, pieces: tuple[Piece, ...], *, whole: bool = True) -> bool:
        asked = KeepMachines(self._circle.number, self._life, before, self._seq if whole else 0, pieces)
        return await self._asking.ask(keeper, asked, bool, SECONDS)


class MachineReplicas:
    """Copies of other nodes' machines at this one, by the lives of those nodes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = asyncio.Lock()

    def _tables(self, life: str) -> MachineTables:
        return self._store.machines(_COPY + life, MESSAGES, ROWS, self._store.implicit)

    def pieces(self, lives: Collection[str], wanted: Callable[[str], bool]) -> list[Piece]:
        """Of those whose life is none of these, as far as the copies are whole."""
        kept = [name[len(_COPY) :] for name in self._tables("").families() if name.startswith(_COPY)]
        over = [life for life in kept if life not in lives and self.last(life)]
        return [piece for life in over for piece in self._tables(life).pieces(wanted, outgoing=False)]

    def last(self, life: str) -> int:
        """0 for none that is whole."""
        return int(self._store.meta(_KEPT + life) or 0)

    async def keep(self, asked: KeepMachines) -> bool:
        """On disk when it is answered; whether it follows on what was there."""
        async with self._lock:
            return await asyncio.to_thread(self._keep, asked)

    def _keep(self, asked: KeepMachines) -> bool:
        tables, last = self._tables(asked.origin), self.last(asked.origin)
        if asked.before < 0:
            self._store.set_meta(_KEPT + asked.origin, "")
            tables.remove()
        elif asked.before != last:
            return False
        tables.apply(asked.pieces)
        if asked.seq:
            self._store.set_meta(_KEPT + asked.origin, str(asked.seq))
        return True

    async def kept(self, asked: MachinesOf) -> MachinesKept:
        return await asyncio.to_thread(self._kept, asked)

    def _kept(self, asked: MachinesOf) -> MachinesKept:
        last = self.last(asked.origin)
        if not last or asked.page < 0:
            return MachinesKept(last)
        return _page(self._tables(asked.origin).pieces(_any, outgoing=True), asked.page, last)

    async def forget(self, life: str) -> None:
        async with self._lock:
            self._store.set_meta(_KEPT + life, "")
            await asyncio.to_thread(self._tables(life).remove)


class Handing:
    """Machines that come to this node, and those that go."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        runtime: Runtime[Any],
        tables: MachineTables,
        copies: MachineCopies,
        replicas: MachineReplicas,
    ) -> None:
        self._circle, self._asking, self._runtime, self._tables = circle, asking, runtime, tables
        self._copies, self._replicas = copies, replicas

    async def give(self, asked: GatherMachines) -> MachinesKept:
        """Who asks has the arc by the roster that both go by: what is stepped here now was the last of these."""
        await self._circle.same(asked.number)
        wanted = _within(asked.after, asked.upto)
        if asked.copies:
            lives = {life_of(each) for each in self._circle.roster.members}
            return _page(await asyncio.to_thread(self._replicas.pieces, lives, wanted), asked.page, 1)
        if not asked.page:
            async with self._runtime.between_turns():
                pass
        found = await asyncio.to_thread(self._tables.pieces, wanted, outgoing=False)
        return _page(found, asked.page, 1)

    async def gather(self, number: int, after: int, upto: int) -> None:
        """Who goes on for another has what that had among its own before it forgets the copy: so the copies come first,
        and nothing is missed."""
        found: list[Piece] = []
        for copies in (True, False):
            for each in self._circle.others():
                page, at = MachinesKept(1, more=True), 0
                while page.more:
                    asked = GatherMachines(number, after, upto, at, copies)
                    page = await self._asking.ask(each, asked, MachinesKept, SECONDS)
                    found += page.pieces
                    at += 1
        await self._take(found)

    async def adopt(self, number: int, origin: str) -> None:
        """From the copy that goes furthest: any that is whole has all that anything followed from."""
        best, last = None, self._replicas.last(origin)
        for each in self._circle.others():
            found = await self._asking.ask(each, MachinesOf(number, origin), MachinesKept, SECONDS)
            if found.last > last:
                best, last = each, found.last
        pieces: list[Piece] = []
        page, at = MachinesKept(last, more=bool(last)), 0
        while page.more:
            asked = MachinesOf(number, origin, at)
            page = (
                await self._replicas.kept(asked)
                if best is None
                else await self._asking.ask(best, asked, MachinesKept, SECONDS)
            )
            pieces += page.pieces
            at += 1
        await self._take(pieces)

    async def _take(self, pieces: Sequence[Piece]) -> None:
        """In place of what there may be of them here from an earlier time."""
        if not pieces:
            return
        names = {each.machine for each in pieces if each.kind in ("row", "taken")}
        async with self._runtime.between_turns() as tables:
            await asyncio.to_thread(tables.remove, names.__contains__)
            await asyncio.to_thread(tables.apply, pieces)
        self._copies.begin_again()

    async def took(self, after: int, upto: int) -> None:
        """Another has the machines of that arc, on its disk and those of its keepers."""
        async with self._runtime.between_turns() as tables:
            await asyncio.to_thread(tables.remove, _within(after, upto))
        self._copies.begin_again()

    async def sweep(self) -> None:
        """What is another's, and was fetched by that from elsewhere."""
        if all(self._circle.is_mine(key_of(name)) for name in self._runtime.machines):
            return
        async with self._runtime.between_turns() as tables:
            await asyncio.to_thread(tables.remove, lambda name: not self._circle.is_mine(key_of(name)))
        self._copies.begin_again()

    async def put_out(self) -> None:
        """Others go on with all there was."""
        self._copies.put_out()
        async with self._runtime.between_turns() as tables:
            await asyncio.to_thread(tables.remove)


def _any(name: str) -> bool:
    del name
    return True


def _within(after: int, upto: int) -> Callable[[str], bool]:
    return lambda name: within(key_of(name), after, upto)


def _page(pieces: Sequence[Piece], number: int, last: int) -> MachinesKept:
    found: Iterable[tuple[Piece, ...]] = pages(pieces)
    for at, each in enumerate(every := list(found)):
        if at == number:
            return MachinesKept(last, each, more=at + 1 < len(every))
    return MachinesKept(last)
