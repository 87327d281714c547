"""Kernels of the indexes: boxes that contain a point, and terms whose atoms all hold."""

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.jit import kernel

Doubles = NDArray[np.float64]
Places = NDArray[np.intp]
Words = NDArray[np.uint64]

_ONE = np.uint64(1)
_SHIFT = np.uint64(58)
_SEQUENCE = 0x03F79D71B4CB0A89  # of de Bruijn: all its stretches of six bits differ, and say how far it was shifted
_SHIFTED = np.argsort([((_SEQUENCE << bit) & (1 << 64) - 1) >> 58 for bit in range(64)])
_DE_BRUIJN = np.uint64(_SEQUENCE)


@kernel
def places_inside(bits: Words, bounds: Doubles, top: int, asked: Doubles, found: Places) -> int:
    """How many there are of them; they are written into `found`.

    `bits` are by dimension, cell and word; `bounds` by place, the lower ends of all numbers and then the upper ones;
    `top` is above all places that are used; `asked` has the cells of the point, then its numbers.
    """
    dimensions = len(bits)
    count = _candidates(bits, top, asked[:dimensions], found)
    return _verified(bounds, asked[dimensions:], found[:count])


@kernel
def _candidates(bits: Words, top: int, cells: Doubles, found: Places) -> int:
    """The places whose bits are set in the rows of all these cells."""
    row, count = np.empty((top + 63) // 64, np.uint64), 0
    _join(bits, cells, row)
    for word in range(len(row)):
        left = row[word]
        while left:
            found[count] = word * 64 + _lowest(left)
            count += 1
            left &= left - _ONE
    return count


@kernel
def _join(bits: Words, cells: Doubles, row: Words) -> None:
    """Dimension by dimension, for so the words are joined several at a time."""
    first = bits[0, int(cells[0])]
    for word in range(len(row)):
        row[word] = first[word]
    for dimension in range(1, len(cells)):
        other = bits[dimension, int(cells[dimension])]
        for word in range(len(row)):
            row[word] &= other[word]


@kernel
def _verified(bounds: Doubles, numbers: Doubles, found: Places) -> int:
    """Those that are left come first. Without a branch, so that the next bounds are on their way from memory."""
    kept, upper = 0, len(numbers)
    for place in found:
        inside = True
        for at in range(upper):
            inside &= (bounds[place, at] <= numbers[at]) & (numbers[at] <= bounds[place, upper + at])
        found[kept] = place
        kept += inside
    return kept


@kernel
def _lowest(word: np.uint64) -> int:
    """The position of the lowest bit that is set."""
    lowest = word & (~word + _ONE)
    return int(_SHIFTED[(lowest * _DE_BRUIJN) >> _SHIFT])


Ints = NDArray[np.int32]
Times = NDArray[np.int64]


@kernel
def wanting(
    numbers: Ints,
    reached: Doubles,
    sides: Ints,
    limits: Doubles,
    level: Doubles,
    start: Ints,
    count: Ints,
    filed_bounds: Doubles,
    filed_terms: Ints,
    filed_numbers: Ints,
    filed_more: Doubles,
    atoms: Ints,
    bounds: Doubles,
    slot: Ints,
    since: Times,
    until: Times,
    offset: int,
    when: int,
    found: Ints,
) -> int:
    """How many terms hold whose subscriptions stand: their slots are written into `found`, inverted if partly decided.

    `numbers` have the levels `reached`, and `sides` have `limits`; `level` is by number, and is left as it was.
    """
    numbers, reached = np.concatenate((numbers, sides)), np.concatenate((reached, limits))
    for at in range(len(numbers)):
        level[numbers[at]] = reached[at]
    end = 0
    for at in range(len(numbers)):
        first = start[numbers[at]]
        for place in range(first, first + count[numbers[at]]):
            if filed_bounds[place] > reached[at]:
                break
            if not level[filed_numbers[place]] >= filed_more[place]:
                continue
            term = filed_terms[place]
            holds = True
            for other in range(2, atoms.shape[1]):
                holds &= level[atoms[term, other]] >= bounds[term, other]
            if holds:
                standing = max(slot[term], ~slot[term])
                found[end] = slot[term]
                end += since[standing] <= offset and until[standing] > when
    for number in numbers:
        level[number] = np.nan
    return end
