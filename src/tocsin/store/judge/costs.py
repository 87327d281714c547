"""What expressions that are judged one by one may cost all the others."""

from typing import Any

from msgspec import Struct

from tocsin.model.filters import Content

SHARE, BURST = 0.5, 1.0  # of the clock, and seconds at once, for all costly expressions together
CHEAP = 0.1  # of what one evaluation may take
PATIENCE = 3  # of evaluations in a row that had to be ended
REST_SECONDS = 10.0
RESTART = 0.3  # seconds, about what another process costs
MOST_REMEMBERED = 10_000
LOOP_SHARE, LOOP_BURST = 0.25, 0.5  # of the clock, and seconds at once, that an event loop waits for verdicts
ASIDE_SECONDS = 60.0
TOO_COSTLY = "expressions as costly as this one already take as much time as all of them together may"


class _Failing(Struct):
    times: int = 0
    until: float = 0.0
    reason: str = ""


class _Used(Struct):
    """Time that was used, and is forgotten at the rate of a share of the clock."""

    share: float
    burst: float
    level: float = 0.0
    at: float = 0.0

    def use(self, took: float, now: float) -> None:
        self.level, self.at = max(0.0, self.level - self.share * (now - self.at)) + took, now

    def is_up(self, now: float) -> bool:
        return self.level - self.share * (now - self.at) > self.burst


class Costs:
    """Whoever waits for verdicts does nothing else: the event loop of a node, a batch of Spark's.

    - An expression that had to be ended `PATIENCE` times in a row is not evaluated for a while: each time costs its
      deadline, and the start of another process. So it cannot stop a batch, or who reads a log of thousands.
    - Costly expressions (above `CHEAP` of what one may take) get at most `SHARE` of the clock, in bursts of at most
      `BURST`. One that comes when that is used up counts as failing: what is as costly as that, and asked as often,
      stops everybody else. The same holds, by themselves, for those that had to be ended before, with the start of
      another process: many that differ are no better than one. What they cost is time of the processor, which a busy
      machine does not make more of.
    - Cheap expressions are none of this. They slow things down as all matching does, and who publishes waits; letters
      must not die of a busy hour.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._used, self._lost = (
            _Used(SHARE, BURST),
            _Used(SHARE, BURST),
        )  # by costly ones, and by those that were ended
        self._costly: set[Content] = set()
        self._failing: dict[Content, _Failing] = {}

    def refusal(self, asked: Content, now: float) -> str | None:
        """Why it is not evaluated now."""
        if self._failing and (failing := self._failing.get(asked)) is not None:
            if now < failing.until:
                return failing.reason
            if self._lost.is_up(now):
                return TOO_COSTLY
        return TOO_COSTLY if asked in self._costly and self._used.is_up(now) else None

    def decided(self, asked: Content, took: float, now: float) -> None:
        if self._failing:
            self._failing.pop(asked, None)
        if took >= CHEAP * self._seconds:
            self._used.use(took, now)
            self._costly.add(_room_in(self._costly, asked))
        elif self._costly:
            self._costly.discard(asked)

    def ended(self, asked: Content, reason: str, now: float) -> None:
        self._lost.use(self._seconds + RESTART, now)
        failing = self._failing.setdefault(_room_in(self._failing, asked), _Failing())
        failing.times += 1
        if failing.times >= PATIENCE:
            failing.until, failing.reason = now + REST_SECONDS, reason


class LoopTime:
    """What an event loop may wait for verdicts; what does not get any of it is decided elsewhere, and fails of nothing.

    That is `seconds` for one notification, `LOOP_SHARE` of the clock over time in bursts of `LOOP_BURST`, and nothing
    for what was costly of late, here.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent = 0.0  # for this notification
        self._used = _Used(LOOP_SHARE, LOOP_BURST)
        self._aside: dict[Content, float] = {}  # until when

    def begin(self) -> None:
        """Another notification."""
        self._spent = 0.0

    def spend(self, seconds: float, now: float) -> None:
        self._spent += seconds
        self._used.use(seconds, now)

    def left(self, now: float) -> float:
        """For this notification; none where too much was used before."""
        return 0.0 if self._used.is_up(now) else max(0.0, self._seconds - self._spent)

    def took(self, asked: Content, seconds: float, now: float) -> None:
        if seconds >= CHEAP * self._seconds:
            self._aside[_room_in(self._aside, asked)] = now + ASIDE_SECONDS

    def goes_aside(self, asked: Content, now: float) -> bool:
        return bool(self._aside) and now < self._aside.get(asked, 0.0)


def _room_in(remembered: set[Content] | dict[Content, Any], asked: Content) -> Content:
    if len(remembered) >= MOST_REMEMBERED:
        remembered.clear()
    return asked
