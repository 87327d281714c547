"""Copies of this node's log at the nodes behind it on the circle: what is acknowledged is on their disks too.

A generation of copies begins with the subscriptions that stand, and the records that somebody may still have to be told
of; it goes on with each record once that is on this node's own disk.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.messages import Keep, Kept
from tocsin.model.identity import Instant, Node
from tocsin.model.records import Changed, Position
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.routing.ring.roster import Member
from tocsin.store.codec import encode
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader

MOST_BYTES = 1 << 20  # in one request
MOST_RECENT = 32 << 20  # bytes of records that need not be read from disk
MOST_BEHIND = 256 << 20  # bytes of a generation, after which a new one is begun
AGAIN = 0.2  # seconds
BEAT = 0.25  # seconds after which what was settled is told, when nothing else is
LONGEST_WAIT = 20.0  # seconds that whoever waits for copies does

Place = tuple[int, int]


class Settled(Struct, frozen=True, array_like=True):
    """All below `matched_to` is done with, but for these subscriptions: behind their places."""

    matched_to: int = 0
    lagging: Mapping[str, Place] = {}

    @property
    def first(self) -> int:
        """The first record that may still matter."""
        return min([self.matched_to, *(place[0] for place in self.lagging.values())])


_encode = msgspec.msgpack.Encoder().encode


class Copies:
    """`settled` says what need not be delivered by another; `subscriptions` are those that stand."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        log: Log,
        reader: LogReader,
        settled: Callable[[], Settled],
        subscriptions: Callable[[], Iterable[Subscription]],
        now: Callable[[], Instant],
    ) -> None:
        self.circle, self.asking, self._log, self._reader = circle, asking, log, reader
        self.settled, self._subscriptions, self._now = settled, subscriptions, now
        self._keepers: dict[str, _Keeper] = {}
        self._recent: deque[tuple[int, bytes]] = deque()
        self._recent_bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[int], float]] = deque()
        self.life = ""

    @property
    def is_needed(self) -> bool:
        return bool(self._keepers)

    def keepers(self) -> list[str]:
        return list(self._keepers)

    def chosen(self, life: str, keepers: Sequence[Member]) -> None:
        """Those of the roster by now: what is acknowledged from here on is at all of them."""
        if life != self.life:
            self.life = life
            for keeper in self._keepers.values():
                keeper.stop()
            self._keepers = {}
        for name in self._keepers.keys() - {each.name for each in keepers}:
            self._keepers.pop(name).stop()
        for each in keepers:
            known = self._keepers.get(each.name)
            if known is None or known.member != each:
                if known is not None:
                    known.stop()
                self._keepers[each.name] = _Keeper(each, self)
        self._look()

    def put_out(self) -> None:
        """Nobody keeps any for this node now: what waits for that is not acknowledged."""
        for _, covered, _ in self._waiting:
            if not covered.done():
                covered.set_exception(Refusal("overloaded", "this node was put out of its ring; try again"))
        self._waiting.clear()
        self.chosen("", ())

    @property
    def is_level(self) -> bool:
        """Whether all that is kept elsewhere is as it is here, to the last delivery."""
        return bool(self._keepers) and all(each.is_level for each in self._keepers.values())

    async def caught_up(self) -> None:
        """When all that is on disk now is kept elsewhere too, whatever comes meanwhile."""
        last = self._log.durable - 1
        while not (self._keepers and self._is_kept(last)):  # noqa: ASYNC110 - those who keep it would have to tell
            await asyncio.sleep(AGAIN)

    async def close(self) -> None:
        keepers = list(self._keepers.values())
        for each in keepers:
            each.stop()
        await asyncio.gather(*(each.task for each in keepers), return_exceptions=True)

    # What the journal tells

    def appended(self, offset: int, payloads: Sequence[bytes]) -> None:
        """Remembered until it is on disk, and a little longer: it need not be read back for those who keep it. What is
        appended while nobody keeps any is not told here: what was before that does not go on with this."""
        if self._recent and self._recent[-1][0] + 1 != offset:
            self._recent.clear()
            self._recent_bytes = 0
        for at, payload in enumerate(payloads, offset):
            self._recent.append((at, payload))
            self._recent_bytes += len(payload)
        while self._recent_bytes > MOST_RECENT:
            self._recent_bytes -= len(self._recent.popleft()[1])

    def failed(self) -> None:
        """Their offsets will be given to others."""
        while self._recent and self._recent[-1][0] >= self._log.durable:
            self._recent_bytes -= len(self._recent.pop()[1])

    def durable(self) -> None:
        for each in self._keepers.values():
            each.wake.set()

    def covered(self, stored: "asyncio.Future[int]", last: int) -> "asyncio.Future[int]":
        """Done when that record is on disk here, and wherever it is kept."""
        loop = asyncio.get_running_loop()
        covered: asyncio.Future[int] = loop.create_future()
        stored.add_done_callback(lambda done: self._stored(done, last, covered))
        return covered

    def _stored(self, done: "asyncio.Future[int]", last: int, covered: "asyncio.Future[int]") -> None:
        if covered.done():
            return
        if (problem := done.exception()) is not None:
            covered.set_exception(problem)
        elif self._is_kept(last):
            covered.set_result(done.result())
        else:
            until = asyncio.get_running_loop().time() + LONGEST_WAIT
            covered.add_done_callback(lambda each: each.cancelled() or each.exception())
            self._waiting.append((last, covered, until))

    def _is_kept(self, offset: int) -> bool:
        return all(each.begun and each.next > offset for each in self._keepers.values())

    def _look(self) -> None:
        """Those whose records are wherever they should be, and those who have waited long enough."""
        now = asyncio.get_running_loop().time()
        while self._waiting:
            offset, covered, until = self._waiting[0]
            if covered.done():
                pass
            elif self._is_kept(offset):
                covered.set_result(offset)
            elif now > until:
                slow = [each.member.name for each in self._keepers.values() if each.next <= offset]
                text = f"{', '.join(slow)} did not take a copy in {LONGEST_WAIT:.0f} seconds; try again"
                covered.set_exception(Refusal("overloaded", text))
            else:
                return
            self._waiting.popleft()

    # What a keeper's stream asks for

    def moved(self) -> None:
        self._look()

    def state(self) -> list[bytes]:
        """The subscriptions that stand, as records."""
        at, now = Position(Node(self.circle.me), 0), self._now()
        return [encode(Changed(at, now, each)) for each in self._subscriptions()]

    @property
    def first_kept(self) -> int:
        return self._reader.start()

    @property
    def end(self) -> int:
        return self._log.next_offset

    @property
    def durable_end(self) -> int:
        return self._log.durable

    async def records(self, first: int) -> list[bytes]:
        """As many from there on as go into one request."""
        if self._recent and self._recent[0][0] <= first:
            start = first - self._recent[0][0]
            return _within(payload for at, payload in _from(self._recent, start) if at < self._log.durable)
        return await asyncio.to_thread(self._read, first)

    def _read(self, first: int) -> list[bytes]:
        return _within(payload for _, payload in self._reader.frames(first, self._reader.end()))


