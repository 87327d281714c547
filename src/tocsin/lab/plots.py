"""Pictures for people: one way to make them, so that all look alike."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series = Mapping[str, Sequence[float]]
_COLOURS = ("#1f5582", "#d98324", "#5a8f4e", "#a23b4a")


def stacked_bars(
    path: Path,
    title: str,
    labels: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    unit: str,
    marks: Mapping[str, float],
) -> None:
    """A bar for each label, made of the parts; `marks` are lines across with a name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.28 * len(labels) + 1.6), layout="constrained")
    axes = figure.subplots()
    left = [0.0] * len(labels)
    for colour, (name, values) in zip(_COLOURS, parts.items(), strict=False):
        axes.barh(labels, values, left=left, label=name, color=colour, height=0.7)
        left = [a + b for a, b in zip(left, values, strict=True)]
    _finish(axes, title, unit, marks)
    figure.savefig(path, dpi=120)


def grouped_bars(
    path: Path,
    title: str,
    labels: Sequence[str],
    groups: Mapping[str, Sequence[float]],
    unit: str,
    marks: Mapping[str, float],
) -> None:
    """A bar for each group beside the others, for each label."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.32 * len(labels) + 1.6), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(groups)
    for number, (name, values) in enumerate(groups.items()):
        places = [place + (number - (len(groups) - 1) / 2) * height for place in range(len(labels))]
        axes.barh(places, values, height=height, label=name, color=_COLOURS[number])
    axes.set_yticks(range(len(labels)), labels)
    _finish(axes, title, unit, marks)
    figure.savefig(path, dpi=120)


def _finish(axes: "Axes", title: str, unit: str, marks: Mapping[str, float]) -> None:
    for name, value in marks.items():
        axes.axvline(value, color="black", linestyle=":", linewidth=1)
        axes.annotate(name, (value, 1.0), xycoords=("data", "axes fraction"), fontsize=8, ha="center", va="bottom")
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title, pad=18, fontsize=11)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
