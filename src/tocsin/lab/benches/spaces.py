"""Boxes of an information space that a point is in, against scans of all boxes with numpy; in time of the processor."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.lab.bench import Result, against_floor, alone, benchmark, side_by_side
from tocsin.lab.benches._matching import engine_of, over, race_by_cpu
from tocsin.lab.benches._scans import NARROWING, SCAN, Scan
from tocsin.lab.workload import WEATHER, box_in, boxes, numbers, point_of
from tocsin.lab.workload_files import made, told
from tocsin.matching.index.boxes import BoxIndex
from tocsin.model.filters import InBox
from tocsin.model.space import InformationSpace, Point

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
    yield through_the_engine(seed, sizes)


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
        ours, theirs = side_by_side(timings["ours"], timings[rival])
        timing, note = timings["ours"], NOTES[rival]
        if target is None or rival != SCAN:
            yield against_floor(case, ours, "µs", rival, theirs, sizes=details, timing=timing, note=note)
        else:
            yield against_floor(case, ours, "µs", rival, theirs, target=target, sizes=details, timing=timing, note=note)


def through_the_engine(seed: int, sizes: Sizes) -> Result:
    kind = boxes(numbers(3))
    known, asking = made(kind, sizes.boxes, seed)
    engine, events = engine_of(known, asking), told(kind, sizes.points, seed)
    timing = race_by_cpu({"engine": over(engine.match, events)}, rounds=sizes.rounds)["engine"]
    note = "from the text of the point to the subscriptions, in the order of their ids"
    return alone(
        "3 dimensions, the engine", timing.median, "µs", sizes={"boxes": sizes.boxes}, timing=timing, note=note
    )


def drawn(space: InformationSpace, seed: int, sizes: Sizes) -> tuple[list[InBox], list[Point]]:
    random = Random(seed)
    return [box_in(space, random) for _ in range(sizes.boxes)], [point_of(space, random) for _ in range(sizes.points)]


def index_of(space: InformationSpace, asked: Sequence[InBox]) -> BoxIndex:
    index = BoxIndex(space)
    for number, box in enumerate(asked):
        index.add(number, box)
    return index
