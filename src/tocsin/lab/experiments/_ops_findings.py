"""Fig. 8 of the OPS paper as tables and as a picture: the paper's figures beside ours."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import StatisticsError, correlation

from tocsin.lab.benches._growth import exponent
from tocsin.lab.experiment import Columns, Findings, Panel, log_log
from tocsin.lab.experiments._ops_points import DECOMPOSITION, KERNEL, LITERAL, REPAIRED, Point

# What the text of s6 says, in milliseconds: by subscriptions, and by classes; its pictures say more and are lost.
PAPER_MS = {10_000: 1_200.0}
PAPER_FEW_MS = {20: 1.0}
PAPER_DECOMPOSITION_MS = {20: 500.0}
PAPER_CLASSES_MS = {2: 2_500.0, 20: 50.0}
PAPER_RATES = {2: 23.8, 10: 3.0, 20: 1.3}
PAPER_NODES = 5


_MS: Columns = {f"{name} ms": partial(Point.ms, name=name) for name in (REPAIRED, LITERAL, KERNEL)}


def figure_a(points: Sequence[Point]) -> Findings:
    columns: Columns = {
        "subscriptions": "subscriptions", "rate %": "rate",
        "paper's ms": lambda each: PAPER_MS.get(each.subscriptions), **_MS,
        f"{REPAIRED} / {KERNEL}": lambda each: each.times(REPAIRED, KERNEL),
    }  # fmt: skip
    return Findings.of(
        "Fig. 8 (a): matching time by subscriptions",
        points,
        columns,
        "Ten classes. The paper: 1.2 s for 10,000 subscriptions, in Java on a Pentium 4 of 1.6 GHz; rates around 3 %.",
        *_powers(points),
    )


def _powers(points: Sequence[Point]) -> Iterable[str]:
    for name in (REPAIRED, KERNEL):
        found = [(each.subscriptions, ms) for each in points if (ms := each.ms(name)) and each.subscriptions >= 500]
        if len(found) > 1:
            yield f"From 500 subscriptions on, {name} grows by their power {exponent(found):.2f}; linear would be 1."


def figure_b(points: Sequence[Point]) -> Findings:
    columns: Columns = {
        "subscriptions": "subscriptions",
        "paper's OPS ms": lambda each: PAPER_FEW_MS.get(each.subscriptions),
        "paper's rival ms": lambda each: PAPER_DECOMPOSITION_MS.get(each.subscriptions),
        **_MS,
        f"{DECOMPOSITION} ms": lambda each: each.ms(DECOMPOSITION),
        "its median": lambda each: each.median_ms(DECOMPOSITION),
        f"/ {REPAIRED}": lambda each: each.times(DECOMPOSITION, REPAIRED),
        f"/ {KERNEL}": lambda each: each.times(DECOMPOSITION, KERNEL),
    }
    undecided = sum(each.undecided(DECOMPOSITION) for each in points)
    return Findings.of(
        "Fig. 8 (b): OPS and the decomposition of Messmer and Bunke",
        points,
        columns,
        f"Ten classes. The {DECOMPOSITION} left {undecided:,} answers open where a part would have had too many places"
        " to try; it would have taken longer than this.",
        "More than half of what the kernel takes for so few is reading the event graph into arrays.",
    )


def figures_c_d(points: Sequence[Point]) -> Findings:
    columns: Columns = {
        "classes": "classes", "rate %": "rate", "paper's rate %": lambda each: PAPER_RATES.get(each.classes),
        "paper's ms": lambda each: PAPER_CLASSES_MS.get(each.classes), **_MS,
        f"{REPAIRED} ms for 1 %": lambda each: (each.ms(REPAIRED) or 0.0) / each.rate if each.rate else None,
    }  # fmt: skip
    return Findings.of(
        "Fig. 8 (c), (d): matching time by classes and by the matching rate",
        points,
        columns,
        f"{points[0].subscriptions:,} subscriptions (the paper: 1,000). (c) is by classes, (d) by the rate, in which"
        f" the paper finds the time almost linear; here the two correlate by {_correlated(points)}.",
    )


def _correlated(points: Sequence[Point]) -> str:
    try:
        return f"{correlation([each.rate for each in points], [each.ms(REPAIRED) or 0.0 for each in points]):.2f}"
    except StatisticsError:
        return "nothing, for the rate is always the same"


_COUNTED = ("nodes_per_tree", "grown_per_tree")
_NODES: Columns = {
    "nodes": lambda each: each.counted(REPAIRED, "nodes_per_tree"),
    "grown": lambda each: each.counted(REPAIRED, "grown_per_tree"),
    "literal nodes": lambda each: each.counted(LITERAL, "nodes_per_tree"),
    "literal grown": lambda each: each.counted(LITERAL, "grown_per_tree"),
    "patterns waiting": lambda each: each.counted(REPAIRED, "statement_patterns"),
    "entries": lambda each: each.counted(REPAIRED, "entries"),
    "kernel's nodes": "trie_nodes",
}


def figure_e(points: Sequence[Point]) -> Findings:
    return Findings.of(
        "Fig. 8 (e): space by subscriptions",
        points,
        {"subscriptions": "subscriptions", "paper's nodes": lambda _: PAPER_NODES, **_NODES},
        "Nodes of a matching tree, means over trees and events. Grown are those without the root and the statement"
        " patterns about home, which stand before an event comes: the paper does not say which it counts.",
        "Patterns wait during an event, and equal ones share an entry of a list (s5.4). The kernel's nodes are those of"
        " its trie for each subscription; no event adds any.",
    )


def figure_f(points: Sequence[Point]) -> Findings:
    low, high = min(points, key=lambda each: each.rate), max(points, key=lambda each: each.rate)
    nodes, grown = ([each.counted(REPAIRED, name) for each in (low, high)] for name in _COUNTED)
    return Findings.of(
        "Fig. 8 (f): space by the matching rate",
        points,
        {"classes": "classes", "rate %": "rate", **_NODES},
        "The paper: from 1.3 % to 23.8 % the nodes increase just a little, less than linearly.",
        f"Here, from {low.rate:.1f} % to {high.rate:.1f} %, the nodes increase from {nodes[0]:.1f} to {nodes[1]:.1f},"
        f" those that are grown from {grown[0]:.1f} to {grown[1]:.1f}.",
    )


def lost(points: Sequence[Point]) -> Findings:
    columns: Columns = {
        "classes": "classes", "subscriptions": "subscriptions", "events": lambda each: len(each.samples),
        "with a loss": "events_with_a_loss", "matches": lambda each: each.matched(REPAIRED),
        "literal finds": lambda each: each.matched(LITERAL), "lost": "lost", "lost %": "lost_percent",
        "least %": lambda each: _range(each)[0], "most %": lambda each: _range(each)[1],
        f"{REPAIRED} / {LITERAL} ms": lambda each: each.times(REPAIRED, LITERAL),
    }  # fmt: skip
    models = len(points[0].by_seed())
    return Findings.of(
        "What section 5.3 to the letter loses",
        points,
        columns,
        'Section 5.3 passes each arc "once and only once"; a pattern that is derived after its arc has passed is never'
        " offered it, and Theorem 1 does not hold. Repaired, what has passed is offered to patterns that come later.",
        f"Whether a match is lost depends on the shape of the event, so these are more events than above, of {models}"
        " concept models. Least and most are of one model.",
        "All other ways find the same matches, event by event; what the literal algorithm finds is among them.",
    )


def _range(point: Point) -> tuple[float | None, float | None]:
    found = [percent for each in point.by_seed() if (percent := each.lost_percent) is not None]
    return min(found, default=None), max(found, default=None)


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


_MS_AXIS, _NODES_AXIS = "ms an event", "nodes a tree"
_size, _classes, _rate = attrgetter("subscriptions"), attrgetter("classes"), attrgetter("rate")


def draw(path: Path, by_size: Sequence[Point], few: Sequence[Point], by_classes: Sequence[Point]) -> None:
    by_rate = sorted(by_classes, key=_rate)
    counted = [each for each in by_size if each.ms(REPAIRED) is not None]
    a = _ms(by_size, _size) | {PAPER: _line(PAPER_MS)}
    b = _ms(few, _size, (REPAIRED, DECOMPOSITION, KERNEL))
    b |= {PAPER: _line(PAPER_FEW_MS), PAPER_DECOMPOSITION: _line(PAPER_DECOMPOSITION_MS)}
    c = _ms(by_classes, _classes) | {PAPER: _line(PAPER_CLASSES_MS)}
    d = _ms(by_rate, _rate) | {PAPER: [(PAPER_RATES[classes], ms) for classes, ms in PAPER_CLASSES_MS.items()]}
    e, f = _nodes(counted, _size), _nodes(by_rate, _rate)
    e[PAPER] = [(_size(each), float(PAPER_NODES)) for each in counted if each.subscriptions >= 500]  # where it begins
    panels = (
        ("(a) by subscriptions", "subscriptions", _MS_AXIS, a, ()),
        ("(b) few subscriptions", "subscriptions", _MS_AXIS, b, TICKS),
        ("(c) by classes", "classes", _MS_AXIS, c, TICKS[1:]),
        ("(d) by the matching rate", "matching rate, %", _MS_AXIS, d, TICKS),
        ("(e) space by subscriptions", "subscriptions", _NODES_AXIS, e, ()),
        ("(f) space by the matching rate", "matching rate, %", _NODES_AXIS, f, TICKS),
    )
    drawn = [Panel(title, x, y, lines, COLOURS, ticks) for title, x, y, lines, ticks in panels]
    log_log(path, "Matching graph patterns (OPS Fig. 8)", [drawn[:2], drawn[2:4], drawn[4:]])


def _line(told: Mapping[int, float]) -> Line:
    return [(float(x), y) for x, y in told.items()]


def _ms(
    points: Sequence[Point], x: Callable[[Point], float], names: Sequence[str] = (REPAIRED, LITERAL, KERNEL)
) -> dict[str, Line]:
    return {name: [(x(each), ms) for each in points if (ms := each.ms(name)) is not None] for name in names}


def _nodes(points: Sequence[Point], x: Callable[[Point], float]) -> dict[str, Line]:
    return {name: [(x(each), each.counted(REPAIRED, count)) for each in points] for name, count in NODES.items()}
