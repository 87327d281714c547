"""What the cases of the overlay's benchmark share: a sink, load by turns, and rows made of two contestants' runs."""

import contextlib
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from tocsin.lab.bench import Result, against_rival
from tocsin.lab.benches._messages import LENGTH
from tocsin.lab.benches._overlay_load import Broker, Floods, OneByOne, Paces, Task
from tocsin.lab.benches._overlay_nats import Cluster
from tocsin.lab.benches._overlay_run import Run
from tocsin.lab.benches._overlay_stage import Cores, Sink, sink
from tocsin.lab.benches._stage import Process, helper

PER_SECOND, PER_CPU = "notifications/s", "notifications per CPU-s"


class Sizes(Struct, frozen=True):
    """Where `fan_out` are subscribed there are fewer messages, so that a slice takes about as long."""

    cases: str = "rings,workers,rivals"
    rounds: int = 9
    messages: int = 1_200
    nodes: int = 4
    workers: int = 2
    fan_out: int = 10
    connections: int = 128
    ahead: int = 256
    requests: int = 1_000
    per_second: int = 200
    slices: int = 40
    slice_messages: int = 40
    rival_messages: int = 2_400


class Case:
    """No number of a message is used twice."""

    def __init__(self, seed: int, sizes: Sizes, folder: Path, cores: Cores, sink: Sink) -> None:
        self.sizes, self.folder, self.cores, self.sink = sizes, folder, cores, sink
        self._seed, self._used = seed, 0

    def subscribe(self, at: Process, paths: Sequence[int]) -> None:
        for each in paths:
            at.subscribe(f"http://127.0.0.1:{self.sink.process.port}/{each}")

    def floods(self, contestants: Sequence[Broker | Cluster], fan_out: int, count: int) -> list[list[Run]]:
        """Of each contestant a run a round."""
        sizes = self.sizes
        first = self._take(count * len(contestants) * (sizes.rounds + 1))
        work = Floods(first, sizes.rounds, count, sizes.connections, sizes.ahead, fan_out)
        return convert(self.load(contestants, work), list[list[Run]])

    def one_by_one(self, contestants: Sequence[Broker], count: int) -> list[list[int]]:
        first = self._take(2 * count * len(contestants))
        found: list[list[int]] = self.load(contestants, OneByOne(first, count))
        return found

    def delays(self, contestants: Sequence[Broker]) -> list[list[int]]:
        """Nanoseconds from when each message was sent until the sink had it."""
        sizes = self.sizes
        first = self._take(len(contestants) * sizes.slices * sizes.slice_messages)
        self.sink.process.get("/reset")
        work = Paces(first, sizes.per_second, sizes.slices, sizes.slice_messages)
        sent: list[list[tuple[int, int]]] = self.load(contestants, work)
        self.sink.wait_for(sum(map(len, sent)))
        came = dict(self.sink.process.get("/times"))
        return [[came[number] - start for number, start in each] for each in sent]

    def load(self, contestants: Sequence[Broker | Cluster], work: Floods | OneByOne | Paces) -> Any:
        pid, progress = self.sink.process.pid, self.sink.progress
        return helper("_overlay_load", Task(self._seed, self.cores.load, pid, progress, list(contestants), work))

    def _take(self, messages: int) -> int:
        self._used += messages
        return self._used - messages


@contextlib.contextmanager
def opened(seed: int, sizes: Sizes, cores: Cores) -> Iterator[Case]:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name:
        folder = Path(name)
        with sink(folder, cores.sink) as consumer:
            yield Case(seed, sizes, folder, cores, consumer)


class Contest(Struct, frozen=True):
    """What two did with slices of `count` messages each, by turns."""

    case: str
    rival: str
    count: int
    fan_out: int
    ours: list[Run]
    theirs: list[Run]

    def per_second(self, note: str = "", target: float | None = None) -> Result:
        return self._row(PER_SECOND, lambda run: run.seconds, note, target)

    def per_cpu(self, note: str = "", target: float | None = None) -> Result:
        """Of the brokers alone."""
        return self._row(PER_CPU, lambda run: run.brokers, note, target)

    def spent(self) -> str:
        """CPU of all who were at work."""
        return f"{_spent(self.ours, self.count)}; {self.rival}: {_spent(self.theirs, self.count)}"

    def _row(self, unit: str, took: Callable[[Run], float], note: str, target: float | None) -> Result:
        ours, theirs = self._middle(took)
        sizes = {"messages": self.count * len(self.ours), "bytes": LENGTH, "fan-out": self.fan_out}
        return against_rival(self.case, ours, unit, self.rival, theirs, target=target, sizes=sizes, note=note)

    def _middle(self, took: Callable[[Run], float]) -> tuple[float, float]:
        """Of both in the round whose ratio is the median: slices of a round are a second apart, and a machine that is
        shared changes its pace."""
        pairs = [(took(ours), took(theirs)) for ours, theirs in zip(self.ours, self.theirs, strict=True)]
        ours, theirs = sorted(pairs, key=lambda pair: pair[1] / pair[0])[(len(pairs) - 1) // 2]
        return self.count / ours, self.count / theirs


def _spent(runs: Sequence[Run], count: int) -> str:
    brokers, load, sink = (
        statistics.median(getattr(run, name) for run in runs) / count * 1e6 for name in ("brokers", "load", "sink")
    )
    return f"CPU µs a notification: brokers {brokers:,.0f}, publisher {load:,.0f}, sink {sink:,.0f}"
