"""Fig. 8 of the OPS paper in tables: what it says, and what was measured here."""

from collections.abc import Iterable, Sequence
from statistics import StatisticsError, correlation

from tocsin.lab.benches._grown import exponent
from tocsin.lab.experiment import Findings
from tocsin.lab.experiments._ops_points import Point
from tocsin.lab.experiments._ops_ways import DECOMPOSITION, KERNEL, LITERAL, REPAIRED

# What the text of s6 says, in milliseconds: by subscriptions, and by classes; its pictures say more and are lost.
PAPER_MS = {10_000: 1_200.0}
PAPER_FEW_MS = {20: 1.0}
PAPER_DECOMPOSITION_MS = {20: 500.0}
PAPER_CLASSES_MS = {2: 2_500.0, 20: 50.0}
PAPER_RATES = {2: 23.8, 10: 3.0, 20: 1.3}
PAPER_NODES = 5
_TIMES = (f"{REPAIRED} ms", f"{LITERAL} ms", f"{KERNEL} ms")


def figure_a(points: Sequence[Point]) -> Findings:
    columns = ("subscriptions", "rate %", "paper's ms", *_TIMES, f"{REPAIRED} / {KERNEL}")
    rows = tuple(
        (each.subscriptions, each.rate, PAPER_MS.get(each.subscriptions), *_times(each), each.times(REPAIRED, KERNEL))
        for each in points
    )
    notes = (
        "Ten classes. The paper: 1.2 s for 10,000 subscriptions, in Java on a Pentium 4 of 1.6 GHz; rates around 3 %.",
        *_powers(points),
    )
    return Findings("Fig. 8 (a): matching time by subscriptions", columns, rows, notes)


def _powers(points: Sequence[Point]) -> Iterable[str]:
    for name in (REPAIRED, KERNEL):
        found = [(each.subscriptions, ms) for each in points if (ms := each.ms(name)) and each.subscriptions >= 500]
        if len(found) > 1:
            yield f"From 500 subscriptions on, {name} grows by their power {exponent(found):.2f}; linear would be 1."


def _times(point: Point) -> tuple[float | None, ...]:
    return point.ms(REPAIRED), point.ms(LITERAL), point.ms(KERNEL)


def figure_b(points: Sequence[Point]) -> Findings:
    columns = (
        "subscriptions",
        "paper's OPS ms",
        "paper's rival ms",
        *_TIMES,
        f"{DECOMPOSITION} ms",
        "its median",
        f"/ {REPAIRED}",
        f"/ {KERNEL}",
    )
    rows = tuple(
        (
            each.subscriptions,
            PAPER_FEW_MS.get(each.subscriptions),
            PAPER_DECOMPOSITION_MS.get(each.subscriptions),
            *_times(each),
            each.ms(DECOMPOSITION),
            each.median_ms(DECOMPOSITION),
            each.times(DECOMPOSITION, REPAIRED),
            each.times(DECOMPOSITION, KERNEL),
        )
        for each in points
    )
    undecided = sum(each.undecided(DECOMPOSITION) for each in points)
    notes = (
        f"Ten classes. The {DECOMPOSITION} left {undecided:,} answers open where a part would have had too many places"
        " to try; it would have taken longer than this.",
        "More than half of what the kernel takes for so few is reading the event graph into arrays.",
    )
    return Findings("Fig. 8 (b): OPS and the decomposition of Messmer and Bunke", columns, rows, notes)


def figures_c_d(points: Sequence[Point]) -> Findings:
    columns = ("classes", "rate %", "paper's rate %", "paper's ms", *_TIMES, f"{REPAIRED} ms for 1 %")
    rows = tuple(
        (
            each.classes,
            each.rate,
            PAPER_RATES.get(each.classes),
            PAPER_CLASSES_MS.get(each.classes),
            *_times(each),
            (each.ms(REPAIRED) or 0.0) / each.rate if each.rate else None,
        )
        for each in points
    )
    notes = (
        f"{points[0].subscriptions:,} subscriptions (the paper: 1,000). (c) is by classes, (d) by the rate, in which"
        f" the paper finds the time almost linear; here the two correlate by {_correlated(points)}.",
    )
    return Findings("Fig. 8 (c), (d): matching time by classes and by the matching rate", columns, rows, notes)


