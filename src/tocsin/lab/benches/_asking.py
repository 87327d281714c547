"""What it costs a node that a publication asks for replies: the same messages with and without, by turns, through one
that keeps them on disk and delivers them; nobody replies."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tocsin.lab.bench import Result, against_floor, at_most
from tocsin.lab.benches import _load
from tocsin.lab.benches._messages import ASKING, LENGTH
from tocsin.lab.benches._stage import Stage, helper, stage

FLOOR = "the same, asking for nothing"
TIMES_WITHOUT_ASKING = 1.3


class Sizes(Struct, frozen=True):
    rounds: int = 7
    messages: int = 600
    fan_out: int = 10
    connections: int = 16
    ahead: int = 256


def results(seed: int, sizes: Sizes) -> Iterator[Result]:
    for fan_out in (1, sizes.fan_out):
        views = f"reply-views={2 * (sizes.rounds + 1) * sizes.messages}"
        with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder), views) as set_up:
            yield _compared(set_up, seed, sizes, fan_out)


def _compared(set_up: Stage, seed: int, sizes: Sizes, fan_out: int) -> Result:
    """The first round warms up."""
    for each in range(fan_out):
        set_up.broker.subscribe(f"http://127.0.0.1:{set_up.sink.port}/{each}")
    spent: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * (sizes.rounds + 1)):
        asking = number % 2 == 1
        took = _micros(set_up, seed, sizes, fan_out, number * sizes.messages, asking=asking)
        if number > 1:
            spent[asking].append(took)
    times = sorted(mine / least for mine, least in zip(spent[True], spent[False], strict=True))
    floor = statistics.median(spent[False])
    more = floor * (statistics.median(times) - 1)
    return against_floor(
        f"a publication that asks for replies, {fan_out} subscribed",
        floor * statistics.median(times),
        "CPU µs",
        FLOOR,
        floor,
        target=at_most(TIMES_WITHOUT_ASKING),
        sizes={"messages": sizes.rounds * sizes.messages, "bytes": LENGTH, "more bytes": len(ASKING)},
        note=f"{more:,.0f} µs more; rounds between {times[0]:.2f} and {times[-1]:.2f} times the floor",
    )


def _micros(set_up: Stage, seed: int, sizes: Sizes, fan_out: int, first: int, *, asking: bool) -> float:
    """CPU of the node, a publication with all its deliveries."""
    set_up.reset()
    begun = set_up.broker.cpu_seconds()
    work = _load.Flood(first, sizes.messages, sizes.connections, sizes.ahead, fan_out, str(set_up.folder / "progress"))
    helper("_load", _load.Task(seed, set_up.broker.port, "/broker", work, asking))
    set_up.wait_for(sizes.messages * fan_out)
    return (set_up.broker.cpu_seconds() - begun) / sizes.messages * 1e6
