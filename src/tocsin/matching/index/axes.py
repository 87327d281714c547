"""The dimensions of an information space for the box index: 256 cells each, and what remains to verify.

A side lies in some cells, a coordinate in one. Whoever is in none of the cells of a side is not inside it; of the
others numbers are verified by the ends of the side, strings by the number of its rule.
"""

from collections.abc import Callable, Iterable, Iterator
from math import frexp, inf, isfinite
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tocsin.model.space import WHOLE, Dimension, Interval, Like, OneOf, Side

CELLS = 256
ANYTHING = 0  # the number of the rule that holds of every string
Cells = slice | list[int]

_ALL, _NONE = slice(0, CELLS), slice(0, 0)
_LAST = CELLS - 1
_HOUR = 3600.0
_FEW = 100


class Numbers:
    """Numbers: cells in proportion to the declared range, or by magnitude without one."""

    def __init__(self, dimension: Dimension) -> None:
        self.cell = _scale(dimension.low, dimension.high)

    def cells(self, side: Side) -> Cells:
        low, high = ends(side)
        return slice(self.cell(low), self.cell(high) + 1) if low <= high else _NONE


class Hours:
    """Times without a range: a cell an hour, useful for intervals of less than ten days."""

    def cell(self, time: float) -> int:
        return int(time // _HOUR) % CELLS

    def cells(self, side: Side) -> Cells:
        low, high = ends(side)
        if not low <= high:
            return _NONE
        if not high - low < (_LAST - 1) * _HOUR:  # of 256 hours, the first and the last may be parts
            return _ALL
        return [hour % CELLS for hour in range(int(low // _HOUR), int(high // _HOUR) + 1)]


class Values:
    """Values of an enumeration, each with its own cell: nothing remains to verify."""

    def __init__(self, dimension: Dimension) -> None:
        self._cells = {value: cell for cell, value in enumerate(dimension.values)}
        self.cell = self._cells.__getitem__

    def cells(self, side: Side) -> Cells:
        return [cell for value, cell in self._cells.items() if value in side]


class Strings:
    """Strings. Equal sides share one numbered rule. The rules that hold of a string are looked up by the string, its
    prefixes and its suffixes, however many rules there are."""

    def __init__(self, rules: Iterable[Side | None] = (WHOLE,)) -> None:
        self.rules = list(rules)  # each at its number
        self._numbers: dict[Side, int] = {}
        self._users = [0] * len(self.rules)
        self._free: list[int] = []
        self._sets: dict[str, dict[int, None]] = {}  # by member
        self._likes: dict[str, dict[str, int]] = {}  # by beginning, then by end
        self._lengths: dict[int, int] = {}  # of beginnings, and how many have it
        for number, side in enumerate(self.rules):
            if side is not None:
                self._put(number, side)

    def cell(self, value: str) -> int:
        return crc32(value.encode("utf-8", "surrogatepass")) & _LAST

    def cells(self, side: Side) -> Cells:
        match side:
            case OneOf(values):
                return sorted({self.cell(value) for value in values})
            case Like():
                return _ALL
            case Interval():
                return _NONE

    def number(self, side: Side) -> int | None:
        return self._numbers.get(side)

    def take(self, side: Side) -> int:
        """The number of its rule, which is needed once more."""
        number = self._numbers.get(side)
        if number is None:
            number = self._free.pop() if self._free else self._new()
            self._put(number, side)
        self._users[number] += 1
        return number

    def give_back(self, side: Side) -> None:
        number = self._numbers[side]
        self._users[number] -= 1
        if number != ANYTHING and not self._users[number]:
            self._drop(number, side)
            self._free.append(number)

    def about(self, value: str) -> "Verdicts":
        return Verdicts(self, value)

    def holding(self, value: str) -> Iterator[int]:
        """The numbers of all rules that hold of it."""
        yield from self._sets.get(value, ())
        for length in self._lengths:
            if length <= len(value) and (likes := self._likes.get(value[:length])) is not None:
                yield from _ending(value[length:], likes)

    def _new(self) -> int:
        self.rules.append(None)
        self._users.append(0)
        return len(self.rules) - 1

    def _put(self, number: int, side: Side) -> None:
        self.rules[number] = side
        self._numbers[side] = number
        match side:
            case OneOf(values):
                for value in values:
                    self._sets.setdefault(value, {})[number] = None
            case Like(prefix, suffix):
                likes = self._likes.setdefault(prefix, {})
                self._lengths[len(prefix)] = self._lengths.get(len(prefix), 0) + (not likes)
                likes[suffix] = number

    def _drop(self, number: int, side: Side) -> None:
        self.rules[number] = None
        del self._numbers[side]
        match side:
            case OneOf(values):
                for value in dict.fromkeys(values):
                    del self._sets[value][number]
                    if not self._sets[value]:
                        del self._sets[value]
            case Like(prefix, suffix):
                del self._likes[prefix][suffix]
                if not self._likes[prefix]:
                    del self._likes[prefix]
                    self._forget_length(len(prefix))

    def _forget_length(self, length: int) -> None:
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]


class Verdicts:
    """Which rules hold of one string: asked one by one, or all looked up once when there are many."""

    def __init__(self, axis: Strings, value: str) -> None:
        self._axis, self._value = axis, value
        self._all: NDArray[np.bool_] | None = None

    def of(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        if self._all is None and len(numbers) <= _FEW:
            rules, value = self._axis.rules, self._value
            return np.array([value in (rules[number] or ()) for number in numbers.tolist()], np.bool_)
        if self._all is None:
            self._all = np.zeros(len(self._axis.rules), np.bool_)
            self._all[[*self._axis.holding(self._value)]] = True
        return self._all.take(numbers)


Axis = Numbers | Hours | Values | Strings


def axis_of(dimension: Dimension) -> Axis:
    match dimension.kind:
        case "number":
            return Numbers(dimension)
        case "time":
            return Numbers(dimension) if isfinite(dimension.high - dimension.low) else Hours()
        case "enumeration" if len(dimension.values) <= CELLS:
            return Values(dimension)
    return Strings()


def ends(side: Side) -> tuple[float, float]:
    """Between which the numbers of a side are; the first is the greater when there are none."""
    match side:
        case Interval():
            return side.closed
        case Like("", ""):
            return -inf, inf
    return inf, -inf


def _ending(value: str, likes: dict[str, int]) -> Iterator[int]:
    if len(likes) <= len(value):
        yield from (number for suffix, number in likes.items() if value.endswith(suffix))
    else:
        found = (likes.get(value[at:]) for at in range(len(value) + 1))
        yield from (number for number in found if number is not None)


def _scale(low: float, high: float) -> Callable[[float], int]:
    """Never falls as the number rises, whatever the rounding: that is all the index relies on."""
    scale = CELLS / (high - low) if isfinite(high - low) else 0.0
    if not scale or not isfinite(scale):
        return _magnitude

    def cell(number: float) -> int:
        if number <= low:
            return 0
        return _LAST if number >= high else min(int((number - low) * scale), _LAST)

    return cell


def _magnitude(number: float) -> int:
    """Four cells for each doubling between 2^-8 and 2^24, on both sides of zero."""
    if not isfinite(number):
        return 0 if number < 0 else _LAST
    fraction, exponent = frexp(abs(number))
    above = min(max((exponent + 7) * 4 + int(fraction * 8) - 4, 0), 127) if number else 0
    return 127 - above if number < 0 else 128 + above
