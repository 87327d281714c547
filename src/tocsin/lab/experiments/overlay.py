"""Paper 004: what a ring of brokers costs as it grows: hops, nodes that a subscription touches, and its load."""

from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path
from typing import Any

from msgspec import Struct

from tocsin.lab.experiment import Cell, Columns, Figure, Findings, Line, Outcome, Panel, Progress, experiment, log_log
from tocsin.sim.overlay import TOUCHED_BOUND, Meeting, Setting, meeting
from tocsin.sim.ring_costs import Balance, Costs, balance, costs

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
DIMENSIONS = (1, 2, 3, 4, 6)
MOST_BY_DIMENSIONS = 1_000  # nodes
HALF, BOUND = "½ log2 N", f"{TOUCHED_BOUND}"


class Choices(Struct, frozen=True):
    """The most nodes; what is subscribed and published in each ring; the dimensions of its space."""

    nodes: int = 10_000
    subscriptions: int = 300
    notifications: int = 2_000
    dimensions: int = 3


class Point(Struct, frozen=True):
    meeting: Meeting
    balance: Balance
    costs: Costs

    @property
    def nodes(self) -> int:
        return self.meeting.setting.nodes


@experiment(
    "overlay", "A ring from ten to ten thousand nodes: hops, nodes touched, load; joins, crashes", choices=Choices
)
def overlay(seed: int, progress: Progress, choices: Choices) -> Outcome:
    sizes = [each for each in SIZES if each <= choices.nodes] or [choices.nodes]
    found = [_point(each, choices, seed, progress) for each in sizes]
    few = min(MOST_BY_DIMENSIONS, sizes[-1])
    wide = [_met(few, each, choices, seed, progress) for each in DIMENSIONS]
    return Outcome(
        (_growth(found, choices), _loads(found), _by_dimensions(wide, few)),
        (Figure("growth", lambda path: _draw(path, found)),),
    )


def _point(nodes: int, choices: Choices, seed: int, progress: Progress) -> Point:
    met = _met(nodes, choices.dimensions, choices, seed, progress)
    progress(f"{nodes:,} nodes: load, joins and crashes")
    return Point(met, balance(nodes, choices.dimensions, seed), costs(nodes, seed))


def _met(nodes: int, dimensions: int, choices: Choices, seed: int, progress: Progress) -> Meeting:
    progress(f"{nodes:,} nodes, {dimensions} dimensions")
    return meeting(Setting(nodes, dimensions, choices.subscriptions, choices.notifications, seed))


_MET: dict[str, str | Callable[[Any], Cell]] = {
    "hops, mean": "hops_mean",
    HALF: lambda each: log2(each.setting.nodes) / 2,
    "p99": lambda each: each.hops_at(0.99),
    "owners, mean": "owners_mean",
    "touched / owners": "touched_over_owners",
    "all, with ways": "all_touched_over_owners",
    "depth": "depth_mean",
    "messages": "messages_per_notification",
    "matches": "expected",
    "recall": "recall",
    "duplicates": "repeated",
}


def _growth(found: Sequence[Point], choices: Choices) -> Findings:
    return Findings.of(
        f"A ring at rest, {choices.subscriptions:,} subscriptions and {choices.notifications:,} notifications in"
        f" {choices.dimensions} dimensions",
        [each.meeting for each in found],
        {"nodes": "setting.nodes", **_MET},
        f"hops: of each lookup, to the node that owns the key; Chord s4 has {HALF} in the mean. A notification has two"
        " keys, one by its topic and one by its content: messages are the hops of both.",
        "touched / owners: nodes that handle a subscription from where it is first kept or divided, over those that own"
        f" a part of it, the mean over subscriptions; at most {TOUCHED_BOUND} is asked for. all, with ways: of all"
        " subscriptions together, with the lookups that lead there. depth: nodes one after the other to the last of"
        " them.",
        "recall and duplicates: against all pairs of subscriptions and notifications, one by one.",
    )


def _loads(found: Sequence[Point]) -> Findings:
    return Findings.of(
        "Load, joins and crashes",
        found,
        {
            "nodes": "nodes",
            "measured at": "balance.nodes",
            "max / mean, by chance": "balance.hashed",
            "max / mean, by load": "balance.by_load",
            "run at": "costs.nodes",
            "messages of a join": "costs.join",
            "of a crash": "costs.crash",
        },
        "Load: keys of what is published at the node that has most, over the mean. By load, a node asks eight others"
        " before it joins, and takes half of what the busiest has.",
        "Joins and crashes: questions beyond those of the same ring at rest, by the machines.",
    )


def _by_dimensions(found: Sequence[Meeting], nodes: int) -> Findings:
    columns: Columns = {"dimensions": "setting.dimensions", **_MET}
    return Findings.of(f"The same by dimensions, {nodes:,} nodes", found, columns)


def _draw(path: Path, found: Sequence[Point]) -> None:
    def line(name: str) -> Line:
        part, _, attribute = name.partition(".")
        return [(each.nodes, getattr(getattr(each, part), attribute)) for each in found]

    half: Line = [(each.nodes, log2(each.nodes) / 2) for each in found]
    bound: Line = [(each.nodes, TOUCHED_BOUND) for each in found]
    panels = [
        Panel("Hops to an owner", "nodes", "hops", {"mean": line("meeting.hops_mean"), HALF: half}, dashed=(HALF,)),
        Panel(
            "Nodes touched by a subscription",
            "nodes",
            "over owners",
            {"touched": line("meeting.touched_over_owners"), BOUND: bound},
            dashed=(BOUND,),
        ),
        Panel(
            "Load of the busiest node",
            "nodes",
            "over the mean",
            {"by chance": line("balance.hashed"), "by load": line("balance.by_load")},
        ),
    ]
    log_log(path, "A ring as it grows", [panels])
