"""The embedded engine: this node matches by itself, and a queue is a window on its log."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tocsin.broker.engines.settlement import Waits, made_before, own_lanes, refuse, turn
from tocsin.broker.journal import Arrival, Follower, matchable
from tocsin.broker.reply.harvests import Harvests
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import LAST_INDEX, SMALL, Entry, Place, weight_of
from tocsin.flow.addressing import pulled_by
from tocsin.flow.flow import Flow, unmade
from tocsin.matching.engine import matches
from tocsin.matching.judge import Undecided
from tocsin.mediation.dialects import Written
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.subscription import Position, Subscription
from tocsin.routing.ring.meeting import tells
from tocsin.store.codec import decode
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.judge.judge import CROWDED, NOT_ITS_OWN, Judges
from tocsin.store.log.reader import PAGE_BYTES, LogReader, Stretch, until_bytes
from tocsin.store.past import History

Wanted = tuple[Notification, Subscription, Written | None]  # and what was made of it for others


class Unjudged(NamedTuple):
    """One that nobody knows whether it is wanted, and why."""

    notification: Notification
    subscription: Subscription
    reason: str


PAGE = 10_000  # records


class EmbeddedEngine:
    """Takes up where the last checkpoint left: the lagging ones from their cursors, the rest by matching again.

    Who is paused now is held from the beginning, whatever it was at that checkpoint. `settled` is waited for before the
    log is read, where notifications are matched ahead of the disk. `harvests` are told of what asks for replies, and
    `weigh` of each that is matched and how many want it.
    """

    def __init__(
        self,
        flow: Flow,
        store: Store,
        reader: LogReader,
        judges: Judges,
        deliverer: Deliverer,
        lifetime: float | None = None,
        settled: Callable[[], Awaitable[None]] | None = None,
        harvests: Harvests | None = None,
        weigh: Callable[[Notification, int], None] = lambda *_: None,
    ) -> None:
        self._flow, self._store, self._reader, self._judges = flow, store, reader, judges
        self.deliverer, self._lifetime, self._settled = deliverer, lifetime, settled
        self._harvests, self._weigh = harvests, weigh
        self.overload: str | None = None
        self.matched = 0
        self._read_to: dict[SubscriptionId, tuple[Place, int]] = {}  # by those who read the log, after which place
        self._saved: tuple[int, dict[SubscriptionId, Place]] | None = None
        matched_to, self._cursors = store.progress()
        self.matched_to = max(matched_to, reader.start())
        for what in store.past.declared(self.matched_to):
            flow.declare(what)
        for subscription in store.past.subscriptions(self.matched_to):
            if pulled_by(subscription) is None:
                judges.in_loop.expect(subscription.filters)
                flow.apply(subscription)

    def start(self) -> None:
        """When the deliverer may send."""
        for subscription in self._store.past.subscriptions():
            turn(self.deliverer, subscription)
        for name, place in self._cursors.items():
            self.deliverer.seed(name, place)

    def followers(self) -> Sequence[Follower]:
        def turned(change: Changed) -> None:
            turn(self.deliverer, change.subscription)

        return Follower(self._apply, self._declared, self.arrived, self.matched_to), Follower(turned)

    def _declared(self, declared: Declared) -> None:
        self._flow.declare(declared.what)
        self.matched_to = declared.at.offset + 1

    def _apply(self, change: Changed) -> None:
        """One that begins before its own record has the log read for it, and then what came since."""
        subscription, is_first = change.subscription, self._is_first(change)
        self.matched_to = change.at.offset + 1
        if pulled_by(subscription) is None:
            self._judges.in_loop.expect(subscription.filters)
            self._flow.apply(subscription)
        else:  # the node fills pull points itself, also by one whose notifications were sent until now
            self._flow.remove(subscription.id)
            is_first = False
        if subscription.state == "ended":
            self.deliverer.forget(subscription.id)
        elif is_first:
            self.deliverer.seed(subscription.id, (subscription.since.offset, -1))

    def _is_first(self, change: Changed) -> bool:
        """Whether it begins before its own record, and was nothing before: not even one that fed a pull point."""
        subscription = change.subscription
        if subscription.since.offset >= change.at.offset or subscription.id in self._flow:
            return False
        return self._store.past.is_first(change)

    def arrived(self, arrived: Arrival) -> None:
        offer, offset = self.deliverer.offer, arrived.offset
        for notification in arrived.matchable:
            place, (found, undecided) = (offset, notification.index), self._flow.match(notification)
            self.matched += len(found)
            self._weigh(notification, len(found))
            light = len(notification.payload.data) <= SMALL and not notification.attributes
            weight = 0 if light else weight_of(size_of(notification))
            if notification.reply is not None and self._harvests is not None:
                dead = [each for each, reason in undecided if reason not in NOT_ITS_OWN]
                self._harvests.forwarded(notification, [*found, *dead], complete=len(dead) == len(undecided))
            written: Written = {}
            for subscription in found:
                offer(Entry(subscription.id, place, (notification, subscription, written), weight))
            for subscription, reason in undecided:
                if reason in NOT_ITS_OWN:  # the loop has no time for it; who reads the log by itself has
                    self.deliverer.put_off(subscription.id, place)
                else:
                    offer(_entry(subscription.id, Unjudged(notification, subscription, reason)))
        self.matched_to = offset + 1

    def prepare(self, entry: Entry) -> Delivery:
        what = entry.what
        if type(what) is tuple:
            notification, subscription, written = what
            try:
                delivery = self._flow.deliver(notification, subscription, None, written)
            except Exception as problem:
                delivery = unmade(notification, subscription, problem)
        elif type(what) is Unjudged:
            delivery = unmade(what.notification, what.subscription, Undecided(what.reason))
        else:
            return made_before(what)
        if self._lifetime is not None or delivery.expires is not None or not delivery.headers:
            refuse(delivery, self._lifetime)
        return delivery

    def settled(self, entry: Entry) -> None:
        """There are none: the cursor is the deliverer's own."""

    def waits(self) -> Waits:
        matched_to, lanes = self.matched_to, self.deliverer.unsettled()

        def waits(subscription: SubscriptionId, at: Position, index: int) -> bool | None:
            settled = lanes.get(subscription)
            return None if at.offset >= matched_to else settled is not None and settled < (at.offset, index)

        return waits

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        """Page by page: a long stretch that nobody wants holds no thread for long, and is not read twice."""
        if self._settled is not None:
            await self._settled()
        known, offset = self._read_to.pop(subscription, (after, after[0]))
        offset = offset if known == after else after[0]
        while True:
            found, offset, end = await asyncio.to_thread(self._read_page, subscription, after, offset, limit)
            if found or offset >= end:
                self._read_to.pop(subscription, None)
                return found
            self._read_to[subscription] = (after, offset)

    def checkpoint(self, dead: Sequence[DeadLetter], revived: Sequence[int]) -> Callable[[], None]:
        progress = self.progress()

        def write() -> None:
            if dead or revived or progress != self._saved:
                self._store.save_progress(*progress, dead, revived)
                self._saved = progress

        return write

    def progress(self) -> tuple[int, dict[SubscriptionId, Place]]:
        """Never beyond the end of what is on disk: what is matched ahead of it is matched again after a crash."""
        lanes, end = own_lanes(self.deliverer.unsettled()), self._reader.end()
        if self._harvests is not None and (unwritten := self._harvests.first_unwritten()) is not None:
            end = min(end, unwritten)
        if self.matched_to > end:
            lanes = {name: min(place, (end - 1, LAST_INDEX)) for name, place in lanes.items()}
        return min(self.matched_to, end), lanes

    def _read_page(
        self, subscription: SubscriptionId, after: Place, start: int, limit: int
    ) -> tuple[list[Entry], int, int]:
        """What is wanted of a page, where the page ends, and where the log does."""
        end = self._reader.end()  # before the history: the changes below it are in the store
        history = self._store.past.history(subscription)
        start = max(start, self._reader.start())
        page = Stretch(min(start + PAGE, end))
        wanted = (_entry(subscription, each) for each in self._wanted(history, start, page))
        following = islice((entry for entry in wanted if entry.place > after), limit)
        return list(until_bytes(following, PAGE_BYTES, lambda entry: entry.weight)), page.stop, end

    def _wanted(self, history: History, start: int, page: Stretch) -> Iterator[Wanted | Unjudged]:
        """What one subscription wants of the log, each notification as of the state it met.

        What was there before it meets its first state; whether it wants any of that, its beginning says.
        """
        known = self._store.past.catalogue_along(start, page.stop)
        for offset, payload in page.of(self._reader.kept_frames(start, page.stop)):
            record = decode(payload)
            if not history or not isinstance(record, Accepted):
                continue
            wanting = history.state_at(offset)
            if pulled_by(wanting) is not None:
                continue
            for notification in matchable(record):
                judge, base_url = self._judges.aside, self._flow.base_url
                try:
                    if matches(wanting, notification, known.at(offset), judge, base_url, tells):
                        yield notification, wanting, None
                except Undecided as problem:
                    if str(problem) == CROWDED:  # by others who read: it waits
                        page.stop = offset
                        return
                    yield Unjudged(notification, wanting, str(problem))


def _entry(subscription: SubscriptionId, wanted: Wanted | Unjudged) -> Entry:
    notification = wanted[0]
    place = (notification.at.offset, notification.index)
    return Entry(subscription, place, wanted, weight_of(size_of(notification)))


def size_of(notification: Notification) -> int:
    """Of what a publisher can make large, in bytes."""
    return len(notification.payload.data) + sum(len(value) for _, value in notification.attributes)
