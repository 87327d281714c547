"""The broker as a process of its own: what it costs to accept and to deliver, and the latency it adds."""

import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, convert

from tocsin.lab.bench import Result, against_floor, against_rival, alone, at_most, benchmark, timing
from tocsin.lab.benches import _bare, _load
from tocsin.lab.benches._messages import LENGTH
from tocsin.lab.benches._stage import Process, Stage, helper, stage, started

DELIVERIES_PER_CPU_SECOND = 10_000.0
SHARE_OF_THE_CLIENT = 0.4
TIMES_THE_FLOOR = 2.5
ACCEPT_TIMES_THE_FLOOR = 2.0
UNIT = "deliveries per CPU-s"


class Sizes(Struct, frozen=True):
    rounds: int = 5
    messages: int = 1_200
    warm_up: int = 1_500
    fan_out: int = 10
    connections: int = 16
    ahead: int = 256  # so many messages are on their way, so that no queue overflows
    per_second: int = 500
    slices: int = 32
    slice_messages: int = 40
    accept_slices: int = 120
    accept_messages: int = 200


@benchmark("broker", "The broker as a process: the CPU it needs to accept and to deliver, and the latency it adds")
def measure(seed: int) -> Iterable[Result]:
    return results(seed, Sizes())


def results(seed: int, sizes: Sizes) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder)) as set_up:
        yield from _fan_out(set_up, seed, sizes)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder)) as set_up:
        yield from _latency(set_up, seed, sizes)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder)) as set_up:
        yield _accept(set_up, seed, sizes)


class _Rates(Struct):
    """One figure a round."""

    broker: list[float]
    unbounded: list[float]
    ours: list[float]
    pycurl: list[float]


def _fan_out(set_up: Stage, seed: int, sizes: Sizes) -> Iterator[Result]:
    for each in range(sizes.fan_out):
        set_up.broker.subscribe(f"http://127.0.0.1:{set_up.sink.port}/{each}")
    flood, rates = _Flooding(set_up, seed, sizes), _Rates([], [], [], [])
    flood.run(sizes.warm_up, sizes.ahead)
    for _ in range(sizes.rounds):
        _round(flood, rates)
    details = {"messages": sizes.messages * sizes.rounds, "bytes": LENGTH, "fan-out": sizes.fan_out}
    details |= {"connections": sizes.connections}
    reached, case = statistics.median(rates.broker), f"durable accept, fan-out {sizes.fan_out}"
    note = f"rounds between {min(rates.broker):,.0f} and {max(rates.broker):,.0f}"
    promised = DELIVERIES_PER_CPU_SECOND
    yield against_rival(case, reached, UNIT, "what is promised", promised, target=1.0, sizes=details, note=note)
    for name, alone_reached in (("our HTTP client alone", rates.ours), ("pycurl alone", rates.pycurl)):
        value = statistics.median(alone_reached)
        yield against_rival(case, reached, UNIT, name, value, target=SHARE_OF_THE_CLIENT, sizes=details)
    yield alone(f"{case}, queues overflowing", statistics.median(rates.unbounded), UNIT, sizes=details)


def _round(flood: "_Flooding", rates: _Rates) -> None:
    """All contestants by turns: what else the machine does hits them alike."""
    sizes = flood.sizes
    rates.broker.append(flood.run(sizes.messages, sizes.ahead))
    rates.ours.append(flood.run_bare("ours"))
    rates.unbounded.append(flood.run(sizes.messages, 1 << 30))
    rates.pycurl.append(flood.run_bare("pycurl"))


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


def _accept(set_up: Stage, seed: int, sizes: Sizes) -> Result:
    """Nobody is subscribed: what is paid for is reading, writing it to disk, and the answer."""
    size, warm_up = sizes.accept_messages, sizes.accept_slices // 10 + 1
    with started([], "tocsin.lab.benches._floor") as (pid, told):
        servers = [set_up.broker, Process(pid, told["port"])]
        work = _load.Contest(0, warm_up + sizes.accept_slices, size, sizes.connections, servers)
        spent: list[list[float]] = helper("_load", _load.Task(seed, 0, "/broker", work))
    ours, floor = ([seconds / size * 1e6 for seconds in each[warm_up:]] for each in spent)
    times = sorted(mine / least for mine, least in zip(ours, floor, strict=True))
    median = statistics.median(floor)
    return against_floor(
        "accept a WSN Notify, durable, nobody subscribed",
        median * statistics.median(times),
        "CPU µs",
        "uvicorn, lxml parse, 202",
        median,
        target=at_most(ACCEPT_TIMES_THE_FLOOR),
        sizes={"messages": len(ours) * size, "bytes": LENGTH, "connections": sizes.connections},
        note=f"{statistics.median(times):.2f} times the floor in the median slice, "
        f"half of them between {times[len(times) // 4]:.2f} and {times[len(times) * 3 // 4]:.2f}",
    )


def _latency(set_up: Stage, seed: int, sizes: Sizes) -> Iterator[Result]:
    set_up.broker.subscribe(f"http://127.0.0.1:{set_up.sink.port}/0")
    warm_up = 2
    delays(set_up, seed, sizes, first=0, slices=warm_up)
    first = 2 * warm_up * sizes.slice_messages
    through, direct, synced = delays(set_up, seed, sizes, first=first, slices=sizes.slices)
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
        note=f"floor {timing(direct).median:,.0f} + {timing(synced).median:,.0f} µs, p99 {floor.p99:,.0f}; "
        + _quietest(through, direct, synced, sizes.slice_messages),
    )


def _quietest(through: Sequence[int], direct: Sequence[int], synced: Sequence[int], size: int) -> str:
    """On a busy machine whoever waits for the disk waits for a core as well: then only the best slices tell."""
    slices = range(0, len(through), size)
    ours, post, sync = (
        min(timing(all_of[at : at + size]).median for at in slices) for all_of in (through, direct, synced)
    )
    times = ours / (post + sync)
    return f"in the quietest slices {ours:,.0f} to {post:,.0f} + {sync:,.0f} µs, {times:.2f} times the floor"


Delays = tuple[list[int], list[int], list[int]]


def delays(set_up: Stage, seed: int, sizes: Sizes, *, first: int, slices: int) -> Delays:
    """Nanoseconds from the start of each POST until the sink has the message, through the broker and without; syncs."""
    set_up.reset()
    file = str(set_up.folder / "floor")
    work = _load.Pace(first, sizes.per_second, slices, sizes.slice_messages, set_up.sink.port, "/direct", file)
    paced = convert(helper("_load", _load.Task(seed, set_up.broker.port, "/broker", work)), _load.Paced)
    set_up.wait_for(2 * slices * sizes.slice_messages)
    came = dict(set_up.sink.get("/times"))
    through, direct = ([came[number] - start for number, start in each] for each in (paced.through, paced.direct))
    return through, direct, paced.synced
