"""Hilbert's curve through the cells of a space of up to 8 dimensions (DHT broker s3, Squid).

A cube of cells, halved in each of d dimensions, has 2^d children, which the curve passes one after the other; within
each it runs as in the whole, but turned. How it is turned is a state: the corner where it enters and the direction in
which it leaves. So a cell has its place after one look-up a level, in rows that are worked out when first needed.
"""

from array import array
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

MOST_DIMENSIONS = 8
START = 0  # the state of the whole


class Row(NamedTuple):
    """For one state: the child at each place of the curve, the place of each child, and the state in which the curve
    passes each place. The bits of a child say for each dimension which half it is in."""

    children: bytes
    places: bytes
    states: Sequence[int]


class HilbertCurve:
    """Through 2^bits cells in each of its dimensions."""

    def __init__(self, dimensions: int, bits: int) -> None:
        self.dimensions, self.bits = dimensions, bits
        self.last = (1 << dimensions) - 1  # child of a cube
        self.corners = [tuple(each >> at & 1 for at in range(dimensions)) for each in range(self.last + 1)]
        self._rows: dict[int, Row] = {}
        self._stride = 8 // dimensions  # so many levels are looked up at once
        self._strides: dict[int, tuple[bytes, Sequence[int]]] = {}
        # Sets of children, as bits of a number: all of them; and of each dimension those in the lower and upper half.
        self.all = (1 << self.last + 1) - 1
        upper = [sum(1 << each for each in range(self.last + 1) if each >> at & 1) for at in range(dimensions)]
        self.halves = tuple((self.all ^ each, each) for each in upper)

    def row(self, state: int) -> Row:
        return self._rows.get(state) or self._row_of(state)

    def index(self, cells: Sequence[int]) -> int:
        """The place on the curve of a cell."""
        strides, width, ways = self._strides, self._stride * self.dimensions, self._interleaved(cells)
        mask, rest = (1 << width) - 1, self.bits // self._stride * width
        index, state = self._walk(START, ways >> rest, self.bits % self._stride)
        for shift in range(rest - width, -1, -width):
            places, states = strides.get(state) or self._stride_of(state)
            way = ways >> shift & mask
            index = index << width | places[way]
            state = states[way]
        return index

    def first(self, state: int, children: int, start: int) -> int | None:
        """The place of the first, from `start` on, of a set of children."""
        row = self.row(state)
        if start <= self.last and children >> row.children[start] & 1:
            return start
        if children.bit_count() <= self.dimensions:
            places = (row.places[each] for each in _members(children))
            return min((each for each in places if each >= start), default=None)
        return next((each for each in range(start, self.last + 1) if children >> row.children[each] & 1), None)

    def _interleaved(self, cells: Sequence[int]) -> int:
        """One bit of each cell, then the next of each: the children that lead to it, from above."""
        spread, step, ways = _spread(self.dimensions), 8 * self.dimensions, 0
        for shift, cell in enumerate(cells):
            while cell:
                ways |= spread[cell & 255] << shift
                cell >>= 8
                shift += step
        return ways

    def _walk(self, state: int, ways: int, levels: int) -> tuple[int, int]:
        """The place to which children lead from a state, and the state there."""
        index = 0
        for level in reversed(range(levels)):
            row = self.row(state)
            place = row.places[ways >> level * self.dimensions & self.last]
            index, state = index << self.dimensions | place, row.states[place]
        return index, state

    def _stride_of(self, state: int) -> tuple[bytes, Sequence[int]]:
        every = range(1 << self._stride * self.dimensions)
        places, states = zip(*(self._walk(state, ways, self._stride) for ways in every), strict=True)
        made = self._strides[state] = bytes(places), array("H", states)
        return made

    def _row_of(self, state: int) -> Row:
        """As C. Hamilton has it (Compact Hilbert Indices, 2006): the curve visits the children in the order of Gray's
        code, turned by the state."""
        size, (entry, turn) = self.dimensions, divmod(state, self.dimensions)
        every = range(self.last + 1)
        children = bytes(entry ^ self._rotated(_gray(each), turn + 1) for each in every)
        entries = (entry ^ self._rotated(_entry(each), turn + 1) for each in every)
        turns = ((turn + _direction(each, size) + 1) % size for each in every)
        states = array("H", (one * size + other for one, other in zip(entries, turns, strict=True)))
        places = bytes(sorted(every, key=children.__getitem__))
        made = self._rows[state] = Row(children, places, states)
        return made

    def _rotated(self, child: int, by: int) -> int:
        by %= self.dimensions
        return (child << by | child >> self.dimensions - by) & self.last


@cache
def _spread(dimensions: int) -> tuple[int, ...]:
    """The bits of each byte, as far from each other as there are dimensions."""
    return tuple(sum((each >> at & 1) << at * dimensions for at in range(8)) for each in range(256))


def _members(children: int) -> list[int]:
    found = []
    while children:
        found.append((children & -children).bit_length() - 1)
        children &= children - 1
    return found


def _gray(place: int) -> int:
    return place ^ place >> 1


def _entry(place: int) -> int:
    """The corner at which the curve enters that child, if it entered the whole at the first."""
    return _gray((place - 1) // 2 * 2) if place else 0


def _direction(place: int, size: int) -> int:
    """The dimension along which it runs from its entry to its exit."""
    ones = place if place & 1 else max(place - 1, 0)
    return ((ones + 1 & ~ones).bit_length() - 1) % size
