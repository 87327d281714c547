"""All boxes of an information space in columns, looked through with numpy for those that a point is in."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tocsin.lab.workload import TOWNS
from tocsin.model.filters import InBox
from tocsin.model.space import Dimension, InformationSpace, Interval, Point, Side

SCAN, NARROWING = "numpy scan", "numpy scan, narrowing"
Places = NDArray[np.intp]


class _Range:
    """Of numbers: a lower and an upper end for each box."""

    def __init__(self, sides: Sequence[Side]) -> None:
        closed = [side.closed if isinstance(side, Interval) else (-np.inf, np.inf) for side in sides]
        self.low, self.high = (np.array(each, np.float64) for each in zip(*closed, strict=True))

    def scan(self, value: object, into: NDArray[np.bool_], spare: NDArray[np.bool_]) -> None:
        assert isinstance(value, float)
        np.less_equal(self.low, value, out=spare)
        into &= spare
        np.greater_equal(self.high, value, out=spare)
        into &= spare

    def narrow(self, value: object, places: Places) -> Places:
        assert isinstance(value, float)
        places = places[self.low[places] <= value]
        return places[self.high[places] >= value]


class _Members:
    """Of strings: a bit for each value that there is, 64 in a column."""

    def __init__(self, sides: Sequence[Side], values: Sequence[str]) -> None:
        self.code = {value: at for at, value in enumerate(values)}
        bits = {side: sum(1 << at for value, at in self.code.items() if value in side) for side in dict.fromkeys(sides)}
        words = range(0, len(values), 64)
        mask = (1 << 64) - 1
        self.columns = [np.array([bits[side] >> start & mask for side in sides], np.uint64) for start in words]

    def scan(self, value: object, into: NDArray[np.bool_], spare: NDArray[np.bool_]) -> None:
        column, bit = self._bit(value)
        np.not_equal(column & bit, 0, out=spare)
        into &= spare

    def narrow(self, value: object, places: Places) -> Places:
        column, bit = self._bit(value)
        return places[(column[places] & bit).astype(np.bool_)]

    def _bit(self, value: object) -> tuple[NDArray[np.uint64], np.uint64]:
        assert isinstance(value, str)
        code = self.code[value]
        return self.columns[code >> 6], np.uint64(1 << (code & 63))


class Scan:
    def __init__(self, space: InformationSpace, boxes: Sequence[InBox]) -> None:
        sides = zip(*(box.sides for box in boxes), strict=True)
        self._columns = [_column(each, list(side)) for each, side in zip(space.dimensions, sides, strict=True)]
        self._inside, self._spare = (np.empty(len(boxes), np.bool_) for _ in range(2))
        self._all = np.arange(len(boxes))

    def scan(self, point: Point) -> Places:
        self._inside.fill(True)
        for column, value in zip(self._columns, point, strict=True):
            column.scan(value, self._inside, self._spare)
        return self._inside.nonzero()[0]

    def narrow(self, point: Point) -> Places:
        first, *others = zip(self._columns, point, strict=True)
        self._inside.fill(True)
        first[0].scan(first[1], self._inside, self._spare)
        places = self._inside.nonzero()[0]
        for column, value in others:
            places = column.narrow(value, places)
        return places


def _column(dimension: Dimension, sides: Sequence[Side]) -> _Range | _Members:
    if dimension.kind in ("number", "time"):
        return _Range(sides)
    return _Members(sides, dimension.values or TOWNS)
