"""What leaves for other nodes and for notifiers of others: one sender for each, each with its own patience."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from msgspec import Raw, Struct

from tocsin.app.implicit.machines import decode_copy
from tocsin.app.implicit.turn import Item, Report
from tocsin.delivery.retry import delay, describe, judge
from tocsin.delivery.settings import DeliverySettings
from tocsin.mediation.notifier_messages import notify_request
from tocsin.model.identity import SECOND, Instant, Pairs
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Copy, Granted, Handled, gone
from tocsin.store.errors import StoreError
from tocsin.store.implicit import ImplicitTables, Outgoing
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import (
    MEDIA_TYPE,
    PATH,
    PROOF,
    UNREADABLE,
    Taken,
    WrittenBatch,
    copy_proof,
    decode_taken,
    encode,
    request_proof,
)

MOST_ROWS = 500
MOST_BYTES = 1 << 20  # of a batch; one row alone may have more
AGAIN_AFTER = 0.25  # seconds, when the store failed
Take = Callable[[Sequence[Item]], Awaitable[list[Granted]]]


class Link:
    """Requests to other nodes of the world, proven."""

    def __init__(self, http: HttpClient, key: bytes, now: Callable[[], Instant]) -> None:
        self.http, self.key, self.now = http, key, now

    async def ask(self, method: str, node: str, target: str, body: bytes = b"") -> Answer:
        proof = request_proof(self.key, method, target, self.now(), body)
        return await self.http.request(method, node + target, _headers(proof), body)


class Patience(Struct, frozen=True):
    """How a peer that fails is waited for, and for how many seconds at most."""

    between: DeliverySettings
    longest: float


class Peers:
    """Rows of the outbox go in their order to each peer. A peer that fails is waited for, longer each time, and costs
    the others nothing; at last what is too old for it is given up."""

    def __init__(
        self, link: Link, tables: ImplicitTables, take: Take, patience: Patience, report: Callable[[str], None]
    ) -> None:
        self._link, self._tables, self._take, self._report = link, tables, take, report
        self._patience, self._longest = patience.between, round(patience.longest * SECOND)
        self._random = Random()
        self._more: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        for peer in await asyncio.to_thread(self._tables.peers):
            self.send(peer)

    def send(self, peer: str) -> None:
        """There is something for it. A sender lives only while there is."""
        self._more.add(peer)
        if peer not in self._tasks:
            self._tasks[peer] = asyncio.create_task(self._empty(peer))

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _empty(self, peer: str) -> None:
        try:
            while peer in self._more:
                self._more.discard(peer)
                await self._send_all(peer)
        finally:
            del self._tasks[peer]

    async def _send_all(self, peer: str) -> None:
        attempt = 0
        while True:
            try:
                if not (rows := await self._rows(peer)):
                    return
                attempt = await self._try(peer, rows, attempt + 1)
            except (StoreError, Refusal):  # of our own node; what was sent is sent again
                await asyncio.sleep(AGAIN_AFTER)

    async def _rows(self, peer: str) -> list[Outgoing]:
        return await asyncio.to_thread(self._tables.outgoing, peer, MOST_ROWS, MOST_BYTES)

    async def _try(self, peer: str, rows: list[Outgoing], attempt: int) -> int:
        """How many attempts have failed in a row."""
        foreign = rows[0].kind == "foreign"
        rows = rows[:1] if foreign else rows
        answer = await (self._notify(peer, rows[0]) if foreign else self._post(peer, rows))
        settled = await (self._told if foreign else self._delivered)(rows, answer, attempt)
        if settled:
            return 0
        if attempt == 1:
            self._report(f"{peer} does not take what is for its notifiers: {describe(answer)}; it is tried again")
        await self._give_up(rows)
        await asyncio.sleep(delay(answer, attempt, self._patience, self._random))
        return attempt

    async def _post(self, peer: str, rows: list[Outgoing]) -> Answer:
        bodies = {
            kind: tuple(Raw(row.body) for row in rows if row.kind == kind) for kind in ("copy", "report", "claim")
        }
        batch = encode(WrittenBatch(bodies["copy"], bodies["report"], bodies["claim"]))
        return await self._link.ask("POST", peer, PATH, batch)

    async def _delivered(self, rows: list[Outgoing], answer: Answer, attempt: int) -> bool:
        """Any other answer may heal: a node comes back, a key is put right."""
        del attempt
        try:
            taken = decode_taken(answer.body) if answer.status == 200 else None
        except UNREADABLE:
            taken = None
        if taken is None:
            return False
        if follows := self._follows(rows, taken):
            await self._take(follows)
        await asyncio.to_thread(self._tables.sent, rows)
        return True

    def _follows(self, rows: list[Outgoing], taken: Taken) -> list[Item]:
        absent = set(taken.absent)
        copies = (decode_copy(row.body) for row in rows if absent and row.kind == "copy")
        lost = [_report(copy, gone(copy, self._link.now())) for copy in copies if copy.id in absent]
        return [*lost, *taken.granted]

    async def _notify(self, address: str, row: Outgoing) -> Answer:
        copy = decode_copy(row.body)
        try:
            headers, body = notify_request(copy, copy_proof(self._link.key, copy))
        except Refusal as refusal:
            return Answer(0, error=refusal.text, refused=True)
        return await self._link.http.request("POST", address, headers, body)

    async def _told(self, rows: list[Outgoing], answer: Answer, attempt: int) -> bool:
        """A notifier of others: it reports to nobody, so what is known of it is said here."""
        result = judge(answer, attempt, self._patience)
        if result == "retry":
            return False
        copy, now = decode_copy(rows[0].body), self._link.now()
        handled = Handled(copy.message.id, copy.id, copy.sender, copy.to, copy.hop, now)
        await self._take([_report(copy, handled if result == "delivered" else gone(copy, now))])
        await asyncio.to_thread(self._tables.sent, rows)
        return True

    async def _give_up(self, rows: list[Outgoing]) -> None:
        """Not claims: copies wait for what is granted, however long that takes."""
        now = self._link.now()
        old = [row for row in rows if row.when < now - self._longest and row.kind != "claim"]
        copies = (decode_copy(row.body) for row in old if row.kind in ("copy", "foreign"))
        if lost := [_report(copy, gone(copy, now)) for copy in copies]:
            await self._take(lost)
        if old:
            await asyncio.to_thread(self._tables.sent, old)


def _report(copy: Copy, handled: Handled) -> Report:
    return Report(copy.message.reports, handled)


def _headers(proof: str) -> Pairs:
    return (("Content-Type", MEDIA_TYPE), (PROOF, proof))
