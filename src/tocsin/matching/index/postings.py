"""The terms filed under each number: one stretch of the same arrays each, in the order of their bounds.

What a level allows is the first part of a stretch; of an atom, which holds or not, all of it. With a term stands the
second of its conditions, so that most that fail are not looked at any further. A stretch that is full moves to one with
twice the room.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.index.columns import Columns

_LEAST = 64


class Filed(NamedTuple):
    """By place in the stretches: the bound, the term, and the number and bound of its second condition."""

    bounds: NDArray[Any]
    terms: NDArray[Any]
    numbers: NDArray[Any]
    more_bounds: NDArray[Any]


_KINDS = (np.float64, np.int32, np.int32, np.float64)


class Filing:
    """Of each number, the columns `start`, `count` and `room` say where its stretch is."""

    def __init__(self, numbers: Columns) -> None:
        self._numbers = numbers
        self.filed = Filed(*(np.zeros(_LEAST, kind) for kind in _KINDS))
        self.end = 0
        self._free: dict[int, list[int]] = {}  # by room, the stretches that nothing is in

    def add(self, term: int, numbers: Sequence[int], bounds: Sequence[float]) -> None:
        """Under the first of its conditions."""
        number, bound = numbers[0], bounds[0]
        start, count, room = self._stretch(number)
        if count == room:
            start = self._move(number, start, count, room)
        end = start + count
        at = start + int(self.filed.bounds[start:end].searchsorted(bound, "right"))
        for column, value in zip(self.filed, (bound, term, numbers[1], bounds[1]), strict=True):
            column[at + 1 : end + 1] = column[at:end]
            column[at] = value
        self._numbers["count"][number] = count + 1

    def remove(self, term: int, number: int, bound: float) -> None:
        start, count, room = self._stretch(number)
        end = start + count
        first = start + int(self.filed.bounds[start:end].searchsorted(bound))
        at = first + int((self.filed.terms[first:end] == term).argmax())
        for column in self.filed:
            column[at : end - 1] = column[at + 1 : end]
        self._numbers["count"][number] = count - 1
        if count == 1:
            self._leave(start, room)
            self._numbers["room"][number] = 0

    def _stretch(self, number: int) -> tuple[int, int, int]:
        rows = self._numbers
        return int(rows["start"][number]), int(rows["count"][number]), int(rows["room"][number])

    def _move(self, number: int, start: int, count: int, room: int) -> int:
        new = self._take(max(1, 2 * room))
        for column in self.filed:
            column[new : new + count] = column[start : start + count]
        if room:
            self._leave(start, room)
        self._numbers["start"][number], self._numbers["room"][number] = new, max(1, 2 * room)
        return new

    def _take(self, room: int) -> int:
        if free := self._free.get(room):
            return free.pop()
        start, self.end, before = self.end, self.end + room, len(self.filed.terms)
        if self.end > before:
            more = max(self.end, before * 5 // 4) - before
            self.filed = Filed(*(np.concatenate((each, np.zeros(more, each.dtype))) for each in self.filed))
        return start

    def _leave(self, start: int, room: int) -> None:
        self._free.setdefault(room, []).append(start)
