"""The embedded engine: this node matches by itself, and a queue is a window on its log."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from tocsin.app.sending import REDRIVEN
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.entry import Entry, Place
from tocsin.flow.flow import Flow, normalise
from tocsin.matching.engine import matches
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.store.codec import decode
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.log_reader import LogReader

Wanted = tuple[Notification, Subscription]
PAGE = 10_000  # records


class EmbeddedEngine:
    def __init__(self, flow: Flow, store: Store, reader: LogReader) -> None:
        self._flow, self._store, self._reader = flow, store, reader
        self.deliverer: Deliverer
        self.matched_to = 0
        self.matched = 0
        self._read_to: dict[SubscriptionId, tuple[Place, int]] = {}  # by those who read the log, after which place
        self._saved: tuple[int, dict[SubscriptionId, Place]] | None = None

    def start(self, deliverer: Deliverer) -> None:
        """Takes up where the last checkpoint left: the lagging ones from their cursors, the rest by matching again."""
        self.deliverer = deliverer
        self.matched_to, cursors = self._store.progress()
        self.matched_to = max(self.matched_to, self._reader.start())
        for subscription in self._store.state_as_of(self.matched_to):
            self._flow.apply(subscription)
        for name, place in cursors.items():
            deliverer.seed(name, place)
        for offset, payload in self._reader.frames(self.matched_to, self._reader.end()):
            record = decode(payload)
            if isinstance(record, Changed):
                self.changed(record)
            else:
                self.accepted(offset, readable(record))

    def changed(self, change: Changed) -> None:
        self._flow.apply(change.subscription)
        self.matched_to = change.at.offset + 1
        if change.subscription.state == "ended":
            self.deliverer.forget(change.subscription.id)

    def accepted(self, offset: int, notifications: Sequence[Notification]) -> None:
        offer = self.deliverer.offer
        for notification in notifications:
            place, found = (offset, notification.index), self._flow.match(notification)
            self.matched += len(found)
            for subscription in found:
                offer(Entry(subscription.id, place, (notification, subscription)))
        self.matched_to = offset + 1

    def prepare(self, entry: Entry) -> Delivery:
        notification, subscription = cast(Wanted, entry.what)
        return self._flow.deliver(notification, subscription)

    def settled(self, entry: Entry) -> None:
        """The cursor is the deliverer's own."""

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        """Page by page: a long stretch that nobody wants holds no thread for long, and is not read twice."""
        known, offset = self._read_to.pop(subscription, (after, after[0]))
        offset = offset if known == after else after[0]
        while True:
            found, offset, end = await asyncio.to_thread(self._read_page, subscription, after, offset, limit)
            if found or offset >= end:
                self._read_to.pop(subscription, None)
                return found
            self._read_to[subscription] = (after, offset)

    def checkpoint(self, dead: Sequence[DeadLetter], revived: Sequence[int]) -> Callable[[], None]:
        progress = (self.matched_to, own_lanes(self.deliverer.unsettled()))

        def write() -> None:
            if dead or revived or progress != self._saved:
                self._store.save_progress(*progress, dead, revived)
                self._saved = progress

        return write

    def _read_page(
        self, subscription: SubscriptionId, after: Place, start: int, limit: int
    ) -> tuple[list[Entry], int, int]:
        """What is wanted of a page, where the page ends, and where the log does."""
        end = self._reader.end()  # before the history: the changes below it are in the store
        history = self._store.history(subscription)
        start = max(start, self._reader.start())
        stop = min(start + PAGE, end)
        wanted = (
            Entry(subscription, (notification.at.offset, notification.index), (notification, state))
            for notification, state in self._wanted(history, start, stop)
        )
        return list(islice((entry for entry in wanted if entry.place > after), limit)), stop, end

    def _wanted(self, history: Sequence[Changed], start: int, end: int) -> Iterator[Wanted]:
        """What one subscription wants of the log, each notification as of the state it met."""
        offsets = [change.at.offset for change in history]
        for offset, payload in self._reader.frames(start, end):
            record = decode(payload)
            state = bisect_right(offsets, offset) - 1
            if state < 0 or not isinstance(record, Accepted):
                continue
            for notification in readable(record):
                if matches(history[state].subscription, notification):
                    yield notification, history[state].subscription


def readable(record: Accepted) -> tuple[Notification, ...]:
    """None where today's rules refuse what was accepted under others: one such record must not stop the rest."""
    try:
        return normalise(record)
    except Refusal:
        return ()


def own_lanes(places: Mapping[SubscriptionId, Place]) -> dict[SubscriptionId, Place]:
    """Without the lanes of what is tried again: those are dead letters until they are delivered."""
    return {name: place for name, place in places.items() if not name.startswith(REDRIVEN)}
