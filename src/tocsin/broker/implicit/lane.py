"""One sender: what of one kind is for one peer, in its order. A peer that fails is waited for, longer each time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random

from msgspec import Raw, Struct

from tocsin.broker.implicit.machines import decode_copy
from tocsin.broker.implicit.registry import Registry
from tocsin.broker.implicit.turn import NOWHERE, Item, Report, place_of
from tocsin.delivery.retry import delay, describe, judge
from tocsin.delivery.settings import DeliverySettings
from tocsin.mediation.ws.notifier_messages import notify_request
from tocsin.model.identity import SECOND
from tocsin.model.refusal import Reason, Refusal
from tocsin.routing.implicit.messages import Copy, Forward, Granted, Handled, gone
from tocsin.runtime.link import Link
from tocsin.semantics.interest.partition import Entry
from tocsin.store.errors import StoreError
from tocsin.store.implicit_outbox import Kind, Outbox, Outgoing
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import (
    PATH,
    UNREADABLE,
    Taken,
    WrittenBatch,
    copy_proof,
    decode_declined,
    decode_taken,
    encode,
)

MOST_ROWS = 500
MOST_BYTES = 1 << 20  # of a batch; one row alone may have more
AGAIN_AFTER = 0.25  # seconds, when the store failed
ABSENT_TRIES = 4  # the world may not know yet where a node has gone
UNREADABLE_THERE: tuple[Reason, ...] = ("malformed", "too-large")
Take = Callable[[Sequence[Item]], Awaitable[list[Granted]]]


class Patience(Struct, frozen=True):
    """How a peer that fails is waited for, and for how many seconds at most."""

    between: DeliverySettings
    longest: float


class Means(Struct, frozen=True):
    link: Link
    outbox: Outbox
    registry: Registry
    take: Take
    patience: Patience
    report: Callable[[str], None]


class Lane:
    def __init__(self, peer: str, kind: Kind, means: Means) -> None:
        self._peer, self._kind, self._means = peer, kind, means
        self._outbox, self._now, self._patience = means.outbox, means.link.now, means.patience.between
        self._random = Random()
        self._failed, self._most = 0, MOST_ROWS

    async def empty(self) -> None:
        while True:
            try:
                if not (rows := await self._rows(self._most)):
                    return
                await self._try(rows)
            except (StoreError, Refusal):  # of our own node; what was sent is sent again
                await asyncio.sleep(AGAIN_AFTER)

    async def _rows(self, limit: int, before: int = 2**63 - 1) -> list[Outgoing]:
        return await asyncio.to_thread(self._outbox.first, self._peer, self._kind, limit, MOST_BYTES, before)

    async def _try(self, rows: list[Outgoing]) -> None:
        """Who has moved, or was never known, is looked up whenever it could not be told."""
        rows = rows[:1] if self._kind == "foreign" else rows
        answer = await self._send(rows)
        left = await (self._told if self._kind == "foreign" else self._delivered)(rows, answer)
        if left and self._kind in ("copy", "foreign"):
            left = await self._look_up(left)
        if left and answer.status == 200 and self._failed + 1 >= min(ABSENT_TRIES, self._patience.attempts):
            left = await self._lost(left)
        if left:
            await self._wait(answer)
        elif answer.status == 200:  # of one that is dead for good the next is tried once
            self._failed, self._most = 0, min(MOST_ROWS, 2 * self._most)

    async def _wait(self, answer: Answer) -> None:
        self._failed += 1
        if self._failed == 1 and self._peer != NOWHERE:
            text = f"{self._peer} does not take what is for its notifiers: {describe(answer)}; it is tried again"
            self._means.report(text)
        await self._give_up()
        await asyncio.sleep(delay(answer, self._failed, self._patience, self._random))

    async def _send(self, rows: list[Outgoing]) -> Answer:
        if self._peer == NOWHERE:
            return Answer(0, error="it is not known where that is")
        if self._kind == "foreign":
            return await self._notify(decode_copy(rows[0].body))
        bodies = tuple(Raw(row.body) for row in rows)
        copies, reports, claims = (bodies if self._kind == kind else () for kind in ("copy", "report", "claim"))
        return await self._means.link.ask("POST", self._peer, PATH, encode(WrittenBatch(copies, reports, claims)))

    async def _notify(self, copy: Copy) -> Answer:
        link = self._means.link
        try:
            headers, body = notify_request(copy, copy_proof(link.key, copy))
        except Refusal as refusal:
            return Answer(0, error=refusal.text, refused=True)
        return await link.http.request("POST", self._peer, headers, body)

    async def _delivered(self, rows: list[Outgoing], answer: Answer) -> list[Outgoing]:
        """Those that are left. Any other answer may heal: a node comes back, a key is put right; but what a node says
        it can never read is found among the others, and let go."""
        taken = _taken(answer)
        if taken is not None:
            if taken.granted:
                await self._means.take(taken.granted)
            left = {row.seq: row for row in rows if taken.absent and decode_copy(row.body).id in taken.absent}
            await self._sent([row for row in rows if row.seq not in left])
            return list(left.values())
        if not _never(answer):
            return rows
        self._most = max(1, len(rows) // 2)
        return await self._lost(rows) if len(rows) == 1 else []

    async def _told(self, rows: list[Outgoing], answer: Answer) -> list[Outgoing]:
        """A notifier of others: it reports to nobody, so what is known of it is said here."""
        result = judge(answer, self._failed + 1, self._patience)
        if result == "retry":
            return rows
        if result == "dead":
            return await self._lost(rows)
        copy = decode_copy(rows[0].body)
        handled = Handled(copy.message.id, copy.id, copy.sender, copy.to, copy.hop, self._now())
        await self._means.take([Report(copy.message.reports, handled)])
        await self._sent(rows)
        self._failed = 0
        return []

    async def _look_up(self, rows: list[Outgoing]) -> list[Outgoing]:
        """Those that are still to go to this peer, or of which nothing can be known now."""
        copies = [decode_copy(row.body) for row in rows]
        try:
            found = await self._means.registry.look_up(dict.fromkeys(copy.to for copy in copies))
        except Refusal:
            return rows
        stay = [self._peer == _place(found, copy) != NOWHERE for copy in copies]
        if moved := [self._moved(found, copy) for copy, stays in zip(copies, stay, strict=True) if not stays]:
            await self._means.take(moved)
            await self._sent([row for row, stays in zip(rows, stay, strict=True) if not stays])
        return [row for row, stays in zip(rows, stay, strict=True) if stays]

    def _moved(self, found: Mapping[str, Entry], copy: Copy) -> Item:
        return Forward(copy) if _place(found, copy) else Report(copy.message.reports, gone(copy, self._now()))

    async def _give_up(self) -> None:
        """All that is too old. Not claims: copies wait for what is granted, however long that takes."""
        before = self._now() - round(self._means.patience.longest * SECOND)
        while self._kind != "claim" and (old := await self._rows(MOST_ROWS, before)):
            await self._lost(old)

    async def _lost(self, rows: list[Outgoing]) -> list[Outgoing]:
        """None of them is left."""
        copies = (decode_copy(row.body) for row in rows if row.kind in ("copy", "foreign"))
        if lost := [Report(copy.message.reports, gone(copy, self._now())) for copy in copies]:
            await self._means.take(lost)
        await self._sent(rows)
        return []

    async def _sent(self, rows: list[Outgoing]) -> None:
        if rows:
            await asyncio.to_thread(self._outbox.sent, rows)


def _place(found: Mapping[str, Entry], copy: Copy) -> str:
    return place_of(found.get(copy.to))


def _taken(answer: Answer) -> Taken | None:
    try:
        return decode_taken(answer.body) if answer.status == 200 else None
    except UNREADABLE:
        return None


def _never(answer: Answer) -> bool:
    """Whether it is a node of this world that says so, and nobody between."""
    try:
        return answer.status in (400, 413) and decode_declined(answer.body).reason in UNREADABLE_THERE
    except UNREADABLE:
        return False
