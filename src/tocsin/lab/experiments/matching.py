"""How the engine grows, from a thousand mixed subscriptions to a million: a notification's cost, bytes in the index."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tocsin.lab.benches._grown import Grown, exponent, grown
from tocsin.lab.benches._matching import up_to
from tocsin.lab.experiment import Figure, Findings, Outcome, Progress, experiment
from tocsin.lab.plots import Panel, log_log

COLUMNS = ("subscriptions", "µs a notification", "p99 µs", "matches", "µs an insert", "bytes a subscription")


class Choices(Struct, frozen=True):
    largest: int = 1_000_000
    notifications: int = 1_000


@experiment("matching", "the engine's cost and memory as mixed subscriptions grow", choices=Choices)
def matching(seed: int, progress: Progress, choices: Choices) -> Outcome:
    found: list[Grown] = []
    for count in up_to(choices.largest):
        progress(f"{count:,} subscriptions")
        found.append(grown(count, seed, choices.notifications))
    return Outcome((findings(found),), (Figure("growth", lambda path: draw(path, found)),))


def findings(found: Sequence[Grown]) -> Findings:
    rows = tuple(
        (
            each.subscriptions,
            each.timing.median,
            each.timing.p99,
            each.matches,
            each.build,
            each.index_bytes / each.subscriptions,
        )
        for each in found
    )
    return Findings("Mixed subscriptions, conjunctions of two or three kinds", COLUMNS, rows, _notes(found))


def _notes(found: Sequence[Grown]) -> tuple[str, ...]:
    if len(found) < 2:
        return ()
    slope = exponent([(each.subscriptions, each.timing.median) for each in found])
    return (f"The cost grows by the power {slope:.2f} of the subscriptions; linear would be 1.",)


def draw(path: Path, found: Sequence[Grown]) -> None:
    first = found[0]
    cost = Panel(
        "a notification",
        "subscriptions",
        "µs",
        {
            "median": [(each.subscriptions, each.timing.median) for each in found],
            "p99": [(each.subscriptions, each.timing.p99) for each in found],
            "linear": [
                (each.subscriptions, first.timing.median * each.subscriptions / first.subscriptions) for each in found
            ],
        },
    )
    memory = Panel(
        "in the index",
        "subscriptions",
        "bytes a subscription",
        {"bytes": [(each.subscriptions, each.index_bytes / each.subscriptions) for each in found]},
    )
    log_log(path, "Growth of the engine", [[cost, memory]])
