"""When a wait for replies is over (paper 001 s5.3 left that open): whichever of its conditions holds first."""

from typing import Literal

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.reply.messages import View

Met = Literal["all", "fraction", "count", "quiet", "deadline", "ended"]


class Until(Struct, frozen=True):
    """`all`: nobody is outstanding. `fraction` of those who were reached have replied, which can be told once it is
    known who got it. `quiet`: fewer replies a second than that, once there was one. `seconds` from the beginning."""

    all: bool = True
    fraction: float | None = None
    count: int | None = None
    quiet: float | None = None
    seconds: float | None = None


class Wait:
    """One that is under way. The rate is that of the latest stretch in which so many seconds passed."""

    stretch = 1.0

    def __init__(self, until: Until, now: Instant) -> None:
        self._until, self._began = until, now
        self._seen: tuple[Instant, int] | None = None
        self._rate: float | None = None

    def met(self, view: View, now: Instant) -> Met | None:
        until = self._until
        self._measure(view.replied, now)
        if view.ended:
            return "ended"
        if until.all and view.complete:
            return "all"
        if until.count is not None and view.replied >= until.count:
            return "count"
        if until.fraction is not None and view.exact:
            reached = view.receivers - view.unreached
            if view.replied >= until.fraction * reached:
                return "fraction"
        if until.quiet is not None and view.replied and self._rate is not None and self._rate < until.quiet:
            return "quiet"
        if until.seconds is not None and now >= self._began + round(until.seconds * SECOND):
            return "deadline"
        return None

    def next_look(self, now: Instant) -> float:
        """Seconds after which something may hold though nothing came."""
        until = self._until
        waits = [self.stretch] if until.quiet is not None else [30.0]
        if until.seconds is not None:
            waits.append((self._began - now) / SECOND + until.seconds)
        return max(0.0, min(waits))

    def _measure(self, replied: int, now: Instant) -> None:
        if self._seen is None:
            self._seen = now, replied
        elif now - self._seen[0] >= self.stretch * SECOND:
            self._rate = (replied - self._seen[1]) * SECOND / (now - self._seen[0])
            self._seen = now, replied
