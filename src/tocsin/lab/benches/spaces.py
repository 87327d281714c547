"""Boxes that contain a point, against scans of all boxes with numpy; in processor time."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.lab.bench import Result, alone, benchmark, compared
from tocsin.lab.benches._matching import engine_of, over, race_by_cpu
from tocsin.lab.workloads.files import drawn_notifications, drawn_subscriptions
from tocsin.lab.workloads.texts import TOWNS, WEATHER, box_in, boxes, numbers, point_of
from tocsin.matching.index.boxes import BoxIndex
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


FASTER = 4
CHECKED = 20
NOTES = {
    SCAN: "float64 columns of lower and upper ends, all compared; strings and enumerations as bits of their value",
    NARROWING: "the same, but each dimension looks only at what the ones before left",
}


class Sizes(Struct, frozen=True):
    boxes: int = 100_000
    points: int = 400
    rounds: int = 25


@benchmark("spaces", "boxes that a point is in, against scans with numpy", choices=Sizes)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    for dimensions in (3, 6):
        target = FASTER if dimensions == 3 else None
        yield from space_of(numbers(dimensions), f"{dimensions} dimensions", seed, sizes, target)
    yield from space_of(WEATHER, "a string, an enumeration, 2 numbers", seed, sizes, None)
    kind = boxes(numbers(3))
    known, asking = drawn_subscriptions(kind, sizes.boxes, seed)
    engine, events = engine_of(known, asking), drawn_notifications(kind, sizes.points, seed)
    timing = race_by_cpu({"engine": over(engine.match, events)}, rounds=sizes.rounds)["engine"]
    note = "from the text of the point to the subscriptions, in the order of their ids"
    yield (
        alone("3 dimensions, the engine", timing.median, "µs", sizes={"boxes": sizes.boxes}, timing=timing, note=note)
    )


def space_of(space: InformationSpace, case: str, seed: int, sizes: Sizes, target: float | None) -> Iterator[Result]:
    asked, points = drawn(space, seed, sizes)
    index, scan = index_of(space, asked), Scan(space, asked)
    ways: dict[str, Callable[[Point], NDArray[np.generic]]] = {
        "ours": index.match, SCAN: scan.scan, NARROWING: scan.narrow,
    }  # fmt: skip
    for point in points[:CHECKED]:
        assert len({tuple(sorted(way(point).tolist())) for way in ways.values()}) == 1
    timings = race_by_cpu({name: over(way, points) for name, way in ways.items()}, rounds=sizes.rounds)
    details = {
        "boxes": len(asked),
        "dimensions": len(space.dimensions),
        "matches": round(sum(len(index.match(each)) for each in points) / len(points)),
    }
    for rival in (SCAN, NARROWING):
        wanted = target if rival == SCAN else None
        yield compared(case, timings, "ours", rival, target=wanted, sizes=details, note=NOTES[rival])


def drawn(space: InformationSpace, seed: int, sizes: Sizes) -> tuple[list[InBox], list[Point]]:
    random = Random(seed)
    return [box_in(space, random) for _ in range(sizes.boxes)], [point_of(space, random) for _ in range(sizes.points)]


def index_of(space: InformationSpace, asked: Sequence[InBox]) -> BoxIndex:
    index = BoxIndex(space)
    for number, box in enumerate(asked):
        index.add(number, box)
    return index
