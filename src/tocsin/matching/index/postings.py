"""Posting lists of terms by atom, the atoms that hold for a notification, and growing columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAST = 64


class Columns:
    """Rows as columns of numbers that grow by a quarter; rows given back are taken first. A column may hold several
    numbers a row."""

    def __init__(self, **kinds: type[np.generic] | tuple[type[np.generic], int]) -> None:
        self._columns: dict[str, NDArray[Any]] = {name: _zeros(_LEAST, kind) for name, kind in kinds.items()}
        self.end = 0  # of the rows, those given back among them
        self._room = _LEAST
        self._free: list[int] = []

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> Columns:
        """Full, to begin with."""
        made = cls()
        made._columns = dict(columns)
        made.end = made._room = min(map(len, columns.values()))
        return made

    def __getitem__(self, name: str) -> NDArray[Any]:
        """As it is now: growing replaces it."""
        return self._columns[name]

    def __len__(self) -> int:
        return self.end - len(self._free)

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        if self.end == self._room:
            self._room += max(_LEAST, self._room // 4)
            for name, column in self._columns.items():
                more = np.zeros((self._room - len(column), *column.shape[1:]), column.dtype)
                self._columns[name] = np.concatenate((column, more))
        self.end += 1
        return self.end - 1

    def give_back(self, row: int) -> None:
        self._free.append(row)

    def arrays(self) -> Iterable[NDArray[Any]]:
        return self._columns.values()


def _zeros(rows: int, kind: type[np.generic] | tuple[type[np.generic], int]) -> NDArray[Any]:
    if isinstance(kind, tuple):
        return np.zeros((rows, kind[1]), kind[0])
    return np.zeros(rows, kind)


Numbers = NDArray[np.int32]
Levels = NDArray[np.float64]
ALWAYS = 0  # the atom that always holds
HOLDS = 0.0  # the level of an atom that holds
_NO_NUMBERS: Numbers = np.zeros(0, np.int32)


class HoldingAtoms:
    """Levels, by number; limits of sides, many at once; atoms that hold, many at once; and those few of which an index
    could not tell. No number is there twice.

    An atom with a number holds or not. An ordered comparison has none: it holds if the level of its side reaches its
    bound. A side is a path with a direction, and has a number like an atom.
    """

    __slots__ = ("arrays", "doubtful", "levels", "limits", "sides")

    def __init__(self) -> None:
        self.levels = {ALWAYS: HOLDS}
        self.sides: Numbers = _NO_NUMBERS
        self.limits: Sequence[float] = ()
        self.arrays: list[Numbers] = []
        self.doubtful: list[Numbers] = []

    def hold(self, atoms: Iterable[int]) -> None:
        for atom in atoms:
            self.levels[atom] = HOLDS

    def reach(self, levels: dict[int, float]) -> None:
        """Of several values at a path the one that reaches furthest counts."""
        for number, level in levels.items():
            if level > self.levels.get(number, -inf):
                self.levels[number] = level

    def limited(self) -> tuple[Numbers, Levels]:
        """The sides whose limits were found many at once, and these."""
        return self.sides, np.array(self.limits, np.float64)

    def reached(self) -> tuple[Numbers, Levels]:
        """All other numbers that have a level, and these."""
        numbers = np.array(list(self.levels), np.int32)
        levels = np.array(list(self.levels.values()), np.float64)
        if not self.arrays:
            return numbers, levels
        numbers = np.concatenate((numbers, *self.arrays))
        return numbers, np.concatenate((levels, np.full(len(numbers) - len(levels), HOLDS)))


class Postings(NamedTuple):
    """The entries of all posting lists, by place: bound, term, and the number and bound of the term's second
    condition."""

    bounds: NDArray[Any]
    terms: NDArray[Any]
    numbers: NDArray[Any]
    more_bounds: NDArray[Any]


_KINDS = (np.float64, np.int32, np.int32, np.float64)


class PostingLists:
    """The terms filed under each number; the columns `start`, `count` and `room` say where its stretch is."""

    def __init__(self, numbers: Columns) -> None:
        self._numbers = numbers
        self.filed = Postings(*(np.zeros(_LEAST, kind) for kind in _KINDS))
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
            self.filed = Postings(*(np.concatenate((each, np.zeros(more, each.dtype))) for each in self.filed))
        return start

    def _leave(self, start: int, room: int) -> None:
        self._free.setdefault(room, []).append(start)
