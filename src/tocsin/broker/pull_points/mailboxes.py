"""What pull points hold, whichever engine the node has: who waits for it, and how it survives."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tocsin.broker.journal import Arrival, Follower
from tocsin.broker.pull_points.feeds import Feeding, Feeds
from tocsin.broker.pull_points.pull_point import Place, PullPoint
from tocsin.broker.settings import Settings
from tocsin.flow.addressing import PULL_POINTS, pulled_by
from tocsin.flow.lifetime import overdue
from tocsin.mediation.operations import Held
from tocsin.model.identity import Instant
from tocsin.model.notification import Notification
from tocsin.model.records import Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.runtime.write_behind import WriteBehind
from tocsin.store.database import Store
from tocsin.store.errors import DatabaseFailed
from tocsin.store.log.reader import LogReader
from tocsin.store.pull_points import PointState, Put, Row, Saving, Take

MOST_AT_ONCE = 1000
MOST_BYTES = 8 << 20  # in one answer
_MOST_BUFFERED = 1000  # then they are saved without waiting for the checkpoint
_MOST_HELD_BACK = 100_000  # while they cannot be saved; then nothing more is accepted
_MOST_UNSAVED = 10_000  # records that nobody pulled anything of, but that were matched


class _Taking:
    """A take on its way into a saving, and what it got there."""

    __slots__ = ("rows", "take")

    def __init__(self, take: Take) -> None:
        self.take = take
        self.rows: list[Row] = []


class Mailboxes:
    """Lives in the loop. It is told of everything in the order of the log, and saves what came of it in one commit.

    That commit is shared by all who wait for one, as in the log: each waits for the saving that begins after it asked.
    """

    def __init__(
        self, store: Store, reader: LogReader, settings: Settings, now: Callable[[], Instant], feeding: Feeding
    ) -> None:
        self._table, self._store, self._now = store.pull_points, store, now
        self._most, self._lifetime = settings.limits.pull_queue, settings.delivery.lifetime
        self._points: dict[str, PullPoint] = {}
        self.feeds = Feeds(store, self._put, settings.places.log(), feeding)
        self.pulled_to = 0
        self.put = self.handed_out = self.overflowed = 0
        self.overload: str | None = None  # why nothing more is to be accepted for now
        self._saved_to = 0
        self._buffer: list[Put] = []
        self._under_way = 0  # so many are being saved
        self._before: dict[str, PointState] = {}  # as saved, until the log was read up to its end
        self._expected: dict[str, PointState] = {}  # of those that come from another node
        self._touched: dict[str, PullPoint] = {}
        self._ended: list[str] = []
        self._takings: list[_Taking] = []
        self._writer = WriteBehind(
            lambda: self._collect(), lambda what: self._table.save(what[0]), self._put_back, self._written
        )
        self.closing = False
        self._load(reader)

    def follower(self) -> Follower:
        return Follower(self.changed, self.declared, self._arrived, since=self.pulled_to)

    def _load(self, reader: LogReader) -> None:
        """As the last saving left it; a follower of the log hears what came since."""
        self.pulled_to = self._saved_to = max(self._table.pulled_to() or 0, reader.start())
        self._before, self.feeds.lagging = {each.id: each for each in self._table.states()}, self._table.lagging()
        for what in self._store.past.declared(self.pulled_to):
            self.feeds.declare(what)
        for subscription in self._store.past.subscriptions(self.pulled_to):
            if pulled_by(subscription) is not None:
                self._begin(subscription)
                self.feeds.stand(subscription)
            elif _is_elsewhere(subscription):
                self._begin(subscription)
        self._skip_what_nobody_pulls(reader.end())

    def start(self) -> None:
        """When all that the log had was heard."""
        self._before = {}
        self.feeds.resume(self)

    def changed(self, change: Changed) -> None:
        """One that feeds no pull point now may have fed one until now."""
        subscription = change.subscription
        self.pulled_to = change.at.offset + 1
        if subscription.state == "ended" or pulled_by(subscription) is None:
            self.feeds.end(subscription.id)
            if not _is_elsewhere(subscription):
                self._end(subscription.id)
            return
        self._begin(subscription)
        if subscription.id in self._before and subscription.id not in self.feeds.lagging:
            self.feeds.stand(subscription)  # the saving that has its state has all it read of the past
        else:
            self.feeds.change(change, self)

    def declared(self, declared: Declared) -> None:
        self.feeds.declare(declared.what)
        self.pulled_to = declared.at.offset + 1

    def expect(self, name: str) -> None:
        """It comes from another node, which gave numbers to its messages: those that it gets here are higher."""
        number = self._now() // 1_000_000  # one a millisecond is more than a reader takes
        self._expected[name] = PointState(name, number, number)

    def names(self) -> list[str]:
        return list(self._points)

    def drop(self, name: str) -> None:
        """All that it had is at another node."""
        self._end(name)

    def progress(self) -> tuple[int, dict[str, Place]]:
        """How far the log was matched, and behind which places are pull points whose messages wait."""
        lagging: dict[str, Place] = {}
        for name, point in self._points.items():
            if (place := point.waits_from()) is not None:
                lagging[name] = (place[0], place[1] - 1)
        for name, offset in self.feeds.lagging.items():
            if (point_name := pulled_by(self.feeds.standing[name])) is not None:
                lagging[point_name] = min(lagging.get(point_name, (offset, -1)), (offset, -1))
        return self.pulled_to, lagging

    def put_again(self, pull_point: str, subscription: str, notification: Notification) -> None:
        """Besides what the log has for it."""
        if self.overload is not None:
            raise Refusal("overloaded", f"{self.overload}; try again a little later")
        self._put(pull_point, subscription, notification)

    async def refill(self, pull_point: str, subscription: str, notification: Notification) -> None:
        """What died on its way into one; it is on disk when this returns."""
        self._point(pull_point)
        self.put_again(pull_point, subscription, notification)
        await self.surely_saved()

    def has(self, name: str) -> bool:
        return name in self._points

    def state(self, name: str) -> PointState:
        point = self._point(name)
        return PointState(point.name, point.last, point.handed_to, point.overflowed)

    async def pull(self, name: str, most: int | None, seconds: float) -> tuple[Held, ...]:
        """Hands out what waits, at most so many; waits for the first, unless the node closes."""
        deadline = asyncio.get_running_loop().time() + seconds
        most = MOST_AT_ONCE if most is None else max(0, min(most, MOST_AT_ONCE))
        while True:
            point = self._point(name)
            if point.waiting and most:
                if held := self._timely(await self._take(point, most)):
                    return held
            elif self.closing or not await point.moves(deadline):
                return ()

    async def held(self, name: str, after: int, limit: int, seconds: float = 0.0) -> list[Held]:
        """What has a higher number, handed out or not; nothing is handed out by it."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (point := self._point(name)).last <= after:
            if self.closing or not await point.moves(deadline):
                return []
        await self.surely_saved()
        rows = await asyncio.to_thread(self._table.held, name, after, min(limit, MOST_AT_ONCE), MOST_BYTES)
        return [Held(*row) for row in rows]

    async def hand_out(self, name: str, number: int) -> None:
        """All up to that number were heard of, so they count as handed out."""
        point = self._point(name)
        if not 0 <= number <= point.last:
            raise Refusal("malformed", f"there is no message {number} yet; the last is {point.last}")
        point.acknowledged = max(point.acknowledged, number)
        if number > point.handed_to:
            self._touch(point)
            await self.surely_saved()

    async def save(self) -> None:
        """Everything until now is on disk when this returns."""
        if self._points and self.pulled_to - self._saved_to >= _MOST_UNSAVED:
            self._touch()
        await self._writer.save()

    async def tidy(self) -> None:
        """What was handed out long ago is forgotten."""
        now = self._now()
        for point in self._points.values():
            if point.is_to_forget(now):
                self._touch(point)

    def stop_waiting(self) -> None:
        """Whoever waits is answered with what there is: a node that closes must not wait for them."""
        self.closing = True
        for point in self._points.values():
            point.move()

    async def close(self) -> None:
        self.stop_waiting()
        await self.feeds.close()
        self._note_progress()
        await self.save()

    def figures(self) -> dict[str, Any]:
        return {
            "points": len(self._points),
            "waiting": sum(each.waiting for each in self._points.values()),
            "put": self.put,
            "handed_out": self.handed_out,
            "overflowed": self.overflowed,
        }

    def _point(self, name: str) -> PullPoint:
        point = self._points.get(name)
        if point is None:
            raise Refusal("unknown-subscription", f"there is no pull point {name!r} here; it may have ended")
        return point

    def _begin(self, subscription: Subscription) -> None:
        """A saving may have known it before the log told of it. One whose home is elsewhere by now is here as long as
        it has something."""
        name, known = subscription.id, self._before.get(subscription.id)
        if subscription.consumer is None and name not in self._points:
            expected = self._expected.pop(name, None)
            point = self._points[name] = PullPoint(known or expected or PointState(name), self._now())
            if known is None and expected is not None:
                self._touch(point)
        elif known is not None and known.waiting and _is_elsewhere(subscription):
            point = self._points[name] = PullPoint(known, self._now())
        else:
            return
        for row in self._table.held(name, point.handed_to, 1, MOST_BYTES) if point.waiting else ():
            point.mark(row[0], (row[2].at.offset, row[2].index))

    def _skip_what_nobody_pulls(self, end: int) -> None:
        """Without pull points nothing is saved, so the log since then may be long."""
        if self.feeds.standing:
            return
        later = (
            each for each in self._store.past.changes(since=self.pulled_to) if pulled_by(each.subscription) is not None
        )
        before, self.pulled_to = self.pulled_to, min(end, next((each.at.offset for each in later), end))
        for declared in self._store.past.declarations(since=before, before=self.pulled_to):
            self.feeds.declare(declared.what)
        self._note_progress()

    def _arrived(self, arrived: Arrival) -> None:
        """Without pull points it costs next to nothing."""
        if arrived.pull_point is not None:
            for each in arrived.notifications:
                by = each.way.only if each.way is not None else ()
                self._put(arrived.pull_point, by[0] if by else arrived.pull_point, each)
        elif self.feeds.standing:
            for name, point, notification in self.feeds.match(arrived.notifications, self):
                self._put(point, name, notification)
        self.pulled_to = arrived.offset + 1

    def _put(self, pull_point: str, subscription: str, notification: Notification) -> None:
        """Into none where the pull point has ended before the subscription that feeds it."""
        point = self._points.get(pull_point)
        if point is None:
            return
        place = (notification.at.offset, notification.index)
        self._buffer.append(Put(pull_point, point.next_number(place), subscription, notification))
        self.put += 1
        self._touch(point)
        point.move()
        if len(self._buffer) >= _MOST_BUFFERED:
            self._writer.begin()
        if len(self._buffer) + self._under_way >= _MOST_HELD_BACK:
            self._weigh()

    def _weigh(self) -> None:
        held_back = len(self._buffer) + self._under_way
        too_many = held_back >= _MOST_HELD_BACK
        self.overload = f"{held_back} messages for pull points wait to be stored" if too_many else None

    def _note_progress(self) -> None:
        """So that the next start need not look at all of it again."""
        if self.pulled_to > self._saved_to:
            self._touch()

    def _end(self, name: str) -> None:
        point = self._points.pop(name, None)
        if point is not None:
            self._touched.pop(name, None)
            self._ended.append(name)
            self._touch()
            point.move()

    def _touch(self, point: PullPoint | None = None) -> None:
        self._writer.changed()
        if point is not None:
            self._touched[point.name] = point

    async def _take(self, point: PullPoint, most: int) -> list[Row]:
        taking = _Taking(Take(point.name, most, MOST_BYTES))
        self._takings.append(taking)
        self._touch(point)
        try:
            await self.surely_saved()
        finally:
            if taking in self._takings:  # it went away, or another saving failed: nobody would get what it takes
                self._takings.remove(taking)
        return taking.rows

    def _timely(self, rows: Sequence[Row]) -> tuple[Held, ...]:
        now = self._now()
        return tuple(Held(*row) for row in rows if overdue(row[2], now, self._lifetime) is None)

    async def surely_saved(self) -> None:
        try:
            await self.save()
        except DatabaseFailed as problem:
            raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None

    def _written(self, what: tuple[Saving, list[_Taking]], taken: list[list[Row]]) -> None:
        saving, takings = what
        self._under_way, self._saved_to = 0, saving.pulled_to
        self._weigh()
        self._settle(saving)
        for taking, rows in zip(takings, taken, strict=True):
            self._hand_out(taking, rows)

    def _collect(self) -> tuple[Saving, list[_Taking]]:
        put, self._buffer = self._buffer, []
        touched, self._touched = self._touched, {}
        ended, self._ended = self._ended, []
        takings, self._takings = self._takings, []
        now = self._now()
        purged = [(name, number) for name, each in touched.items() if (number := each.forgettable(now))]
        saving = Saving(
            self.pulled_to,
            [each for each in put if each.pull_point in self._points],
            [each.within(self._most) for each in touched.values()],
            purged,
            ended,
            dict(self.feeds.lagging),
            [each.take for each in takings],
        )
        self._under_way = len(saving.put)
        return saving, takings

    def _put_back(self, what: tuple[Saving, list[_Taking]]) -> None:
        saving, self._under_way = what[0], 0
        self._buffer[:0] = saving.put
        self._weigh()
        self._ended[:0] = saving.ended
        for state in saving.points:
            if (point := self._points.get(state.id)) is not None:
                self._touched[state.id] = point

    def _settle(self, saving: Saving) -> None:
        for state in saving.points:
            if (point := self._points.get(state.id)) is not None:
                dropped, moved = state.overflowed - point.overflowed, state.handed_to - point.handed_to
                self.overflowed += dropped
                self.handed_out += moved - dropped
                point.saved(state, self._now())

    def _hand_out(self, taking: _Taking, rows: list[Row]) -> None:
        taking.rows = rows
        point = self._points.get(taking.take.pull_point)
        if rows and point is not None:
            self.handed_out += len(rows)
            point.handed_out(rows[-1][0], self._now())


def _is_elsewhere(subscription: Subscription) -> bool:
    """A pull point that has its home at another node of the ring, to which is sent what it asks for here."""
    consumer = subscription.consumer
    return consumer is not None and consumer.address.endswith(f"{PULL_POINTS}{subscription.id}/{subscription.id}")
