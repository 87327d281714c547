"""The plots of a report, each an SVG that stands by itself."""

import warnings
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tocsin.pipeline.report.tables import bounds, printable
from tocsin.pipeline.report.values import Bar, Latency, Report, Share

BLUE, ORANGE, GREEN, RED, GREY = "#1f5582", "#d98324", "#5a8f4e", "#a23b4a", "#8a8a8a"
LABEL = 38  # characters; longer ones lose their middle
WIDTH = 9.0
_STYLE: Any = {
    "date.converter": "concise",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "svg.fonttype": "none",  # names may be in any script, which the reader's fonts know
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": "#b8bec6",
    "axes.labelcolor": "#454c55",
    "axes.titlecolor": "#22272e",
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.8,
    "xtick.color": "#6a727c",
    "ytick.color": "#6a727c",
    "xtick.labelcolor": "#454c55",
    "ytick.labelcolor": "#454c55",
    "legend.frameon": False,
}
Draw = Callable[[Report], Figure | None]


def plots(found: Report) -> dict[str, str]:
    """By name; without those for which there is nothing."""
    made = {}
    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of glyphs that the layout does not know
        for name, draw in _PLOTS.items():
            if (figure := draw(found)) is not None:
                made[name] = _svg(figure)
    return made


def _svg(figure: Figure) -> str:
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return out.getvalue()


def _rates(found: Report) -> Figure | None:
    rates = found.rates
    if rates is None:
        return None
    figure, (above, below) = _figure(4.6, 2, 1, sharex=True)
    times: Any = [each.time for each in rates.series]
    for name, colour in (("matches", ORANGE), ("notifications", BLUE)):
        _steps(above, times, [getattr(each, name) for each in rates.series], name, colour)
    for name, colour in (("delivered", GREEN), ("retry", GREY), ("dead", RED)):
        _steps(below, times, [getattr(each, name) for each in rates.series], name, colour)
    for axes, title in ((above, "accepted and matched"), (below, "attempts to deliver")):
        axes.set_title(f"{title}, each {rates.unit}", loc="left")
        axes.grid(axis="y")
        axes.set_ylim(0, None if axes.get_ylim()[1] > 1 else 1)
        _whole(axes.yaxis)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _steps(axes: Axes, times: Any, values: Sequence[int], name: str, colour: str) -> None:
    if len(times) > 1:
        axes.plot(times, values, color=colour, label=name, linewidth=1.4, drawstyle="steps-mid")
        axes.fill_between(times, values, step="mid", color=colour, alpha=0.12, linewidth=0)
    else:
        axes.scatter(times, values, color=colour, label=name, s=24)


def _names(found: Report) -> Figure | None:
    rates = found.rates
    if rates is None:
        return None
    by = {"dialect": rates.by_dialect, "topic": rates.by_topic, "producer": rates.by_producer}
    return _shares({f"notifications by {name}": shares for name, shares in by.items()}, BLUE)


def _fan_out(found: Report) -> Figure | None:
    if found.fan_out is None:
        return None
    return _histogram(found.fan_out.histogram, "matches of a notification", "notifications", ORANGE)


def _latencies(found: Report) -> Figure | None:
    return _curves(found.latencies or (), "latencies", "deliveries")


def _reply_rates(found: Report) -> Figure | None:
    if found.replies is None:
        return None
    return _histogram(found.replies.rates, "replies of 100 receivers", "publications", GREEN)


def _reply_times(found: Report) -> Figure | None:
    return None if found.replies is None else _curves(found.replies.times, "times to reply", "publications")


def _curves(latencies: Sequence[Latency], title: str, counted: str) -> Figure | None:
    if not latencies:
        return None
    figure, (axes,) = _figure(3.4)
    for each, colour in zip(latencies, (BLUE, ORANGE, GREEN), strict=False):
        least = [max(value, 1e-4) for value in each.percentiles]
        axes.plot(least, range(1, 100), color=colour, label=each.stage, linewidth=1.6)
        axes.scatter([max(value, 1e-4) for value in (each.p50, each.p90, each.p99)], (50, 90, 99), 14, colour)
    axes.set(
        xscale="log", xlabel="seconds", ylabel=f"% of {counted} within", ylim=(0, 101), yticks=(0, 25, 50, 75, 90, 99)
    )
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid()
    axes.set_title(f"{title}; dots are p50, p90 and p99", loc="left")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _attempts(found: Report) -> Figure | None:
    if found.deliveries is None or found.deliveries.attempts is None:
        return None
    return _histogram(found.deliveries.attempts.histogram, "attempts of a delivery", "deliveries", GREEN)


def _dead(found: Report) -> Figure | None:
    dead = found.dead_letters
    if dead is None:
        return None
    by = {"dead letters by reason": dead.by_reason, "dead letters by consumer": dead.by_consumer}
    return _shares(by, RED)


def _costs(found: Report) -> Figure | None:
    if found.costs is None:
        return None
    top = found.costs.top
    sizes = [Share(each.subscription, each.bytes) for each in top]
    counts = [Share(each.subscription, each.matches) for each in top]
    return _shares({"payload bytes sent, by subscription": sizes, "matches, of the same": counts}, BLUE)


def _shares(by: dict[str, list[Share]], colour: str) -> Figure:
    """One above the other, bars as thick everywhere."""
    lengths = [max(1, len(each)) for each in by.values()]
    figure, grid = _figure(0.24 * sum(lengths) + 0.62 * len(lengths), len(lengths), 1, height_ratios=lengths)
    for axes, (title, shares) in zip(grid, by.items(), strict=True):
        drawn = axes.barh(range(len(shares)), [each.count for each in shares], 0.68, color=colour)
        axes.bar_label(drawn, [f"{each.count:,}" for each in shares], padding=4, color="#454c55")
        axes.set_yticks(range(len(shares)), [_label(each.name) for each in shares])
        axes.set_ylim(len(shares) - 0.4, -0.6)
        axes.set_xlim(0, 1.12 * max((each.count for each in shares), default=0) or 1)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="both", length=0)
        axes.set_xticks([])
        axes.set_title(title, loc="left")
    return figure


def _histogram(bars: Sequence[Bar], value: str, counted: str, colour: str) -> Figure:
    figure, (axes,) = _figure(2.6)
    drawn = axes.bar(range(len(bars)), [each.count for each in bars], 0.78, color=colour)
    axes.bar_label(drawn, [f"{each.count:,}" for each in bars], padding=2, color="#454c55")
    axes.set_xticks(range(len(bars)), [bounds(each) for each in bars])
    axes.set(xlabel=value, ylabel=counted, xlim=(-0.6, max(len(bars), 6) - 0.4))
    axes.margins(y=0.12)
    axes.grid(axis="y")
    _whole(axes.yaxis)
    return figure


def _figure(height: float, rows: int = 1, columns: int = 1, **how: Any) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **how)[:, 0]


def _whole(axis: Any) -> None:
    axis.get_major_locator().set_params(integer=True)
    axis.set_major_formatter("{x:,.0f}")


def _label(name: str | None) -> str:
    text = printable(name)
    half = (LABEL - 1) // 2
    return text if len(text) <= LABEL else f"{text[:half]}…{text[-half:]}"


_PLOTS: dict[str, Draw] = {
    "rates": _rates,
    "names": _names,
    "fan_out": _fan_out,
    "latencies": _latencies,
    "attempts": _attempts,
    "reply_rates": _reply_rates,
    "reply_times": _reply_times,
    "dead": _dead,
    "costs": _costs,
}
