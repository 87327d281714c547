"""One pull point in memory: its numbers, who waits for it, and what was handed out not long ago."""

import asyncio
from collections import deque

from tocsin.model.identity import Instant, after
from tocsin.store.pull_points import PointState

KEPT = 1000  # of what was handed out, for who lost the answer
KEPT_SECONDS = 600.0
_GRAIN_SECONDS = 10.0
MARK_EVERY = 64  # messages: so finely is known from where in the log those come that wait

Place = tuple[int, int]  # a record of the log, and which of its notifications


class PullPoint:
    """What waits is in the store, or on its way there; here is only how much.

    `handed_to` moves when a saving is done, never before: what was handed out is on disk as such.
    """

    __slots__ = (
        "_handed",
        "_kept_from",
        "_marks",
        "_moved",
        "_waiters",
        "acknowledged",
        "handed_to",
        "last",
        "name",
        "overflowed",
    )

    def __init__(self, state: PointState, now: Instant) -> None:
        self.name, self.last, self.handed_to, self.overflowed = state.id, state.last, state.handed_to, state.overflowed
        self.acknowledged = 0  # to be handed out with the next saving
        self._kept_from = 0  # what has this number or a lower one is not kept any more
        self._handed: deque[tuple[Instant, int]] = deque([(now, self.handed_to)] if self.handed_to else ())
        self._marks: deque[tuple[int, Place]] = deque()  # from this number on all come from that place or behind
        self._moved, self._waiters = asyncio.Event(), 0

    @property
    def waiting(self) -> int:
        return self.last - self.handed_to

    def next_number(self, place: Place) -> int:
        """Of one that comes from there."""
        self.last += 1
        self.mark(self.last, place)
        return self.last

    def mark(self, number: int, place: Place) -> None:
        """Places grow, but for what is put in again."""
        marks, lowered = self._marks, False
        while marks and marks[-1][1] > place:
            number, lowered = marks.pop()[0], True
        if not marks or lowered or number - marks[-1][0] >= MARK_EVERY:
            marks.append((number, place))

    def waits_from(self) -> Place | None:
        """No later than where the first of those that wait comes from; None when nothing waits."""
        if not self.waiting:
            self._marks.clear()
            return None
        while len(self._marks) > 1 and self._marks[1][0] <= self.handed_to + 1:
            self._marks.popleft()
        return self._marks[0][1] if self._marks else None

    def within(self, most: int) -> PointState:
        """As it is to be saved: with what was acknowledged, and when it is full the oldest go."""
        handed_to = max(self.handed_to, self.acknowledged)
        excess = max(0, self.last - handed_to - most)
        return PointState(self.name, self.last, handed_to + excess, self.overflowed + excess)

    def saved(self, state: PointState, now: Instant) -> None:
        """What overflowed can be read again for a while, as if it had been handed out."""
        self.overflowed = state.overflowed
        self.handed_out(state.handed_to, now)

    def handed_out(self, number: int, now: Instant) -> None:
        if number <= self.handed_to:
            return
        self.handed_to = number
        if self._handed and after(self._handed[-1][0], _GRAIN_SECONDS) > now:
            self._handed[-1] = (self._handed[-1][0], number)
        else:
            self._handed.append((now, number))

    def is_to_forget(self, now: Instant) -> bool:
        return bool(self._handed) and after(self._handed[0][0], KEPT_SECONDS) <= now

    def forgettable(self, now: Instant) -> int:
        """Up to which number nobody will ask for what was handed out; 0 when that is not news."""
        number = self.handed_to - KEPT
        while self._handed and after(self._handed[0][0], KEPT_SECONDS) <= now:
            number = max(number, self._handed.popleft()[1])
        if number <= self._kept_from:
            return 0
        self._kept_from = number
        return number

    def move(self) -> None:
        """Whoever waits looks again."""
        if self._waiters:
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()

    async def moves(self, deadline: float) -> bool:
        """Whether it did before the loop's clock says so."""
        self._waiters += 1
        try:
            async with asyncio.timeout_at(deadline):
                await self._moved.wait()
        except TimeoutError:
            return False
        finally:
            self._waiters -= 1
        return True
