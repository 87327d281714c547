"""Paper 001: Table 1 by measurement, the averages of section 4.4, the trees of 4.5, and how long replies take."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tocsin.lab.experiment import Figure, Line, Outcome, Panel, Progress, experiment, log_log
from tocsin.lab.experiments import _reply_findings as _findings
from tocsin.lab.experiments._reply_findings import Timed, largest
from tocsin.lab.experiments._reply_paces import measured_paces
from tocsin.lab.experiments._reply_points import BRANCHINGS, Point, heights, points, tasks
from tocsin.lab.experiments._reply_processes import measured
from tocsin.lab.experiments._reply_trees import classed
from tocsin.routing.reply import costs
from tocsin.routing.reply.trees import FullTree
from tocsin.sim.network import MILLISECOND
from tocsin.sim.reply_time import Paces, reply_times

PUBLICATION = 1_000  # bytes
TIMED_BRANCHING = 4
BESIDES = (0.0, 100.0)  # microseconds
BEHIND, BOUND = "|R| b^-d", "min(|P|, |R| b^-d)"
LINEAR, PRINTED, QUADRATIC = "h (b-1)/b", "as printed", "h (h+1)/2 (b-1)/b"
_FORMULAS = (BEHIND, BOUND, LINEAR, PRINTED, QUADRATIC)
_COLOURS = {"dispatcher, few": 0, "dispatcher, many": 1, "message": 2, "mixed": 3, BEHIND: 4, BOUND: 4}
_TIMED_COLOURS = {"dispatcher": 0, "message": 2, "naive": 3}


class Choices(Struct, frozen=True):
    """The most receivers; values where |P| is small; processes that work side by side, none for this one alone; the way
    between two nodes in milliseconds; trees of each kind that are classed; receivers over seven real nodes, if any."""

    receivers: int = 1_000_000
    few: int = 10
    workers: int = 2
    link_ms: float = 1.0
    trees: int = 100
    real: int = 1_000


@experiment("reply", "Reply Table 1 by measurement; averages; reply time; which trees keep to a plan", choices=Choices)
def reply(seed: int, progress: Progress, choices: Choices) -> Outcome:
    progress("how long the steps take")
    paces = measured_paces(round(choices.link_ms * MILLISECOND))
    trees = [FullTree(TIMED_BRANCHING, height) for height in heights(TIMED_BRANCHING, choices.receivers)]
    timed = [_timed(tree, besides, choices, paces) for besides in BESIDES for tree in trees]
    progress("trees, classed")
    kinds = list(classed(choices.trees, seed))
    progress("seven nodes, in processes of their own")
    real = measured(choices.real) if choices.real else []
    found = points(tasks(choices.receivers, choices.few, seed), choices.workers, progress)
    return Outcome(
        (
            _findings.totals(found),
            *(each for branching in BRANCHINGS for each in _findings.table_1(found, branching)),
            _findings.averages(found),
            _findings.times(timed, choices.link_ms),
            *([_findings.real_times(real)] if real else []),
            _findings.constants(paces),
            _findings.classes(kinds),
        ),
        (
            Figure("table-1", lambda path: _draw_table_1(path, found)),
            Figure("averages", lambda path: _draw_averages(path, found)),
            Figure("time", lambda path: _draw_times(path, timed)),
        ),
    )


def _timed(tree: FullTree, besides: float, choices: Choices, paces: Paces) -> Timed:
    return Timed(tree, besides, reply_times(tree, choices.few, PUBLICATION, paces.more(1000 * besides)))


def _draw_table_1(path: Path, found: Sequence[Point]) -> None:
    title = "Replies at each depth (Table 1): what one node sends and keeps"
    log_log(path, title, [_panels(found, branching) for branching in BRANCHINGS])


def _panels(found: Sequence[Point], branching: int) -> list[Panel]:
    here = largest(found, branching)
    tree, title = here.tree, f"b = {branching}, h = {here.tree.height}"
    named = {"dispatcher, few": here.few, "dispatcher, many": here.many, "message": here.message, "mixed": here.mixed}

    def lines(value: str, *but: str) -> dict[str, Line]:
        return {
            name: [(each.depth, getattr(each, value) / each.nodes) for each in point.by_depth]
            for name, point in named.items()
            if name not in but
        }

    behind: Line = [(depth, tree.behind(depth)) for depth in range(tree.height + 1)]
    bound: Line = [(depth, min(count, here.few.task.values)) for depth, count in behind]

    def panel(what: str, unit: str, drawn: dict[str, Line]) -> Panel:
        depths = range(0, tree.height + 1, 1 + tree.height // 10)
        return Panel(f"{title}: {what}", "depth", unit, drawn, _COLOURS, depths, linear=True, dashed=_FORMULAS)

    return [
        panel("sent", "messages", lines("reply_messages", "dispatcher, many") | {BEHIND: behind[1:]}),
        panel("sent", "bytes", lines("reply_bytes")),
        panel("kept", "entries", lines("state_sum", "message", "mixed") | {BEHIND: behind, BOUND: bound}),
    ]


def _draw_averages(path: Path, found: Sequence[Point]) -> None:
    title = "Entries over an edge, in the mean (s4.4)"
    log_log(path, title, [[_average_panel(found, branching) for branching in BRANCHINGS]])


def _average_panel(found: Sequence[Point], branching: int) -> Panel:
    here = sorted((each for each in found if each.tree.branching == branching), key=lambda each: each.tree.height)
    merging = [each for each in here if each.algorithm == "dispatcher" and each.task.many]
    passing = [each for each in here if each.algorithm == "message" and not each.task.many]
    lines: dict[str, Line] = {
        "dispatcher, many": [(each.tree.receivers, each.mean_entries) for each in merging],
        LINEAR: [(each.tree.receivers, costs.mean_linear(each.tree)) for each in merging],
        PRINTED: [(each.tree.receivers, costs.mean_as_printed(each.tree)) for each in merging],
        "message": [(each.tree.receivers, each.mean_entries) for each in passing],
        QUADRATIC: [(each.tree.receivers, costs.mean_quadratic(each.tree)) for each in passing],
    }
    colours = _COLOURS | {LINEAR: 1, PRINTED: 4, QUADRATIC: 2}
    return Panel(f"b = {branching}", "receivers", "entries", lines, colours, dashed=_FORMULAS)


def _draw_times(path: Path, timed: Sequence[Timed]) -> None:
    title = "Time until all replies are there, over time until all are told"
    log_log(path, title, [[_time_panel(timed, besides) for besides in BESIDES]])


def _time_panel(timed: Sequence[Timed], besides: float) -> Panel:
    lines: dict[str, Line] = {
        name: [
            (each.tree.receivers, getattr(each.times, name) / each.times.told)
            for each in timed
            if each.besides == besides
        ]
        for name in ("dispatcher", "message", "naive")
    }
    return Panel(f"{besides:g} µs a message besides its step", "receivers", "ratio", lines, _TIMED_COLOURS)