def _from(recent: deque[tuple[int, bytes]], start: int) -> Iterable[tuple[int, bytes]]:
    return (recent[at] for at in range(start, len(recent)))


def _within(payloads: Iterable[bytes]) -> list[bytes]:
    found, size = [], 0
    for payload in payloads:
        found.append(payload)
        size += len(payload)
        if size >= MOST_BYTES:
            break
    return found


class _Keeper:
    """The stream to one node that keeps a copy."""

    def __init__(self, member: Member, copies: Copies) -> None:
        self.member, self._copies = member, copies
        self.next, self.begun = -1, False
        self.wake = asyncio.Event()
        self._generation, self._first, self._bytes, self._told = 0, 0, 0, b""
        self._stopped = False
        self.task = asyncio.create_task(self._run())

    @property
    def is_level(self) -> bool:
        copies = self._copies
        return self.begun and self.next >= copies.durable_end and self._told == _encode(copies.settled())

    def stop(self) -> None:
        self._stopped = True
        self.task.cancel()

    async def _run(self) -> None:
        while not self._stopped:
            try:
                if not self.begun or self._is_long():
                    await self._begin()
                await self._go_on()
            except (Unreachable, Refusal):
                self.begun = False
                await asyncio.sleep(AGAIN)
            self._copies.moved()

    def _is_long(self) -> bool:
        """And a new one would be shorter by half: somebody may be behind by much for long."""
        if self._bytes <= MOST_BEHIND or self.next < self._copies.durable_end:
            return False
        return self._copies.settled().first - self._first > (self.next - self._first) / 2

    async def _begin(self) -> None:
        """A generation of its own: what was kept before is thrown away when this one is whole."""
        copies = self._copies
        self._generation += 1
        settled = copies.settled()
        first = max(min(settled.first, copies.durable_end), copies.first_kept)
        state = copies.state()
        while True:
            page = _within(state)
            state = state[len(page) :]
            await self._keep(first, tuple(page), begun=not state)
            if not state:
                break
        self._first = self.next = first
        self.begun, self._bytes = True, 0

    async def _go_on(self) -> None:
        copies = self._copies
        if self.next >= copies.durable_end:
            self.wake.clear()
            try:
                async with asyncio.timeout(BEAT):
                    await self.wake.wait()
            except TimeoutError:
                if _encode(copies.settled()) != self._told:
                    await self._keep(self.next, ())
            return
        payloads = await copies.records(self.next)
        kept = await self._keep(self.next, tuple(payloads))
        self.next = kept.next
        self._bytes += sum(map(len, payloads))
        copies.moved()

    async def _keep(self, first: int, payloads: tuple[bytes, ...], *, begun: bool = True) -> Kept:
        copies = self._copies
        is_state, settled = not self.begun, _encode(copies.settled()) if begun else b""
        keep = Keep(
            copies.circle.number,
            copies.life,
            self._generation,
            -1 - first if is_state else first,
            payloads,
            begun,
            settled,
        )
        kept = await copies.asking.ask(self.member, keep, Kept)
        if kept.generation != self._generation or (not is_state and kept.next < first):
            self._generation = max(self._generation, kept.generation)
            raise Refusal("not-here", "it has to be begun again")
        self._told = settled
        return kept
