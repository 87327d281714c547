"""What came of deliveries: outcomes, dead letters and progress, gathered and written in checkpoints."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from tocsin.broker.consumers.end_notices import ENDING, Notice
from tocsin.broker.journal import Follower
from tocsin.broker.reply.harvests import Harvests
from tocsin.broker.settings import DeliverySettings
from tocsin.broker.subscriptions.failures import FilterFailures, InARow
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import Entry, Place, Undeliverable
from tocsin.flow.flow import unmade
from tocsin.flow.lifetime import too_late
from tocsin.matching.judge import Undecided
from tocsin.model.delivery import Delivery, Outcome
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Position, Subscription
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.errors import CannotAppend
from tocsin.store.log.log import Log

MOST_TOLD = 100_000  # outcomes that wait for their log; the history is the poorer for what is beyond, delivery is not
FAILING = "failing"  # why a subscription is held that is about to be ended
REDRIVEN = "again:"  # a lane of its own: what is tried again must not wait behind what is new, nor be taken for old
_encode = msgspec.msgpack.Encoder().encode
# Whether something waits to be sent, None for what was not matched yet; may be asked in a thread.
Waits = Callable[[SubscriptionId, Position, int], bool | None]


class Engine(Protocol):
    """Decides what is offered to the deliverer: by matching here, or from the outbox that Spark fills."""

    overload: str | None  # why no more can be taken, at the moment
    matched: int  # deliveries that were decided on

    def followers(self) -> Sequence[Follower]: ...

    def prepare(self, entry: Entry) -> Delivery:
        """What is sent for an entry; Undeliverable where nothing is."""
        ...

    def settled(self, entry: Entry) -> None:
        """An entry that is a delivery already, as the outbox has them."""
        ...

    def waits(self) -> Waits:
        """As of now."""
        ...

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]: ...

    def checkpoint(self, dead: Sequence[DeadLetter], revived: Sequence[int]) -> Callable[[], None]:
        """Taken at once; what it gives writes it down, in a thread."""
        ...


class Settlement:
    """Collects outcomes and writes them in batches: dead letters with the cursors, all of them for the history."""

    def __init__(
        self,
        engine: Engine,
        deliverer: Deliverer,
        outcomes: Log,
        filters: FilterFailures,
        asked: DeliverySettings,
        harvests: Harvests | None = None,
    ) -> None:
        self._harvests = harvests
        self._engine, self._deliverer, self.outcomes, self.filters = engine, deliverer, outcomes, filters
        self.in_a_row = InARow(asked.end_after)
        self.delivered: Counter[SubscriptionId] = Counter()
        self._told: list[Outcome] = []
        self._dead: list[DeadLetter] = []
        self._revived: list[int] = []
        self.redriving: dict[int, Entry] = {}  # by dead letter, until the store knows what came of it
        self._redriven: list[int] = []
        self._last_redriven = 0
        self._passed_over: SubscriptionId | None = None
        self.saving = asyncio.Lock()

    def settled(self, entry: Entry, delivery: Delivery, outcome: Outcome) -> None:
        """Every delivery passes here: `isinstance` of a Struct costs as much as a call, `type` a quarter of that."""
        if entry.subscription == self._passed_over:
            return
        result, what = outcome.result, entry.what
        if type(what) is Notice:
            if result != "retry":  # its lane has served; not at once, for the deliverer is not done with it
                asyncio.get_running_loop().call_soon(self._deliverer.forget, entry.subscription)
            return
        self._told.append(outcome)
        if result == "retry":
            return
        if result == "delivered":
            self.delivered[outcome.match.subscription] += 1
            if self.in_a_row.counts or self.filters.counts:
                self.in_a_row.delivered(outcome.match.subscription)
                self.filters.delivered(outcome.match.subscription)
        if type(what) is DeadLetter:
            self._redriven.append(what.id)
            if result == "delivered":
                self._revived.append(what.id)
                if self._harvests is not None:
                    self._harvests.revived(outcome)
            elif result == "dead":
                self._bury(delivery, outcome, what.attempts)
            return
        if type(what) is Delivery:
            self._engine.settled(entry)
        if result == "dead":
            self._bury(delivery, outcome, 0)
            if self._harvests is not None and not delivery.to.node:
                self._harvests.dead(outcome)
            self.filters.died(outcome)
            if self.in_a_row.died(outcome):
                self._deliverer.hold(entry.subscription, FAILING)

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        if subscription.startswith(REDRIVEN):
            waiting = (each for each in self.redriving.values() if each.subscription == subscription)
            return [each for each in waiting if each.place > after][:limit]
        if subscription.startswith(ENDING):
            return ()
        return await self._engine.backlog(subscription, after, limit)

    def waiting(self) -> Mapping[SubscriptionId, int]:
        return self._deliverer.waiting()

    async def save(self) -> None:
        """Everything that was settled until now; what was not saved is tried again after a crash.

        First what is told of it: killed between the two, it is sent and told once more, which is the truth.
        """
        async with self.saving:
            told, self._told = self._told, []
            told += () if self._harvests is None else self._harvests.take_replied()
            dead, self._dead = self._dead, []
            revived, self._revived = self._revived, []
            redriven, self._redriven = self._redriven, []
            write = self._engine.checkpoint(dead, revived)
            untold = await self._tell_history(told)
            try:
                await asyncio.to_thread(write)
            except Exception:
                self._dead[:0], self._revived[:0], self._redriven[:0] = dead, revived, redriven
                raise
            for each in redriven:
                del self.redriving[each]
        if untold is not None:
            raise untold

    async def _tell_history(self, told: list[Outcome]) -> CannotAppend | None:
        """Why it could not be written, if so: progress must not wait for the history."""
        try:
            if told:
                await self.outcomes.append(_encode(told))
        except CannotAppend as problem:
            self._told[:0] = told[-MOST_TOLD:]
            return problem
        return None

    def again(self, letter: DeadLetter) -> Entry:
        """A dead letter that is tried again, in a lane of its own."""
        self._last_redriven += 1
        lane = SubscriptionId(REDRIVEN + letter.delivery.match.subscription)
        entry = self.redriving[letter.id] = Entry(lane, (self._last_redriven, 0), letter)
        return entry

    def move_on(self, subscription: SubscriptionId, place: Place) -> None:
        """The subscription goes on behind that place; what waited before it is the caller's to account for."""
        self._passed_over = subscription
        self._deliverer.restart(subscription, place)
        self._passed_over = None

    def unjudged(self, notification: Notification, subscription: Subscription, reason: str) -> None:
        """For a pull point, which no delivery would tell of it."""
        made = unmade(notification, subscription, Undecided(reason))
        now, detail = Instant(time.time_ns()), made.body.decode()
        outcome = Outcome(made.match, made.at, made.index, now, "dead", 0, detail)
        self.bury(made, outcome)
        self.filters.died(outcome)

    def unwritten(self, notification: Notification, subscription: Subscription, problem: Exception) -> None:
        """The same for what its filter wants, but not as the subscriber wants to have it: no fault of the filter."""
        made = unmade(notification, subscription, problem)
        now, detail = Instant(time.time_ns()), made.body.decode()
        self.bury(made, Outcome(made.match, made.at, made.index, now, "dead", 0, detail))

    def bury(self, delivery: Delivery, outcome: Outcome) -> None:
        self._told.append(outcome)
        self._bury(delivery, outcome, 0)

    def _bury(self, delivery: Delivery, outcome: Outcome, before: int) -> None:
        self._dead.append(DeadLetter(0, delivery, outcome.when, outcome.detail, before + outcome.attempt))


