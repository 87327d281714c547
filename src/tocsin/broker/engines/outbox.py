"""The Spark engine, seen from the node: it accepts and sends; what is between comes back through the outbox."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from tocsin.broker.engines.settlement import Waits, made_before, refuse, turn
from tocsin.broker.journal import Follower
from tocsin.broker.reply.harvests import Harvests
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import Entry, Place, weight_of
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Changed, Position
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.outbox import Outbox, Row

POLL_SECONDS = 0.02
ROWS = 1000


class Forwarding(Protocol):
    """What a node that shares its log has put there, of each of its own."""

    forwarded: dict[str, int]

    def behind(self) -> int: ...


class OutboxEngine:
    """Places are row ids of the outbox: they only grow, and are the order of sending."""

    def __init__(
        self,
        store: Store,
        outbox: Outbox,
        deliverer: Deliverer,
        lifetime: float | None = None,
        forwarding: Forwarding | None = None,
        harvests: Harvests | None = None,
    ) -> None:
        self._store, self.outbox, self.deliverer, self._lifetime = store, outbox, deliverer, lifetime
        self._forwarding, self._harvests = forwarding, harvests
        self.overload: str | None = None
        self.matched = 0
        self._last_row = 0
        self._behind = True
        self._settled: list[int] = []
        self._standing = {each.id for each in store.past.subscriptions()}

    def start(self) -> None:
        """When the deliverer may send."""
        for subscription in self._store.past.subscriptions():
            turn(self.deliverer, subscription)

    def followers(self) -> Sequence[Follower]:
        """Spark reads declarations and notifications from the log."""
        return (Follower(self._changed),)

    def _changed(self, change: Changed) -> None:
        if change.subscription.state == "ended":
            self._standing.discard(change.subscription.id)
        else:
            self._standing.add(change.subscription.id)
        turn(self.deliverer, change.subscription)

    def prepare(self, entry: Entry) -> Delivery:
        delivery = entry.what
        if not isinstance(delivery, Delivery):
            return made_before(delivery)
        refuse(delivery, self._lifetime)
        return delivery

    def settled(self, entry: Entry) -> None:
        self._settled.append(entry.place[0])

    def waits(self) -> Waits:
        """Of the first rows of a subscription: what is behind those is as good as waiting."""

        def waits(subscription: SubscriptionId, at: Position, index: int) -> bool | None:
            if at.offset >= self.held_from():
                return None
            rows = self.outbox.backlog(subscription, 0, ROWS)
            return len(rows) == ROWS or any((each.at, each.index) == (at, index) for _, each in rows)

        return waits

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        rows = await asyncio.to_thread(self.outbox.backlog, subscription, after[0], limit)
        return [_entry(row) for row in rows]

    def checkpoint(self, dead: Sequence[DeadLetter], revived: Sequence[int]) -> Callable[[], None]:
        """First the dead letters, then the rows they came from: a crash between the two sends again."""
        settled, self._settled = self._settled, []

        def write() -> None:
            try:
                if dead or revived:
                    self._store.save_progress(0, {}, dead, revived)
                if settled:
                    self.outbox.settle(settled)
            except Exception:
                self._settled[:0] = settled
                raise

        return write

    def held_from(self, log: str = "log") -> int:
        """Spark may need any of it that is in no published batch yet, nor in the log that nodes share."""
        if self._forwarding is not None:
            return self._forwarding.forwarded[log]
        last = self.outbox.last()
        return 0 if last is None else int(msgspec.json.decode(last.end).get(log, 0))

    async def weigh(self, most: int) -> None:
        """Senders that do not keep up with what is published are felt by who publishes, and so is a shared log."""
        if self._forwarding is not None and self._forwarding.behind() > most:
            self.overload = f"more than {most} records wait for the shared log"
            return
        over = await asyncio.to_thread(self.outbox.holds_more_than, most)
        self.overload = f"more than {most} deliveries wait to be sent" if over else None

    def all_offered(self) -> bool:
        return not self.outbox.pending(self._last_row, 1)

    async def poll(self) -> None:
        """Offers what Spark published. It is behind until that was read to its end, should reading fail in between."""
        self._behind = self.outbox.changed() or self._behind
        while self._behind:
            rows = await asyncio.to_thread(self.outbox.pending, self._last_row, ROWS)
            for row in rows:
                await self._take(_entry(row))
            self._behind = bool(rows)
        if self._harvests is not None and self._harvests.watches:
            self._harvests.matched(await asyncio.to_thread(self.held_from))

    async def _take(self, entry: Entry) -> None:
        """What was matched for a subscription that has ended since is not sent, as with the other engine."""
        if entry.subscription in self._standing or await asyncio.to_thread(self._stands, entry.subscription):
            if self._harvests is not None and self._harvests.by_place and isinstance(entry.what, Delivery):
                self._harvests.offered(entry.what)
            self.deliverer.offer(entry)
        else:
            self._settled.append(entry.place[0])
        self.matched += 1
        self._last_row = entry.place[0]

    def _stands(self, subscription: SubscriptionId) -> bool:
        """The store is ahead of what we were told: it has a change before Spark can see it."""
        history = self._store.past.history(subscription)
        return bool(history) and history[-1].subscription.state != "ended"


def _entry(row: Row) -> Entry:
    number, delivery = row
    return Entry(delivery.match.subscription, (number, 0), delivery, weight_of(len(delivery.body)))
