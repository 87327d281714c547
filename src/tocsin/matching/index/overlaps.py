"""Boxes of the box index that meet another box: what a notification is about may be one (DHT broker s3)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.index.axes import Cells, Strings
from tocsin.model.space import WHOLE, OneOf, Side, overlap

Words = NDArray[np.uint64]
Doubles = NDArray[np.float64]
Places = NDArray[np.intp]


def places_meeting(bits: Words, bounds: Doubles, top: int, cells: Sequence[Cells], numbers: Sequence[float]) -> Places:
    """As `kernel.places_inside` has them of a point: `cells` are by dimension, `numbers` the lower ends of the box and
    then the upper ones."""
    words = (top + 63) // 64
    row = np.full(words, ~np.uint64(0))
    for rows, each in zip(bits, cells, strict=True):
        row &= np.bitwise_or.reduce(rows[each, :words], axis=0)
    places: Places = np.unpackbits(row.view(np.uint8), bitorder="little").nonzero()[0]
    middle, asked = len(numbers) // 2, bounds.take(places, 0)
    low, high = asked[:, :middle], asked[:, middle:]
    common = np.maximum(low, numbers[:middle]) <= np.minimum(high, numbers[middle:])
    return places.compress(common.all(axis=1))


class Overlaps:
    """Which rules of strings have one in common with a side; of each rule it is asked once."""

    def __init__(self, axis: Strings, side: Side) -> None:
        self._axis, self._side = axis, side

    def of(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        if self._side == WHOLE:  # those that have no string at all are in no cell
            return np.ones(len(numbers), np.bool_)
        rules, side = self._axis.rules, self._side
        used, told = np.zeros(len(rules), np.bool_), np.zeros(len(rules), np.bool_)
        used[numbers] = True
        asked = used.nonzero()[0].tolist()
        if isinstance(side, OneOf) and len(side.values) < len(asked):
            told[[number for value in side.values for number in self._axis.holding(value)]] = True
        else:
            told[asked] = [(rule := rules[number]) is not None and overlap(rule, side) for number in asked]
        return told.take(numbers)