def _correlated(points: Sequence[Point]) -> str:
    try:
        return f"{correlation([each.rate for each in points], [each.ms(REPAIRED) or 0.0 for each in points]):.2f}"
    except StatisticsError:
        return "nothing, for the rate is always the same"


_COUNTED = ("nodes_per_tree", "grown_per_tree")
_NODES = (
    "nodes",
    "grown",
    "literal nodes",
    "literal grown",
    "patterns waiting",
    "entries",
    "kernel's nodes",
)


def figure_e(points: Sequence[Point]) -> Findings:
    rows = tuple((each.subscriptions, PAPER_NODES, *_space(each)) for each in points)
    notes = (
        "Nodes of a matching tree, means over trees and events. Grown are those without the root and the statement"
        " patterns about home, which stand before an event comes: the paper does not say which it counts.",
        "Patterns wait during an event, and equal ones share an entry of a list (s5.4). The kernel's nodes are those of"
        " its trie for each subscription; no event adds any.",
    )
    return Findings("Fig. 8 (e): space by subscriptions", ("subscriptions", "paper's nodes", *_NODES), rows, notes)


def figure_f(points: Sequence[Point]) -> Findings:
    rows = tuple((each.classes, each.rate, *_space(each)) for each in points)
    low, high = min(points, key=lambda each: each.rate), max(points, key=lambda each: each.rate)
    nodes, grown = ([each.counted(REPAIRED, name) for each in (low, high)] for name in _COUNTED)
    notes = (
        "The paper: from 1.3 % to 23.8 % the nodes increase just a little, less than linearly.",
        f"Here, from {low.rate:.1f} % to {high.rate:.1f} %, the nodes increase from {nodes[0]:.1f} to {nodes[1]:.1f},"
        f" those that are grown from {grown[0]:.1f} to {grown[1]:.1f}.",
    )
    return Findings("Fig. 8 (f): space by the matching rate", ("classes", "rate %", *_NODES), rows, notes)


def _space(point: Point) -> tuple[float, ...]:
    return (
        *(point.counted(way, name) for way in (REPAIRED, LITERAL) for name in _COUNTED),
        point.counted(REPAIRED, "statement_patterns"),
        point.counted(REPAIRED, "entries"),
        point.trie_nodes,
    )


def lost(points: Sequence[Point]) -> Findings:
    columns = (
        "classes",
        "subscriptions",
        "events",
        "with a loss",
        "matches",
        "literal finds",
        "lost",
        "lost %",
        "least %",
        "most %",
        f"{REPAIRED} / {LITERAL} ms",
    )
    rows = tuple(
        (
            each.classes,
            each.subscriptions,
            len(each.samples),
            each.events_with_a_loss,
            each.matched(REPAIRED),
            each.matched(LITERAL),
            each.lost,
            each.lost_percent,
            *_range(each),
            each.times(REPAIRED, LITERAL),
        )
        for each in points
    )
    models = len(points[0].by_seed())
    notes = (
        'Section 5.3 passes each arc "once and only once"; a pattern that is derived after its arc has passed is never'
        " offered it, and Theorem 1 does not hold. Repaired, what has passed is offered to patterns that come later.",
        f"Whether a match is lost depends on the shape of the event, so these are more events than above, of {models}"
        " concept models. Least and most are of one model.",
        "All other ways find the same matches, event by event; what the literal algorithm finds is among them.",
    )
    return Findings("What section 5.3 to the letter loses", columns, rows, notes)


def _range(point: Point) -> tuple[float | None, float | None]:
    found = [percent for each in point.by_seed() if (percent := each.lost_percent) is not None]
    return min(found, default=None), max(found, default=None)
