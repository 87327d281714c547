"""Fig. 4 and 5 of paper 004, drawn."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.lab.experiments._buffering_flows import MAX_LATENCY, PAYLOADS, Course, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KILOBIT = 1000 / 8  # bytes
_BOUND, _DIM = "#8a8a8a", "#b8b8b8"
_COURSES = ("#1f5582", "#d98324", "#5a8f4e")
Value = Callable[[Point], float]


def draw_flows(path: Path, flows: Sequence[Point]) -> None:
    """A column an overhead: above the bandwidth that is overhead, below the period, each between its bounds."""
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(each.cost for each in flows))
    figure = Figure(figsize=(4.2 * len(kinds), 7.4), layout="constrained")
    grid = figure.subplots(2, len(kinds), squeeze=False, sharex=True, sharey="row")
    for column, cost in enumerate(kinds):
        here = [each for each in flows if each.cost == cost]
        _flow_panel(grid[0][column], here, lambda each: each.overhead / _KILOBIT)
        _flow_panel(grid[1][column], here, lambda each: 1000 * each.period)
        _bounds(grid[0][column], here, lambda each: each.least / _KILOBIT, lambda each: each.most / _KILOBIT)
        _bounds(grid[1][column], here, lambda each: 1000 * _lower(each), lambda _: 1000 * MAX_LATENCY)
        grid[0][column].set_title(f"overhead {cost.once:,} bytes\n{cost.name}", fontsize=9)
        grid[1][column].set_xlabel("messages a second", fontsize=8)
        grid[1][column].set_xticks(range(0, 21, 5))
    grid[0][0].set(yscale="log")
    grid[0][0].set_yticks((1, 10, 100), ("1", "10", "100"))
    grid[0][0].set_ylabel("bandwidth of the overhead, kbit/s", fontsize=8)
    grid[1][0].set_ylabel("period, ms", fontsize=8)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, frameon=False, loc="outside lower center", ncols=4)
    figure.suptitle("Fig. 4: overhead and period, at most 1 s of latency", fontsize=11)
    figure.savefig(path, dpi=120)


def draw_courses(path: Path, courses: Sequence[Course]) -> None:
    """Above the period, as set and as the equations alone would have it; below the rate, as estimated and counted."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for each, colour in zip(courses, _COURSES, strict=False):
        times = [one.at for one in each.changes]
        above.plot(times, [1000 * one.wanted for one in each.changes], color=colour, linewidth=0.6, alpha=0.45)
        label = f"overhead {each.cost.once:,} bytes, {each.cost.name}"
        above.step(
            times, [1000 * one.period for one in each.changes], where="post", color=colour, linewidth=1.8, label=label
        )
    above.axhline(1000 * MAX_LATENCY, color=_BOUND, linestyle="--", linewidth=1)
    above.set_ylim(0, 1050 * MAX_LATENCY)
    above.set_ylabel("period, ms; thin: by the equations alone", fontsize=8)
    first = courses[0]
    counted = _counted([one.at for one in first.arrivals])
    below.step([at for at, _ in counted], [n for _, n in counted], where="post", color=_DIM, linewidth=0.8)
    below.plot([one.at for one in first.changes], [one.rate for one in first.changes], color="#a23b4a", linewidth=1.2)
    below.set_ylim(0, None)
    below.set_ylabel("messages/s, estimated; grey: counted", fontsize=8)
    below.set_xlabel("seconds", fontsize=8)
    for axes in (above, below):
        _plain(axes)
    figure.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=1)
    figure.suptitle("Fig. 5: many producers of one topic, at random intervals", fontsize=11)
    figure.savefig(path, dpi=120)


def _flow_panel(axes: "Axes", flows: Sequence[Point], value: Value) -> None:
    from matplotlib import colormaps

    colours = colormaps["viridis"]
    for number, payload in enumerate(PAYLOADS):
        line = [(each.rate, value(each)) for each in flows if each.payload == payload]
        axes.plot(
            [x for x, _ in line],
            [y for _, y in line],
            color=colours(number / len(PAYLOADS)),
            linewidth=1.3,
            label=f"{payload:,} bytes",
        )
    _plain(axes)


def _bounds(axes: "Axes", flows: Sequence[Point], low: Value, high: Value) -> None:
    first = [each for each in flows if each.payload == PAYLOADS[0]]
    for value, label in ((low, "bounds"), (high, None)):
        axes.plot(
            [each.rate for each in first],
            [value(each) for each in first],
            color=_BOUND,
            linestyle="--",
            linewidth=1,
            label=label,
        )


def _lower(each: Point) -> float:
    return 1 / each.rate if each.rate * MAX_LATENCY > 1 else 0.0


def _counted(times: Sequence[float]) -> list[tuple[int, int]]:
    found = [0] * (int(times[-1]) + 1)
    for each in times:
        found[int(each)] += 1
    return list(enumerate(found))


def _plain(axes: "Axes") -> None:
    axes.tick_params(labelsize=7)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
