"""What leaves for machines at other nodes: a lane for each peer and kind, each with its own patience, so that what
fails costs the others nothing. A peer that fails is waited for, longer each time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from msgspec import Raw, Struct, field

from tocsin.delivery.retry import delay, describe
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Reason, Refusal
from tocsin.routing.machine import Send
from tocsin.runtime.family import NOWHERE, Family, Place
from tocsin.runtime.turn import Item
from tocsin.store.errors import StoreError
from tocsin.store.machines import LATEST, Letter, MachineTables, Outgoing
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import (
    MEDIA_TYPE,
    PROOF,
    UNREADABLE,
    Batch,
    Taken,
    WireLetter,
    decode_declined,
    decode_taken,
    encode,
    letters_of,
    request_proof,
)


class Link:
    """Requests to other nodes of the world, proven."""

    def __init__(self, http: HttpClient, key: bytes, now: Callable[[], Instant]) -> None:
        self.http, self.key, self.now = http, key, now

    async def ask(self, method: str, node: str, target: str, body: bytes = b"") -> Answer:
        proof = request_proof(self.key, method, target, self.now(), body)
        return await self.http.request(method, node + target, (("Content-Type", MEDIA_TYPE), (PROOF, proof)), body)


MOST_ROWS = 500
MOST_BYTES = 1 << 20  # of a batch; one row alone may have more
AGAIN_AFTER = 0.25  # seconds, when the store failed
ABSENT_TRIES = 4  # it may not be known yet where a machine has gone
UNREADABLE_THERE: tuple[Reason, ...] = ("malformed", "too-large")
Rows = Sequence[Outgoing]
Take = Callable[[Sequence[Item]], Awaitable[list[Any]]]


class Carried(Struct, frozen=True):
    """What came of rows that were to go to a peer: `left` are to be tried again, `lost` never, the others are there.

    `unreadable`: the peer will never take one of these, and does not say which. `items` are what follows from it here.
    """

    answer: Answer
    left: Rows = ()
    lost: Rows = ()
    unreadable: bool = False
    items: Sequence[Item] = ()


class Carrier(Protocol):
    """How the rows of a lane go to a peer, at most `most` at once."""

    most: int

    async def carry(self, peer: str, rows: Rows, attempt: int) -> Carried: ...


class Way(Struct, frozen=True):
    """To other nodes. A peer that fails is waited for, for `longest` seconds in all; lanes that do not lead to nodes
    have carriers of their own."""

    link: Link
    patience: DeliverySettings
    longest: float
    carriers: Mapping[str, Carrier] = field(default_factory=dict)


class NodeCarrier:
    """Many in one request, in the words of `tocsin.wire.peer_messages`."""

    most = MOST_ROWS

    def __init__(self, link: Link, family: str) -> None:
        self._link, self._path = link, letters_of(family)

    async def carry(self, peer: str, rows: Rows, attempt: int) -> Carried:
        """Any other answer may heal: a node comes back, a key is put right; but what a node says it can never read is
        found among the others, and let go."""
        del attempt
        batch = Batch(tuple(WireLetter(row.id, row.to, Raw(row.body)) for row in rows))
        answer = await self._link.ask("POST", peer, self._path, encode(batch))
        if (taken := taken_of(answer)) is not None:
            return Carried(answer, [row for row in rows if row.id and row.id in taken.absent])
        return Carried(answer, rows, unreadable=is_unreadable(answer))


class Peers:
    """A lane lives only while there is something for it."""

    def __init__(
        self,
        way: Way,
        family: Family[Any],
        tables: MachineTables,
        take: Take,
        now: Callable[[], Instant],
        report: Callable[[str], None],
    ) -> None:
        self.way, self.family, self.tables, self.take, self.now, self.report = way, family, tables, take, now, report
        self._to_nodes = NodeCarrier(way.link, tables.family)
        self._more: set[Place] = set()
        self._tasks: dict[Place, asyncio.Task[None]] = {}

    def start(self) -> None:
        for peer, lane in self.tables.outbox.lanes():
            self.send(peer, lane)

    def send(self, peer: str, lane: str) -> None:
        """There is something for it."""
        place = Place(peer, lane)
        self._more.add(place)
        if place not in self._tasks:
            self._tasks[place] = asyncio.create_task(self._empty(place))

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _empty(self, place: Place) -> None:
        try:
            while place in self._more:
                self._more.discard(place)
                await _Lane(place, self.way.carriers.get(place.lane, self._to_nodes), self).empty()
        finally:
            del self._tasks[place]


class _Lane:
    """What is in one lane to one peer, in its order."""

    def __init__(self, place: Place, carrier: Carrier, peers: Peers) -> None:
        self._place, self._carrier, self._peers = place, carrier, peers
        self._outbox, self._patience = peers.tables.outbox, peers.way.patience
        self._random = Random()
        self._failed, self._most = 0, carrier.most

    async def empty(self) -> None:
        while True:
            try:
                if not (rows := await self._rows(self._most)):
                    return
                await self._try(rows)
            except (StoreError, Refusal):  # of our own node; what was sent is sent again
                await asyncio.sleep(AGAIN_AFTER)

    async def _rows(self, limit: int, before: int = LATEST) -> list[Outgoing]:
        return await asyncio.to_thread(self._outbox.first, *self._place, limit, MOST_BYTES, before)

    async def _try(self, rows: Rows) -> None:
        """Who has moved, or was never known, is looked up whenever it could not be told."""
        carried = await self._carry(rows)
        answer, left = carried.answer, await self._settle(rows, carried)
        if any(row.to for row in left):  # else they are reports, which go where they are told to
            left = await self._look_up(left)
        if left and answer.status == 200 and self._failed + 1 >= min(ABSENT_TRIES, self._patience.attempts):
            left = await self._lose(left)
        if left:
            await self._wait(answer)
        elif 200 <= answer.status < 300:  # of one that is dead for good the next is tried once
            self._failed, self._most = 0, min(self._carrier.most, 2 * self._most)

    async def _carry(self, rows: Rows) -> Carried:
        if self._place.peer == NOWHERE:
            return Carried(Answer(0, error="it is not known where that is"), rows)
        return await self._carrier.carry(self._place.peer, rows, self._failed + 1)

    async def _settle(self, rows: Rows, carried: Carried) -> Rows:
        """Those that are left. One that cannot be read is found by halves."""
        if carried.unreadable:
            self._most = max(1, len(rows) // 2)
            return await self._lose(rows) if len(rows) == 1 else ()
        if carried.items:
            await self._peers.take(carried.items)
        if carried.lost:
            await self._lose(carried.lost)
        kept = {row.seq for row in (*carried.left, *carried.lost)}
        await self._sent([row for row in rows if row.seq not in kept])
        return carried.left

    async def _wait(self, answer: Answer) -> None:
        self._failed += 1
        if self._failed == 1 and self._place.peer != NOWHERE:
            title, peer = self._peers.family.title, self._place.peer
            self._peers.report(f"{peer} does not take what is for {title}: {describe(answer)}; it is tried again")
        # All that is too old
        before = self._peers.now() - round(self._peers.way.longest * SECOND)
        while old := await self._rows(MOST_ROWS, before):
            await self._lose(old)
        await asyncio.sleep(delay(answer, self._failed, self._patience, self._random))

    async def _look_up(self, rows: Rows) -> Rows:
        """Those that are still to go to this peer, or of which nothing can be known now."""
        try:
            found = await self._peers.family.look_up(dict.fromkeys(row.to for row in rows))
        except Refusal:
            return rows
        await self._lose([row for row in rows if row.to not in found])
        if moved := [row for row in rows if row.to in found and found[row.to].peer != self._place.peer]:
            await self._peers.take([Send(row.to, self._message(row), row.id) for row in moved])
            await self._sent(moved)
        return [row for row in rows if row.to in found and found[row.to].peer == self._place.peer]

    def _message(self, row: Outgoing) -> Any:
        return self._peers.tables.messages.decode(row.body)

    async def _lose(self, rows: Rows) -> Rows:
        """None of them is left."""
        now = self._peers.now()
        letters = (Letter(row.to, self._message(row), row.id) for row in rows if row.to)
        if lost := [effect for each in letters for effect in self._peers.family.absent(each, now)]:
            await self._peers.take(lost)
        await self._sent(rows)
        return ()

    async def _sent(self, rows: Rows) -> None:
        if rows:
            await asyncio.to_thread(self._outbox.sent, rows)


def taken_of(answer: Answer) -> Taken | None:
    try:
        return decode_taken(answer.body) if answer.status == 200 else None
    except UNREADABLE:
        return None


def is_unreadable(answer: Answer) -> bool:
    """Whether it is a node that says so, and nobody between."""
    try:
        return answer.status in (400, 413) and decode_declined(answer.body).reason in UNREADABLE_THERE
    except UNREADABLE:
        return False
