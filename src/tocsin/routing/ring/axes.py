"""The dimensions of an information space, cut into cells: a coordinate lies in one, a side in some ranges of them, and
whatever is in a side lies in its cells."""

from collections.abc import Callable, Iterable
from math import isfinite

from tocsin.model.space import FIRST_TIME, LAST_TIME, Dimension, Interval, Like, OneOf, Side
from tocsin.routing.ring.codes import CODE, code_of_number, code_of_string, codes_of_prefix
from tocsin.routing.ring.ranges import Range, Ranges, merged

MOST_RANGES = 16  # of a side; of more, all from the first to the last


class Numbers:
    """Numbers and times: in proportion between two ends, or by a code of the float. Times have ends in any case."""

    def __init__(self, dimension: Dimension, bits: int) -> None:
        low, high = dimension.low, dimension.high
        if dimension.kind == "time":
            low, high = max(low, FIRST_TIME), min(high, LAST_TIME)
        self._last = (1 << bits) - 1
        self.cell = _scale(low, high, bits) if isfinite(high - low) else _by_code(bits)

    def cells(self, side: Side) -> Ranges:
        match side:
            case Interval():
                low, high = side.closed
                return ((self.cell(low), self.cell(high)),) if low <= high else ()
            case Like("", ""):
                return ((0, self._last),)
        return ()


def _scale(low: float, high: float, bits: int) -> Callable[[float], int]:
    """Each step keeps the order, rounded or not. What is beyond an end is at the end."""
    width, cells, last = high - low, float(1 << bits), (1 << bits) - 1

    def cell(value: float) -> int:
        if value >= high:
            return last
        return min(int((value - low) / width * cells), last) if value > low else 0

    return cell


def _by_code(bits: int) -> Callable[[float], int]:
    shift = CODE - bits
    return lambda value: code_of_number(value) >> shift


class Values:
    """Values of an enumeration, evenly far from each other. Where cells are few, neighbours share one."""

    def __init__(self, dimension: Dimension, bits: int) -> None:
        count = len(dimension.values)
        self._cells = {value: (place << bits) // count for place, value in enumerate(dimension.values)}
        self.cell = self._cells.__getitem__

    def cells(self, side: Side) -> Ranges:
        return bounded((cell, cell) for value, cell in self._cells.items() if value in side)


class Strings:
    """Strings, by a code that keeps together those that begin alike. What they end with does not narrow a side."""

    def __init__(self, bits: int) -> None:
        self._shift = CODE - bits

    def cell(self, value: str) -> int:
        return code_of_string(value, 1 << self._shift) >> self._shift

    def cells(self, side: Side) -> Ranges:
        match side:
            case OneOf(values):
                return bounded((cell, cell) for cell in map(self.cell, values))
            case Like(prefix):
                low, high = codes_of_prefix(prefix, 1 << self._shift)
                return ((low >> self._shift, high >> self._shift),)
        return ()


Axis = Numbers | Values | Strings


def axis_of(dimension: Dimension, bits: int) -> Axis:
    match dimension.kind:
        case "string":
            return Strings(bits)
        case "enumeration":
            return Values(dimension, bits)
    return Numbers(dimension, bits)


def bounded(ranges: Iterable[Range]) -> Ranges:
    found = merged(ranges)
    return found if len(found) <= MOST_RANGES else ((found[0][0], found[-1][1]),)
