"""Fig. 8 of the OPS paper as a picture of six panels."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tocsin.lab.experiments._ops_points import Point
from tocsin.lab.experiments._ops_tables import (
    PAPER_CLASSES_MS,
    PAPER_DECOMPOSITION_MS,
    PAPER_FEW_MS,
    PAPER_MS,
    PAPER_NODES,
    PAPER_RATES,
)
from tocsin.lab.experiments._ops_ways import DECOMPOSITION, KERNEL, LITERAL, REPAIRED
from tocsin.lab.plots import Panel, log_log

Line = list[tuple[float, float]]
PAPER, PAPER_DECOMPOSITION = "paper", "paper, decomposition"
NODES = {"all": "nodes_per_tree", "grown by the event": "grown_per_tree"}
COLOURS = {
    REPAIRED: 0,
    LITERAL: 1,
    DECOMPOSITION: 2,
    KERNEL: 3,
    PAPER: 4,
    PAPER_DECOMPOSITION: 4,
    "all": 0,
    "grown by the event": 1,
}
TICKS = (1, 2, 5, 10, 20)


def draw(path: Path, by_size: Sequence[Point], few: Sequence[Point], by_classes: Sequence[Point]) -> None:
    by_rate = sorted(by_classes, key=_rate)
    counted = [each for each in by_size if each.ms(REPAIRED) is not None]
    panels = [[_a(by_size), _b(few)], [_c(by_classes), _d(by_rate)], [_e(counted), _f(by_rate)]]
    log_log(path, "Matching graph patterns (OPS Fig. 8)", panels)


def _a(points: Sequence[Point]) -> Panel:
    return _times("(a) by subscriptions", "subscriptions", _ms(points, _size) | {PAPER: _line(PAPER_MS)})


def _b(points: Sequence[Point]) -> Panel:
    told = {PAPER: _line(PAPER_FEW_MS), PAPER_DECOMPOSITION: _line(PAPER_DECOMPOSITION_MS)}
    found = _ms(points, _size, (REPAIRED, DECOMPOSITION, KERNEL))
    return _times("(b) few subscriptions", "subscriptions", found | told, TICKS)


def _c(points: Sequence[Point]) -> Panel:
    lines = _ms(points, _classes) | {PAPER: _line(PAPER_CLASSES_MS)}
    return _times("(c) by classes", "classes", lines, TICKS[1:])


def _d(points: Sequence[Point]) -> Panel:
    told = [(PAPER_RATES[classes], ms) for classes, ms in PAPER_CLASSES_MS.items()]
    return _times("(d) by the matching rate", "matching rate, %", _ms(points, _rate) | {PAPER: told}, TICKS)


def _e(points: Sequence[Point]) -> Panel:
    told = [(_size(each), float(PAPER_NODES)) for each in points if each.subscriptions >= 500]  # where the paper begins
    return _space("(e) space by subscriptions", "subscriptions", _nodes(points, _size) | {PAPER: told})


def _f(points: Sequence[Point]) -> Panel:
    return _space("(f) space by the matching rate", "matching rate, %", _nodes(points, _rate), TICKS)


def _times(title: str, x: str, lines: Mapping[str, Line], ticks: Sequence[float] = ()) -> Panel:
    return Panel(title, x, "ms an event", lines, COLOURS, ticks)


def _space(title: str, x: str, lines: Mapping[str, Line], ticks: Sequence[float] = ()) -> Panel:
    return Panel(title, x, "nodes a tree", lines, COLOURS, ticks)


def _line(told: Mapping[int, float]) -> Line:
    return [(float(x), y) for x, y in told.items()]


def _ms(
    points: Sequence[Point], x: Callable[[Point], float], names: Sequence[str] = (REPAIRED, LITERAL, KERNEL)
) -> dict[str, Line]:
    return {name: [(x(each), ms) for each in points if (ms := each.ms(name)) is not None] for name in names}


def _nodes(points: Sequence[Point], x: Callable[[Point], float]) -> dict[str, Line]:
    return {name: [(x(each), each.counted(REPAIRED, count)) for each in points] for name, count in NODES.items()}


def _size(point: Point) -> float:
    return point.subscriptions


def _classes(point: Point) -> float:
    return point.classes


def _rate(point: Point) -> float:
    return point.rate
