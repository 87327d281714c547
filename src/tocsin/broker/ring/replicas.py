"""Copies of other nodes' logs at this one: taken while they live, given to whoever goes on for one that is no more."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from urllib.parse import quote, unquote

import msgspec

from tocsin.broker.ring.copies import Settled
from tocsin.broker.ring.messages import Copy, Keep, Kept
from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.store.codec import decode, is_change
from tocsin.store.errors import CannotAppend
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader

SEGMENT = 16 << 20
PAGE_BYTES = 1 << 20
WRITE_SECONDS = 0.2  # below the beat at which an origin that is at rest tells it once more
_settled = msgspec.msgpack.Decoder(Settled).decode


class _Replica:
    """One generation of the copies of one log. The first records are the subscriptions that stood; where those end and
    at which offset of the origin's log the others begin stands in a file of its own, written when they are whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generation = int(folder.name.rpartition(".")[2])
        self.log = Log.open(folder, segment_bytes=SEGMENT)
        self.state, self.first = self._bounds()
        self._file = folder / "settled"
        self._settled, self._written, self._written_at = b"", b"", 0.0

    @property
    def is_whole(self) -> bool:
        return self.state >= 0

    @property
    def next(self) -> int:
        """The offset of the origin's log of which a record comes next."""
        return self.first + self.log.durable - self.state if self.is_whole else -1

    def begun(self, first: int) -> None:
        self.state, self.first = self.log.durable, first
        self._write("begun", msgspec.msgpack.encode((self.state, self.first)))

    def settle(self, settled: bytes) -> None:
        """Nothing is lost by an older one but the time of those who are told again: not each is written."""
        self._settled = settled
        if monotonic() - self._written_at >= WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        if self._settled != self._written:
            with suppress(OSError):
                self._file.write_bytes(self._settled)
            self._written, self._written_at = self._settled, monotonic()

    def settled(self) -> Settled:
        try:
            return _settled(self._settled or self._file.read_bytes())
        except (OSError, msgspec.MsgspecError):
            return Settled(self.first, {})

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Subscriptions have offsets below those of the others."""
        reader = LogReader(self.folder)
        try:
            for at, payload in reader.frames(0, reader.end()):
                yield self.first + at - self.state, payload
        finally:
            reader.close()

    def _bounds(self) -> tuple[int, int]:
        try:
            state, first = msgspec.msgpack.decode((self.folder / "begun").read_bytes(), type=tuple[int, int])
        except (OSError, msgspec.MsgspecError):
            return -1, -1
        return state, first

    def _write(self, name: str, content: bytes) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.write_bytes(content)
        fresh.rename(self.folder / name)


class Replicas:
    """In folders of their own, by origin and generation. A generation that is whole takes the place of the former.
    What is kept `beside` of the same nodes is forgotten with it."""

    def __init__(self, folder: Path, beside: "Replicas | None" = None) -> None:
        self._folder, self._beside = folder, beside
        self._by_origin: dict[str, _Replica] = {}
        self._beginning: dict[str, _Replica] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        for each in sorted(folder.glob("*.*")) if folder.is_dir() else ():
            self._open(each)

    def origins(self) -> list[str]:
        return list(self._by_origin)

    async def close(self) -> None:
        for each in (*self._by_origin.values(), *self._beginning.values()):
            each.write()
            await each.log.close()

    async def keep(self, asked: Keep) -> Kept:
        """On disk when it is answered."""
        async with self._locks.setdefault(asked.origin, asyncio.Lock()):
            return await (self._begin(asked) if asked.first < 0 else self._go_on(asked))

    async def _go_on(self, asked: Keep) -> Kept:
        replica = self._by_origin.get(asked.origin)
        if replica is None or replica.generation != asked.generation or replica.next < asked.first:
            return Kept(-1 if replica is None else replica.generation, -1)
        payloads = asked.payloads[replica.next - asked.first :]
        await self._append(replica, payloads)
        if asked.settled:
            replica.settle(asked.settled)
        return Kept(replica.generation, replica.next)

    async def _begin(self, asked: Keep) -> Kept:
        known, beginning = self._by_origin.get(asked.origin), self._beginning.get(asked.origin)
        if known is not None and known.generation >= asked.generation:
            return Kept(known.generation, -1)
        if beginning is None or beginning.generation != asked.generation:
            if beginning is not None:
                await self._remove(beginning)
            folder = self._folder / f"{quote(asked.origin, safe='')}.{asked.generation}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            beginning = self._beginning[asked.origin] = _Replica(folder)
        await self._append(beginning, asked.payloads)
        if asked.begun:
            beginning.begun(-1 - asked.first)
            beginning.settle(asked.settled)
            self._by_origin[asked.origin] = self._beginning.pop(asked.origin)
            if known is not None:
                await self._remove(known)
        return Kept(asked.generation, beginning.next)

    async def _append(self, replica: _Replica, payloads: tuple[bytes, ...]) -> None:
        if payloads:
            try:
                await replica.log.append_all(payloads)
            except CannotAppend as problem:
                raise Refusal("cannot-store", f"a copy could not be stored: {problem}") from None

    async def forget(self, origin: str) -> None:
        if self._beside is not None:
            await self._beside.forget(origin)
        if (replica := self._by_origin.pop(origin, None)) is not None:
            await self._remove(replica)

    async def _remove(self, replica: _Replica) -> None:
        await replica.log.close()
        await asyncio.to_thread(shutil.rmtree, replica.folder, True)

    def _open(self, folder: Path) -> None:
        replica, origin = _Replica(folder), unquote(folder.name.rpartition(".")[0])
        known = self._by_origin.get(origin)
        if not replica.is_whole or (known is not None and known.generation > replica.generation):
            shutil.rmtree(folder, ignore_errors=True)
            return
        if known is not None:
            shutil.rmtree(known.folder, ignore_errors=True)
        self._by_origin[origin] = replica

    # What is done with them

    def next(self, origin: str) -> int:
        replica = self._by_origin.get(origin)
        return -1 if replica is None else replica.next

    def copy(self, origin: str, first: int) -> Copy:
        """A page of it, from the record that has that number in the copy; -1 asks for nothing but how far it goes."""
        replica = self._by_origin.get(origin)
        if replica is None:
            return Copy(-1)
        found, size, more = [], 0, False
        if first >= 0:
            reader = LogReader(replica.folder)
            for _, payload in reader.frames(first, reader.end()):
                if size >= PAGE_BYTES:
                    more = True
                    break
                found.append(payload)
                size += len(payload)
            reader.close()
        settled = msgspec.msgpack.encode(replica.settled())
        return Copy(replica.next, settled, tuple(found), more)

    def subscriptions(self, origin: str) -> dict[SubscriptionId, Subscription]:
        """As they stood last."""
        replica = self._by_origin.get(origin)
        return {} if replica is None else standing_in(payload for _, payload in replica.records())


def standing_in(payloads: Iterator[bytes]) -> dict[SubscriptionId, Subscription]:
    found: dict[SubscriptionId, Subscription] = {}
    for payload in payloads:
        if is_change(payload) and isinstance(record := decode(payload), Changed):
            known = found.get(record.subscription.id)
            if known is None or known.version <= record.subscription.version:
                found[record.subscription.id] = record.subscription
    return found
