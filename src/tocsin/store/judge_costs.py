"""What expressions that are judged one by one may cost all the others."""

from msgspec import Struct

from tocsin.model.filters import Content

SHARE, BURST = 0.5, 1.0  # of the clock, and seconds at once, for all costly expressions together
CHEAP = 0.1  # of what one evaluation may take
PATIENCE = 3  # of evaluations in a row that had to be ended
REST_SECONDS = 10.0
MOST_REMEMBERED = 10_000
TOO_COSTLY = "expressions as costly as this one already take as much time as all of them together may"


class _Failing(Struct):
    times: int = 0
    until: float = 0.0
    reason: str = ""


class Costs:
    """Whoever waits for verdicts does nothing else: the event loop of a node, a batch of Spark's.

    - An expression that had to be ended `PATIENCE` times in a row is not evaluated for a while: each time costs its
      deadline, and the start of another process. So it cannot stop a batch, or who reads a log of thousands.
    - Costly expressions (above `CHEAP` of what one may take) get at most `SHARE` of the clock, in bursts of at most
      `BURST`. One that comes when that is used up counts as failing: what is as costly as that, and asked as often,
      stops everybody else. What they cost is time of the processor, which a busy machine does not make more of.
    - Cheap expressions are none of this. They slow things down as all matching does, and who publishes waits; letters
      must not die of a busy hour.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._level, self._at = 0.0, 0.0  # of what costly ones used, and when that was
        self._costly: set[Content] = set()
        self._failing: dict[Content, _Failing] = {}

    def refusal(self, asked: Content, now: float) -> str | None:
        """Why it is not evaluated now."""
        if self._failing and (failing := self._failing.get(asked)) is not None and now < failing.until:
            return failing.reason
        if asked in self._costly and self._level - SHARE * (now - self._at) > BURST:
            return TOO_COSTLY
        return None

    def decided(self, asked: Content, took: float, now: float) -> None:
        if self._failing:
            self._failing.pop(asked, None)
        if took >= CHEAP * self._seconds:
            self._use(took, now)
            self._costly.add(_room_in(self._costly, asked))
        elif self._costly:
            self._costly.discard(asked)

    def ended(self, asked: Content, reason: str, now: float) -> None:
        self._use(self._seconds, now)
        failing = self._failing.setdefault(_room_in(self._failing, asked), _Failing())
        failing.times += 1
        if failing.times >= PATIENCE:
            failing.until, failing.reason = now + REST_SECONDS, reason

    def _use(self, took: float, now: float) -> None:
        self._level, self._at = max(0.0, self._level - SHARE * (now - self._at)) + took, now


def _room_in(remembered: set[Content] | dict[Content, _Failing], asked: Content) -> Content:
    if len(remembered) >= MOST_REMEMBERED:
        remembered.clear()
    return asked
