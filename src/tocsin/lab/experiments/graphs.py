"""How the index of graph patterns grows, from a thousand to a million of them: an event's cost, bytes in the index."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tocsin.lab.benches._graph_grown import HIERARCHIES, PAPER, GraphsGrown, graphs_grown
from tocsin.lab.benches._grown import exponent
from tocsin.lab.benches._matching import up_to
from tocsin.lab.experiment import Figure, Findings, Outcome, Progress, experiment
from tocsin.lab.plots import Panel, log_log

COLUMNS = ("subscriptions", "µs an event", "p99 µs", "matching %", "µs an insert", "nodes", "bytes a subscription")


class Choices(Struct, frozen=True):
    largest: int = 1_000_000
    events: int = 100


@experiment("graphs", "the cost and memory of graph patterns as subscriptions grow", choices=Choices)
def graphs(seed: int, progress: Progress, choices: Choices) -> Outcome:
    found: dict[str, list[GraphsGrown]] = {PAPER: [], HIERARCHIES: []}
    for workload, grown in found.items():
        for count in up_to(choices.largest):
            progress(f"{workload}: {count:,} subscriptions")
            grown.append(graphs_grown(workload, count, seed, choices.events))
    tables = tuple(findings(name, grown) for name, grown in found.items())
    return Outcome(tables, (Figure("growth", lambda path: draw(path, found)),))


def findings(workload: str, found: Sequence[GraphsGrown]) -> Findings:
    rows = tuple(
        (
            each.subscriptions,
            each.timing.median,
            each.timing.p99,
            each.rate,
            each.build,
            each.nodes,
            each.index_bytes / each.subscriptions,
        )
        for each in found
    )
    return Findings(f"Workload: {workload}", COLUMNS, rows, _notes(found))


def _notes(found: Sequence[GraphsGrown]) -> tuple[str, ...]:
    if len(found) < 2:
        return ()
    slope = exponent([(each.subscriptions, each.timing.median) for each in found])
    return (f"The cost grows by the power {slope:.2f} of the subscriptions; linear would be 1.",)


def draw(path: Path, found: dict[str, list[GraphsGrown]]) -> None:
    cost = {name: [(each.subscriptions, each.timing.median) for each in grown] for name, grown in found.items()}
    count, first = cost[PAPER][0]
    cost["linear"] = [(each, first * each / count) for each, _ in cost[PAPER]]
    memory = {
        name: [(each.subscriptions, each.index_bytes / each.subscriptions) for each in grown]
        for name, grown in found.items()
    }
    panels = [
        Panel("an event", "subscriptions", "µs", cost),
        Panel("in the index", "subscriptions", "bytes a subscription", memory),
    ]
    log_log(path, "Growth of the index of graph patterns", [panels])
