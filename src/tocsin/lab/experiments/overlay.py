"""Paper 004: what a ring of brokers costs as it grows: hops, nodes that a subscription touches, and its load."""

from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path
from typing import Any

from msgspec import Struct

from tocsin.lab.experiment import Cell, Columns, Figure, Findings, Line, Outcome, Panel, Progress, experiment, log_log
from tocsin.sim.overlay import TOUCHED_BOUND, Meeting, Setting, meeting
from tocsin.sim.ring_costs import MOST_BALANCED, Balance, Costs, balance, costs

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


class Loaded(Struct, frozen=True):
    balance: Balance
    costs: Costs


@experiment(
    "overlay", "A ring from ten to ten thousand nodes: hops, nodes touched, load; joins, crashes", choices=Choices
)
def overlay(seed: int, progress: Progress, choices: Choices) -> Outcome:
    sizes = [each for each in SIZES if each <= choices.nodes] or [choices.nodes]
    found = [_met(each, choices.dimensions, choices, seed, progress) for each in sizes]
    loads = [_loaded(each, choices, seed, progress) for each in sizes if each <= MOST_BALANCED]
    few = min(MOST_BY_DIMENSIONS, sizes[-1])
    wide = [_met(few, each, choices, seed, progress) for each in DIMENSIONS]
    return Outcome(
        (_growth(found, choices), _loads(loads), _by_dimensions(wide, few)),
        (Figure("growth", lambda path: _draw(path, found, loads)),),
    )


def _met(nodes: int, dimensions: int, choices: Choices, seed: int, progress: Progress) -> Meeting:
    progress(f"{nodes:,} nodes, {dimensions} dimensions")
    return meeting(Setting(nodes, dimensions, choices.subscriptions, choices.notifications, seed))


def _loaded(nodes: int, choices: Choices, seed: int, progress: Progress) -> Loaded:
    progress(f"{nodes:,} nodes: load, joins and crashes")
    return Loaded(balance(nodes, choices.dimensions, seed), costs(nodes, seed))


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


def _growth(found: Sequence[Meeting], choices: Choices) -> Findings:
    return Findings.of(
        f"A ring at rest, {choices.subscriptions:,} subscriptions and {choices.notifications:,} notifications in"
        f" {choices.dimensions} dimensions",
        found,
        {"nodes": "setting.nodes", **_MET},
        f"hops: of each lookup, to the node that owns the key; Chord s4 has {HALF} in the mean. A notification has two"
        " keys, one by its topic and one by its content: messages are the hops of both.",
        "touched / owners: nodes that handle a subscription from where it is first kept or divided, over those that own"
        f" a part of it, the mean over subscriptions; at most {TOUCHED_BOUND} is asked for. all, with ways: of all"
        " subscriptions together, with the lookups that lead there. depth: nodes one after the other to the last of"
        " them.",
        "recall and duplicates: against all pairs of subscriptions and notifications, one by one.",
    )


def _loads(found: Sequence[Loaded]) -> Findings:
    return Findings.of(
        "Load, joins and crashes",
        found,
        {
            "nodes": "balance.nodes",
            "max / mean, by chance": "balance.hashed",
            "max / mean, by load": "balance.by_load",
            "after moves": "balance.moved",
            "moves": "balance.moves",
            "run at": "costs.nodes",
            "messages of a join": "costs.join",
            "of a crash": "costs.crash",
        },
        "Load: keys of what is published at the node that has most, over the mean. By load, a node asks eight others"
        " before it joins, and takes half of what the busiest has. After moves: from places by chance, each time that"
        " one has more than twice the mean another leaves its place to take half of that.",
        "Joins and crashes: questions beyond those of the same ring at rest, by the machines.",
    )


def _by_dimensions(found: Sequence[Meeting], nodes: int) -> Findings:
    columns: Columns = {"dimensions": "setting.dimensions", **_MET}
    return Findings.of(f"The same by dimensions, {nodes:,} nodes", found, columns)


def _draw(path: Path, found: Sequence[Meeting], loads: Sequence[Loaded]) -> None:
    half: Line = [(each.setting.nodes, log2(each.setting.nodes) / 2) for each in found]
    hops: Line = [(each.setting.nodes, each.hops_mean) for each in found]
    touched: Line = [(each.setting.nodes, each.touched_over_owners) for each in found]
    bound: Line = [(each.setting.nodes, TOUCHED_BOUND) for each in found]
    even: dict[str, Line] = {
        "places by chance": [(each.balance.nodes, each.balance.hashed) for each in loads],
        "places by load": [(each.balance.nodes, each.balance.by_load) for each in loads],
    }
    panels = [
        Panel("Hops to an owner", "nodes", "hops", {"mean": hops, HALF: half}, dashed=(HALF,)),
        Panel("Touched by a subscription", "nodes", "over owners", {"touched": touched, BOUND: bound}, dashed=(BOUND,)),
        Panel("Load of the busiest node", "nodes", "over the mean", even),
    ]
    log_log(path, "A ring as it grows", [panels])
