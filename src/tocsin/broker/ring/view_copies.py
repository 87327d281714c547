"""Copies of the views of this node at those who keep copies of its log: a reply that is acknowledged is on their disks
too. They begin with all that is remembered of views, and go on with what changes of it."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.copies import AGAIN, LONGEST_WAIT, Copies
from tocsin.broker.ring.messages import Keep, Kept, OfViews
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member
from tocsin.store.machines import RowBytes, Writing

BEAT = 0.25  # seconds between two looks whether somebody keeps too little
MOST_RECENT = 16 << 20  # bytes of changes; who is further behind is begun with again
MOST_BYTES = 1 << 20  # in one request
MOST_KEPT = 64 << 20  # bytes of changes at one who keeps them, after which it is begun again
_encode = msgspec.msgpack.Encoder().encode
_NOTHING = _encode(())
_decode: Callable[[bytes], list[RowBytes]] = msgspec.msgpack.Decoder(list[RowBytes]).decode


def folded(payloads: Iterable[bytes]) -> dict[str, dict[str, bytes]]:
    """Of each machine its rows, as they were last."""
    found: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for payload in payloads:
        for machine, key, body in _decode(payload):
            if key is None:
                found.pop(machine, None)
            elif body is None:
                found[machine].pop(key, None)
            else:
                found[machine][key] = body
    return dict(found)


class _Keeper:
    def __init__(self, life: str) -> None:
        self.life, self.lock = life, asyncio.Lock()
        self.generation, self.next, self.bytes, self.begun = 0, 0, 0, False


class ViewCopies:
    """`rows` reads all that is on disk, `changes` tells what a writing changed of it."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        copies: Copies,
        rows: Callable[[], Sequence[RowBytes]],
        changes: Callable[[Writing], Sequence[RowBytes]],
    ) -> None:
        self._circle, self._asking, self._copies = circle, asking, copies
        self._rows, self._changes = rows, changes
        self._recent: deque[bytes] = deque()
        self._recent_bytes = 0
        self._end = 0  # the number of the change that comes next
        self._keepers: dict[str, _Keeper] = {}

    def wrote(self, writing: Writing) -> None:
        if not (writing.rows or writing.ended):
            return
        if not self._copies.is_needed:  # who keeps some later begins with all of it
            self._keepers.clear()
        payload = _encode(self._changes(writing)) if self._copies.is_needed else _NOTHING
        self._recent.append(payload)
        self._recent_bytes += len(payload)
        self._end += 1
        while self._recent_bytes > MOST_RECENT:
            self._recent_bytes -= len(self._recent.popleft())

    def kept(self) -> Awaitable[None] | None:
        """Done when all that is on disk here is so wherever it is to be kept; None where it is."""
        return None if all(self._has_all(name) for name in self._copies.keepers()) else self._until_kept()

    async def run(self) -> None:
        """For those who keep copies since lately, and what nobody waits for."""
        while True:
            await asyncio.sleep(BEAT)
            with suppress(Unreachable, Refusal):
                await self._bring_all(self._end)

    def _has_all(self, name: str) -> bool:
        keeper = self._keepers.get(name)
        return keeper is not None and keeper.begun and keeper.life == self._copies.life and keeper.next >= self._end

    async def _until_kept(self) -> None:
        loop, upto = asyncio.get_running_loop(), self._end
        until = loop.time() + LONGEST_WAIT
        while True:
            try:
                return await self._bring_all(upto)
            except (Unreachable, Refusal) as problem:
                if loop.time() > until or self._circle.closing:
                    raise Refusal("overloaded", f"no copy of it was taken in time: {problem}; try again") from None
            await asyncio.sleep(AGAIN)

    async def _bring_all(self, upto: int) -> None:
        names = self._copies.keepers()
        for name in self._keepers.keys() - set(names):
            del self._keepers[name]
        members = (self._circle.roster.get(name) for name in names)
        await asyncio.gather(*(self._bring(each, upto) for each in members if each is not None))

    async def _bring(self, member: Member, upto: int) -> None:
        keeper = self._keepers.get(member.name)
        if keeper is None or keeper.life != self._copies.life:
            keeper = self._keepers[member.name] = _Keeper(self._copies.life)
        async with keeper.lock:
            while not keeper.begun or keeper.next < upto:
                first = self._end - len(self._recent)
                if not keeper.begun or keeper.next < first or keeper.bytes > MOST_KEPT:
                    await self._begin(member, keeper)
                else:
                    await self._go_on(member, keeper, _within(self._recent, keeper.next - first))

    async def _begin(self, member: Member, keeper: _Keeper) -> None:
        """What changes while the rows are read is told once more."""
        keeper.generation, keeper.begun, end = keeper.generation + 1, False, self._end
        rows = await asyncio.to_thread(self._rows)
        pages = [rows[at : at + 1000] for at in range(0, len(rows), 1000)] or [[]]
        for number, page in enumerate(pages, 1):
            await self._keep(member, keeper, -1 - end, (_encode(page),), begun=number == len(pages))
        keeper.next, keeper.bytes, keeper.begun = end, 0, True

    async def _go_on(self, member: Member, keeper: _Keeper, payloads: tuple[bytes, ...]) -> None:
        kept = await self._keep(member, keeper, keeper.next, payloads)
        keeper.next = kept.next
        keeper.bytes += sum(map(len, payloads))

    async def _keep(
        self, member: Member, keeper: _Keeper, first: int, payloads: tuple[bytes, ...], *, begun: bool = True
    ) -> Kept:
        keep = Keep(self._circle.number, keeper.life, keeper.generation, first, payloads, begun)
        kept = await self._asking.ask(member, OfViews(keep), Kept)
        if kept.generation != keeper.generation or (first >= 0 and kept.next < first):
            keeper.generation, keeper.begun = max(keeper.generation, kept.generation), False
            raise Refusal("not-here", "it has to be begun again")
        return kept


def _within(recent: deque[bytes], start: int) -> tuple[bytes, ...]:
    """As many as go into one request."""
    found, size = list[bytes](), 0
    while start < len(recent) and size < MOST_BYTES:
        found.append(recent[start])
        size, start = size + len(recent[start]), start + 1
    return tuple(found)


def rows_in(payloads: Iterable[bytes], read: Callable[[bytes], object]) -> Iterable[tuple[str, Mapping[str, object]]]:
    return ((name, {key: read(body) for key, body in rows.items()}) for name, rows in folded(payloads).items())