def made_before(what: object) -> Delivery:
    """Who has a dead letter tried again wants it sent, however old it is; and so it is with a notice."""
    assert isinstance(what, DeadLetter | Notice)
    if not what.delivery.is_made():
        raise Undeliverable(what.delivery)
    return what.delivery


def refuse(delivery: Delivery, lifetime: float | None) -> None:
    """Undeliverable, if it is overdue or was not made."""
    late = too_late(delivery.when, delivery.expires, Instant(time.time_ns()), lifetime)
    if late is not None or not delivery.is_made():
        raise Undeliverable(delivery, late or "")


def turn(deliverer: Deliverer, subscription: Subscription) -> None:
    """What waits for a paused subscription is held, also what is tried again; it goes on when that is resumed."""
    again = SubscriptionId(REDRIVEN + subscription.id)
    if subscription.state == "ended":
        deliverer.forget(subscription.id)
        deliverer.release(again)
        return
    deliverer.reform(subscription.id, subscription.form.together, subscription.form.max_latency_ms / 1000)
    act = deliverer.release if subscription.state == "active" else deliverer.hold
    act(subscription.id)
    act(again)


def own_lanes(places: Mapping[SubscriptionId, Place]) -> dict[SubscriptionId, Place]:
    """Without the lanes of what is tried again or tells of an end: no place of theirs is one of the log."""
    return {name: place for name, place in places.items() if not name.startswith((REDRIVEN, ENDING))}
