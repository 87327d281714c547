"""The broker as a process of its own: deliveries for each CPU-second, and the latency it adds."""

import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from msgspec import Struct

from tocsin.lab.bench import Result, against_floor, against_rival, alone, at_most, benchmark
from tocsin.lab.benches import _bare, _load
from tocsin.lab.benches._messages import LENGTH, Messages
from tocsin.lab.benches._stage import Stage, helper, stage
from tocsin.lab.race import timing

DELIVERIES_PER_CPU_SECOND = 10_000.0
SHARE_OF_THE_CLIENT = 0.4
TIMES_THE_FLOOR = 2.5
UNIT = "deliveries per CPU-s"


class Sizes(Struct, frozen=True):
    rounds: int = 5
    messages: int = 2_000
    warm_up: int = 1_500
    fan_out: int = 10
    connections: int = 16
    ahead: int = 256  # so many messages are on their way, so that no queue overflows
    per_second: int = 500
    slices: int = 8
    slice_messages: int = 200


@benchmark("broker", "The broker as a process: deliveries for each CPU-second, and the latency it adds")
def measure(seed: int) -> Iterable[Result]:
    return results(seed, Sizes())


def results(seed: int, sizes: Sizes) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder)) as set_up:
        yield from _fan_out(set_up, seed, sizes)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder)) as set_up:
        yield from _latency(set_up, seed, sizes)


class _Rates(Struct):
    """One figure a round."""

    broker: list[float]
    per_second: list[float]
    unbounded: list[float]
    ours: list[float]
    pycurl: list[float]


def _fan_out(set_up: Stage, seed: int, sizes: Sizes) -> Iterator[Result]:
    for each in range(sizes.fan_out):
        set_up.broker.subscribe(f"http://127.0.0.1:{set_up.sink.port}/{each}")
    flood, rates = _Flooding(set_up, seed, sizes), _Rates([], [], [], [], [])
    flood.run(sizes.warm_up, sizes.ahead)
    for _ in range(sizes.rounds):
        _round(flood, rates)
    details = {"messages": sizes.messages * sizes.rounds, "bytes": LENGTH, "fan-out": sizes.fan_out}
    details |= {"connections": sizes.connections}
    reached, case = statistics.median(rates.broker), "durable accept, fan-out 10"
    yield against_rival(
        case, reached, UNIT, "what is promised", DELIVERIES_PER_CPU_SECOND, target=1.0, sizes=details, note=_told(rates)
    )
    for name, alone_reached in (("our HTTP client alone", rates.ours), ("pycurl alone", rates.pycurl)):
        value = statistics.median(alone_reached)
        yield against_rival(case, reached, UNIT, name, value, target=SHARE_OF_THE_CLIENT, sizes=details)
    yield alone(f"{case}, queues overflowing", statistics.median(rates.unbounded), UNIT, sizes=details)


def _round(flood: "_Flooding", rates: _Rates) -> None:
    """All contestants by turns: what else the machine does hits them alike."""
    sizes = flood.sizes
    begun = time.perf_counter()
    rates.broker.append(flood.run(sizes.messages, sizes.ahead))
    rates.per_second.append(sizes.messages * sizes.fan_out / (time.perf_counter() - begun))
    rates.ours.append(flood.run_bare("ours"))
    rates.unbounded.append(flood.run(sizes.messages, 1 << 30))
    rates.pycurl.append(flood.run_bare("pycurl"))


def _told(rates: _Rates) -> str:
    low, high = min(rates.broker), max(rates.broker)
    return f"rounds between {low:,.0f} and {high:,.0f}; {statistics.median(rates.per_second):,.0f} deliveries/s by the clock"


class _Flooding:
    def __init__(self, set_up: Stage, seed: int, sizes: Sizes) -> None:
        self._set_up, self._seed, self.sizes = set_up, seed, sizes
        self._used = 0

    def run(self, messages: int, ahead: int) -> float:
        """Deliveries per CPU-second of the broker; Lost when the sink has not got each message on each path."""
        sizes, set_up = self.sizes, self._set_up
        set_up.reset()
        begun = set_up.broker.cpu_seconds()
        work = _load.Flood(
            self._take(messages), messages, sizes.connections, ahead, sizes.fan_out, str(set_up.folder / "progress")
        )
        helper("_load", _load.Task(self._seed, set_up.broker.port, "/broker", work))
        set_up.wait_for(messages * sizes.fan_out)
        return messages * sizes.fan_out / (set_up.broker.cpu_seconds() - begun)

    def run_bare(self, client: str) -> float:
        sizes, set_up = self.sizes, self._set_up
        set_up.reset()
        first = self._take(sizes.messages)
        task = _bare.Task(client, self._seed, set_up.sink.port, first, sizes.messages, sizes.fan_out)
        seconds: float = helper("_bare", task)
        set_up.wait_for(sizes.messages * sizes.fan_out)
        return sizes.messages * sizes.fan_out / seconds

    def _take(self, messages: int) -> int:
        self._used += messages
        return self._used - messages


def _latency(set_up: Stage, seed: int, sizes: Sizes) -> Iterator[Result]:
    set_up.broker.subscribe(f"http://127.0.0.1:{set_up.sink.port}/0")
    through: list[int] = []
    direct: list[int] = []
    synced: list[int] = []
    numbers = count(0, sizes.slice_messages)
    for turn in range(sizes.slices + 1):
        made = (
            _delays(set_up, seed, sizes, next(numbers), set_up.broker.port, "/broker"),
            _delays(set_up, seed, sizes, next(numbers), set_up.sink.port, "/0"),
            _syncs(set_up.folder / "floor", seed, sizes),
        )
        if turn:  # the first is the warm-up
            for all_of_them, these in zip((through, direct, synced), made, strict=True):
                all_of_them += these
    ours, floor = timing(through), timing([post + sync for post, sync in zip(direct, synced, strict=True)])
    yield against_floor(
        f"latency at {sizes.per_second} messages/s, durable",
        ours.median,
        "µs",
        "a POST to the consumer + one fdatasync",
        floor.median,
        target=at_most(TIMES_THE_FLOOR),
        sizes={"messages": len(through), "bytes": LENGTH, "subscribers": 1},
        timing=ours,
        note=f"floor p99 {floor.p99:,.0f} µs; {timing(direct).median:,.0f} for the POST, "
        f"{timing(synced).median:,.0f} for the sync; added {ours.median - floor.median:,.0f} µs in the median",
    )


def _delays(set_up: Stage, seed: int, sizes: Sizes, first: int, port: int, path: str) -> list[int]:
    """Nanoseconds from the start of each POST until the sink has the message."""
    set_up.reset()
    work = _load.Pace(first, sizes.slice_messages, sizes.per_second)
    starts = helper("_load", _load.Task(seed, port, path, work))
    set_up.wait_for(sizes.slice_messages)
    came = dict(set_up.sink.get("/times"))
    return [came[number] - start for number, start in starts]


def _syncs(file: Path, seed: int, sizes: Sizes) -> list[int]:
    """Nanoseconds to append the bytes of one message and have them on disk, at the same pace."""
    body = Messages(seed, "127.0.0.1", "/").of(0).partition(b"\r\n\r\n")[2]
    taken: list[int] = []
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    begun = time.monotonic()
    for each in range(sizes.slice_messages):
        time.sleep(max(0.0, begun + each / sizes.per_second - time.monotonic()))
        start = time.monotonic_ns()
        os.write(descriptor, body)
        os.fdatasync(descriptor)
        taken.append(time.monotonic_ns() - start)
    os.close(descriptor)
    return taken
