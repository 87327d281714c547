"""The picture of `relay`: messages with relay on demand, over those without. Below the dashed line it pays."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.lab.experiments._relay_points import Point, crossing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, GREY = "#1f5582", "#d98324", "#5a8f4e", "#a23b4a", "#8a8a8a"
SHARES = {0.0: BLUE, 0.5: ORANGE, 1.0: GREEN}


def draw(path: Path, wanted: Sequence[Point], changed: Sequence[Point]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_wanted(left, wanted)
    _draw_changed(right, [each for each in changed if each.workload.publishers == 1])
    for axes in (left, right):
        axes.axhline(1, color=GREY, linestyle="--", linewidth=1)
        axes.set_xscale("log")
        axes.set_ylabel("messages with / without")
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False)
    figure.suptitle("Messages with relay on demand, over messages without", fontsize=11)
    figure.savefig(path, dpi=120)


def _draw_wanted(axes: "Axes", found: Sequence[Point]) -> None:
    for share, colour in SHARES.items():
        here = [each for each in found if each.workload.wanted == share]
        lengths = [each.workload.notifications for each in here]
        axes.plot(lengths, [each.ratio for each in here], "o-", color=colour, label=f"{share:.0%} of topics wanted")
        if not share:
            paper = [each.paper_ratio for each in here]
            axes.plot(lengths, paper, "s:", color=colour, label="0%, questions and answers counted")
    axes.set_yscale("log")
    axes.set_xlabel("notifications on a topic")
    axes.set_title("subscriptions do not change", fontsize=9)


def _draw_changed(axes: "Axes", found: Sequence[Point]) -> None:
    rates = [each.workload.changes for each in found]
    axes.plot(rates, [each.ratio for each in found], "o-", color=BLUE, label="all messages")
    paper = [each.paper_ratio for each in found]
    axes.plot(rates, paper, "s:", color=BLUE, label="questions and answers counted")
    axes.plot(rates, [each.relays / each.without for each in found], "^-", color=GREEN, label="relayed notifications")
    told = [(each.tells + each.ends) / each.without for each in found]
    axes.plot(rates, told, "v-", color=RED, label="told: wanted, no longer wanted")
    if (place := crossing(found, "ratio")) is not None:
        axes.annotate(f"{place:.2f}", (place, 1), (place * 1.1, 0.48), fontsize=8, arrowprops={"arrowstyle": "-"})
    axes.set_ylim(0, None)
    axes.set_xlabel("subscriptions and cancellations for each notification")
    axes.set_title("each topic wanted half of the time", fontsize=9)
