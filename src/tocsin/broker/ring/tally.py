"""How much this node has to do, and for which keys: counted where notifications are matched, forgotten with time."""

import time
from collections.abc import Callable, Iterable, Sequence

from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.routing.ring.balance import Mark
from tocsin.routing.ring.identifiers import SIZE, distance, within

SAMPLES = 256  # keys that are remembered of one stretch of time
Keys = Callable[[Notification], Sequence[tuple[str, int]]]


class _Stretch:
    """Of each `step` of what there is to do one key is kept; when there are too many, of each second step."""

    __slots__ = ("began", "due", "keys", "step", "weight")

    def __init__(self, began: float) -> None:
        self.began, self.keys = began, list[int]()
        self.weight, self.step, self.due = 0.0, 1.0, 1.0

    def keep(self, keys: Sequence[int]) -> None:
        while (many := int((self.weight - self.due) // self.step) + 1) > SAMPLES:
            self._thin()
        self.keys += [keys[at % len(keys)] for at in range(many)] if keys else ()
        self.due += many * self.step
        if len(self.keys) > SAMPLES:
            self._thin()

    def _thin(self) -> None:
        self.keys, self.step = self.keys[1::2], 2 * self.step

    def marks(self) -> Iterable[Mark]:
        each = self.weight / max(1, len(self.keys))
        return ((key, each) for key in self.keys)


class Tally:
    """Of this stretch of time and the last. `keys` are those of a notification, by plane."""

    def __init__(self, keys: Keys, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys, self._clock = keys, clock
        self._now = _Stretch(clock())
        self._before: _Stretch | None = None

    def add(self, notification: Notification, told: int) -> None:
        """One that was taken here, and how many are told of it."""
        now = self._now
        now.weight += 1 + told
        if now.weight >= now.due:
            now.keep(self._keys_of(notification))

    def _keys_of(self, notification: Notification) -> list[int]:
        """Those for which it came here: another node may have it by the other."""
        plane, keys = EVERY_PLANE if notification.way is None else notification.way.plane, self._keys(notification)
        return [key for of, key in keys if plane in ("", EVERY_PLANE, of)]

    def marks(self, after: int, upto: int, also: Iterable[Mark] = ()) -> tuple[Mark, ...]:
        """What there is to do a second for the keys of (after, upto], in the order of that; `also` what is not counted
        here."""
        stretches = [each for each in (self._before, self._now) if each is not None]
        seconds = max(self._clock() - stretches[0].began, 1.0)
        done = [(key, weight / seconds) for each in stretches for key, weight in each.marks()]
        found = [mark for mark in (*done, *also) if within(mark[0], after, upto)]
        return tuple(sorted(found, key=lambda mark: distance(after, mark[0]) or SIZE))

    def turn(self) -> None:
        """To be called when a stretch is over: what is older than two of them counts no more."""
        self._before, self._now = self._now, _Stretch(self._clock())
