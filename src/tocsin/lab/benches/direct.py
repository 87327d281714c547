"""Delivery with a queue and direct: how long a message takes from its publisher to its consumer."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tocsin.lab.bench import Result, against_floor, alone, benchmark, timing
from tocsin.lab.benches._messages import LENGTH
from tocsin.lab.benches._stage import Stage, stage
from tocsin.lab.benches.broker import Sizes, delays

ROUNDS = 4


@benchmark("direct", "Delivery with a queue and direct: the latency the broker adds")
def measure(seed: int) -> Iterable[Result]:
    return results(seed, Sizes(slices=8), ROUNDS)


def results(seed: int, sizes: Sizes, rounds: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        queue_folder, direct_folder = Path(folder) / "queue", Path(folder) / "direct"
        with _set_up(queue_folder, "queue") as queue, _set_up(direct_folder, "direct") as direct:
            yield from _compared(queue, direct, seed, sizes, rounds)


def _set_up(folder: Path, mode: str) -> AbstractContextManager[Stage]:
    folder.mkdir()
    return stage(folder, f"delivery-mode={mode}")


def _compared(queue: Stage, direct: Stage, seed: int, sizes: Sizes, rounds: int) -> Iterator[Result]:
    """By turns: what else the machine does hits both alike. The first round warms up."""
    through: dict[str, list[int]] = {"queue": [], "direct": []}
    bare, synced = list[int](), list[int]()
    for each in (queue, direct):
        each.broker.subscribe(f"http://127.0.0.1:{each.sink.port}/0")
    for number in range(rounds + 1):
        first = 2 * number * sizes.slices * sizes.slice_messages
        for name, set_up in (("queue", queue), ("direct", direct)):
            took, posted, disk = delays(set_up, seed, sizes, first=first, slices=sizes.slices)
            if number:
                through[name] += took
                bare += posted
                synced += disk
    details = {"messages": len(through["queue"]), "bytes": LENGTH, "subscribers": 1}
    case, ours, theirs = f"at {sizes.per_second} messages/s", timing(through["direct"]), timing(through["queue"])
    floors = f"a bare POST takes {timing(bare).median:,.0f} µs, an fdatasync {timing(synced).median:,.0f}"
    yield alone(f"{case}, with a queue", theirs.median, "µs", sizes=details, timing=theirs, note=floors)
    name = "the same with a queue"
    yield against_floor(f"{case}, direct", ours.median, "µs", name, theirs.median, sizes=details, timing=ours)
