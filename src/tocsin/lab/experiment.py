"""Experiments: what a paper measured, measured again with what is in production; tables, and plots in one style."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tocsin.lab.registry import SEED, Machine, Registry, UnknownChoice, UnknownName, this_machine, versions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = Sequence[tuple[float, float]]
_COLOURS = ("#1f5582", "#d98324", "#5a8f4e", "#a23b4a", "#8a8a8a")


def bars(
    path: Path, title: str, labels: Sequence[str], groups: Mapping[str, Sequence[float]], unit: str, stacked: bool
) -> None:
    """For each label a bar that is made of the groups, or one for each group beside the others."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, (0.28 if stacked else 0.32) * len(labels) + 1.6), layout="constrained")
    axes, height = figure.subplots(), 0.7 if stacked else 0.8 / len(groups)
    left = [0.0] * len(labels)
    for number, (name, values) in enumerate(groups.items()):
        aside = 0.0 if stacked else (number - (len(groups) - 1) / 2) * height
        places = [place + aside for place in range(len(labels))]
        axes.barh(places, values, height=height, left=left, label=name, color=_COLOURS[number])
        left = [a + b for a, b in zip(left, values, strict=True)] if stacked else left
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title, pad=18, fontsize=11)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=120)


class Panel(Struct, frozen=True):
    """Lines by name, each a sequence of points (x, y); `colours` are numbers for those that look alike in all panels.
    Lines of one colour are told apart by their marks. Without `ticks` the x axis has those of whole decades; a `linear`
    one counts. What is worked out, not measured, is `dashed`."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Line]
    colours: Mapping[str, int] = {}
    ticks: Sequence[float] = ()
    linear: bool = False
    dashed: Collection[str] = ()


def log_log(path: Path, title: str, rows: Sequence[Sequence[Panel]]) -> None:
    """Panels in rows. A point at or below zero has no place on such a plot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * max(map(len, rows)), 3 * len(rows) + 0.6), layout="constrained")
    grid = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    for places, panels in zip(grid, rows, strict=True):
        for axes, panel in zip(places, panels, strict=True):
            _draw_lines(axes, panel)
            axes.legend(fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=120)


def word_map(
    path: Path, title: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[tuple[str, str]]]
) -> None:
    """A word in each cell, over the colour of its kind (the second of the pair)."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch, Rectangle

    kinds = list(dict.fromkeys(kind for row in cells for _, kind in row))
    colours = dict(zip(kinds, _COLOURS, strict=False))
    figure = Figure(figsize=(1.3 * len(columns) + 1.8, 0.5 * len(rows) + 1.8), layout="constrained")
    axes = figure.subplots()
    for down, row in enumerate(cells):
        for along, (word, kind) in enumerate(row):
            square = (along - 0.5, down - 0.5), 1, 1
            axes.add_patch(Rectangle(*square, color=colours[kind], alpha=0.45, linewidth=0))
            axes.text(along, down, word, ha="center", va="center", fontsize=7)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.set_title(title, fontsize=11)
    handles = [Patch(color=colour, alpha=0.45, label=kind) for kind, colour in colours.items()]
    figure.legend(handles=handles, fontsize=8, frameon=False, loc="outside lower center", ncols=len(handles))
    figure.savefig(path, dpi=120)


def _draw_lines(axes: "Axes", panel: Panel) -> None:
    for number, (name, points) in enumerate(panel.lines.items()):
        seen = [(x, y) for x, y in points if y > 0]
        axes.plot(
            [x for x, _ in seen],
            [y for _, y in seen],
            label=name,
            color=_COLOURS[panel.colours.get(name, number)],
            marker=None if name in panel.dashed else "osd^v"[number],
            linestyle="--" if name in panel.dashed else "-",
            markersize=4,
            linewidth=1,
        )
    axes.set(xscale="linear" if panel.linear else "log", yscale="log", xlabel=panel.x, ylabel=panel.y)
    if panel.ticks:
        axes.set_xticks(panel.ticks, [f"{each:g}" for each in panel.ticks])
    axes.minorticks_off()
    # else a narrow range would have ticks that nobody can read
    values = [y for points in panel.lines.values() for _, y in points if y > 0]
    if values:
        axes.set_ylim(10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.1)))
    axes.set_title(panel.title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


__all__ = ["EXPERIMENTS", "UnknownChoice", "UnknownName"]

EXPERIMENTS = Registry("experiment", "tocsin.lab.experiments")
experiment = EXPERIMENTS.register
Progress = Callable[[str], None]
Cell = str | int | float | None
Rows = tuple[tuple[Cell, ...], ...]
Columns = Mapping[str, str | Callable[[Any], Cell]]  # an attribute of what a row is about, or what is told of it


class Findings(Struct, frozen=True):
    """A table's columns and rows; notes say what to see in it."""

    title: str
    columns: tuple[str, ...]
    rows: Rows
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, things: Iterable[Any], columns: Columns, *notes: str) -> "Findings":
        """A row a thing."""
        asked = [attrgetter(each) if isinstance(each, str) else each for each in columns.values()]
        return cls(title, tuple(columns), tuple(tuple(ask(thing) for ask in asked) for thing in things), notes)


class Figure(Struct, frozen=True):
    """`draw` writes the picture to a path that ends in .png."""

    name: str
    draw: Callable[[Path], None]


class Outcome(Struct, frozen=True):
    tables: tuple[Findings, ...]
    figures: tuple[Figure, ...] = ()


class Report(Struct, frozen=True):
    name: str
    machine: Machine
    versions: Mapping[str, str]
    seed: int
    tables: tuple[Findings, ...]
    figures: tuple[str, ...]


def run(
    name: str, *, seed: int = SEED, out: Path, progress: Progress, chosen: Mapping[str, str] | None = None
) -> Report:
    found = EXPERIMENTS.entry(name)
    choices = found.chosen(chosen or {})
    machine = this_machine()
    outcome = found.run(seed, progress, *choices)
    return Report(name, machine, versions(("matplotlib",)), seed, outcome.tables, _drawn(name, outcome, out))


def _drawn(name: str, outcome: Outcome, out: Path) -> tuple[str, ...]:
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}-{figure.name}.png" for figure in outcome.figures]
    for figure, path in zip(outcome.figures, paths, strict=True):
        figure.draw(path)
    return tuple(map(str, paths))
