"""How the engine and the index of graph patterns grow, from a thousand subscriptions to a million: cost and memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tocsin.lab.benches._growth import HIERARCHIES, PAPER, Growth, apart, engine_growth, exponent, graph_growth
from tocsin.lab.benches._matching import up_to
from tocsin.lab.experiment import Columns, Figure, Findings, Line, Outcome, Panel, Progress, experiment, log_log

ENGINE: Columns = {
    "subscriptions": "subscriptions", "µs a notification": "timing.median", "p99 µs": "timing.p99",
    "matches": "matches", "µs an insert": "build", "bytes a subscription": "bytes_each",
}  # fmt: skip
GRAPHS: Columns = {
    "subscriptions": "subscriptions", "µs an event": "timing.median", "p99 µs": "timing.p99", "matching %": "rate",
    "µs an insert": "build", "nodes": "nodes", "bytes a subscription": "bytes_each",
}  # fmt: skip


class Choices(Struct, frozen=True):
    largest: int = 1_000_000
    notifications: int = 1_000


class GraphChoices(Struct, frozen=True):
    largest: int = 1_000_000
    events: int = 100


@experiment("matching", "the engine's cost and memory as mixed subscriptions grow", choices=Choices)
def matching(seed: int, progress: Progress, choices: Choices) -> Outcome:
    found = list[Growth]()
    for count in up_to(choices.largest):
        progress(f"{count:,} subscriptions")
        found.append(apart(engine_growth, count, seed, choices.notifications))
    table = findings("Mixed subscriptions, conjunctions of two or three kinds", found, ENGINE)
    return Outcome((table,), (Figure("growth", lambda path: draw(path, "Growth of the engine", {"median": found})),))


@experiment("graphs", "the cost and memory of graph patterns as subscriptions grow", choices=GraphChoices)
def graphs(seed: int, progress: Progress, choices: GraphChoices) -> Outcome:
    found: dict[str, list[Growth]] = {PAPER: [], HIERARCHIES: []}
    for workload, each_size in found.items():
        for count in up_to(choices.largest):
            progress(f"{workload}: {count:,} subscriptions")
            each_size.append(apart(graph_growth, workload, count, seed, choices.events))
    tables = tuple(findings(f"Workload: {name}", each_size, GRAPHS) for name, each_size in found.items())
    return Outcome(tables, (Figure("growth", lambda path: draw(path, "Growth of the index of graph patterns", found)),))


def findings(title: str, found: Sequence[Growth], columns: Columns) -> Findings:
    if len(found) < 2:
        return Findings.of(title, found, columns)
    slope = exponent([each.point for each in found])
    note = f"The cost grows by the power {slope:.2f} of the subscriptions; linear would be 1."
    return Findings.of(title, found, columns, note)


def draw(path: Path, title: str, found: Mapping[str, Sequence[Growth]]) -> None:
    cost: dict[str, Line] = {name: [each.point for each in sizes] for name, sizes in found.items()}
    first, *_ = found.values()
    if len(found) == 1:
        cost["p99"] = [(each.subscriptions, each.timing.p99) for each in first]
    count, least = first[0].point
    cost["linear"] = [(each.subscriptions, least * each.subscriptions / count) for each in first]
    memory: dict[str, Line] = {
        name: [(each.subscriptions, each.bytes_each) for each in sizes] for name, sizes in found.items()
    }
    panels = [
        Panel("cost", "subscriptions", "µs", cost),
        Panel("in the index", "subscriptions", "bytes a subscription", memory),
    ]
    log_log(path, title, [panels])
