"""The engine with mixed subscriptions: the cost of a notification, of changes while it matches, of a snapshot."""

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from time import perf_counter_ns, thread_time_ns
from typing import TypeVar

from msgspec import Struct

from tocsin.lab.bench import Result, Timing, against_floor, alone, benchmark, compared, timing
from tocsin.lab.benches._growth import Growth, apart, engine_growth, exponent
from tocsin.lab.benches._matching import LEAST, ONE_BY_ONE, check, engine_of, over, race_by_cpu, up_to, wanted
from tocsin.lab.workloads.files import drawn_notifications, drawn_subscriptions, one_by_one
from tocsin.lab.workloads.texts import MIXED
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription
from tocsin.platform.serving import patient_collector
from tocsin.store import snapshots

Given = TypeVar("Given")


class Calls(Struct, frozen=True):
    """By the clock on the wall and by that of the processor; the slowest in microseconds."""

    wall: Timing
    cpu: Timing
    slowest: float


class ChangeTimes(Struct, frozen=True):
    """`waited` is from the wish to insert to the end, with the match that goes on before."""

    inserted: Calls
    removed: Calls
    waited: Timing
    matched: Timing


async def _changed(
    engine: Engine, coming: Sequence[Subscription], going: Sequence[Subscription], events: Sequence[Notification]
) -> ChangeTimes:
    inserted, removed, matched = _Watch(), _Watch(), _Watch()
    waited: list[int] = []
    matching = asyncio.create_task(_match(engine, events, matched))
    for new, old in zip(coming, going, strict=True):
        wished = perf_counter_ns()
        await asyncio.sleep(0)
        inserted.time(engine.apply, new)
        waited.append(perf_counter_ns() - wished)
        await asyncio.sleep(0)
        removed.time(engine.remove, old.id)
    matching.cancel()
    await asyncio.wait((matching,))
    return ChangeTimes(inserted.calls(), removed.calls(), timing(waited), timing(matched.wall))


async def _match(engine: Engine, events: Sequence[Notification], matched: "_Watch") -> None:
    for event in cycle(events):
        matched.time(engine.match, event)
        await asyncio.sleep(0)


class _Watch:
    def __init__(self) -> None:
        self.wall: list[int] = []
        self.cpu: list[int] = []

    def time(self, work: Callable[[Given], object], given: Given) -> None:
        cpu, wall = thread_time_ns(), perf_counter_ns()
        work(given)
        self.wall.append(perf_counter_ns() - wall)
        self.cpu.append(thread_time_ns() - cpu)

    def calls(self) -> Calls:
        return Calls(timing(self.wall), timing(self.cpu), max(self.wall) / 1000)


CHECKED = 3
MOST_BYTES = 512
MOST_MICROSECONDS = 1_000
MEMORY_NOTE = (
    "by what the process grew as the engine took subscriptions that were there before, so without them, and without "
    "the bounded cache of expressions that were read; before the first match"
)
CHANGE_NOTE = "a task on the same loop matches one notification between every two changes; the call alone, p99"

CPU_NOTE = "the same calls, without what the machine did meanwhile; p99"


class Sizes(Struct, frozen=True):
    largest: int = 1_000_000
    subscriptions: int = 100_000  # of the changes and of the snapshot
    notifications: int = 1_000
    changes: int = 2_000


@benchmark("engine", "mixed subscriptions: cost a notification as they grow, memory, changes, snapshot", choices=Sizes)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    yield against_one_by_one(seed, sizes)
    yield from growth([apart(engine_growth, count, seed, sizes.notifications) for count in up_to(sizes.largest)])
    known, asking = drawn_subscriptions(MIXED, sizes.subscriptions + sizes.changes, seed)
    events = drawn_notifications(MIXED, sizes.notifications, seed)
    standing, coming = asking[: sizes.subscriptions], asking[sizes.subscriptions :]
    engine = engine_of(known, standing)
    check(engine, standing, events[:CHECKED], known)
    # of an engine that matched before, as a node has them when it starts again
    for each in events:
        engine.match(each)
    informed = engine_of(engine.catalogue, standing, engine.statistics())
    assert wanted(informed, events[0]) == wanted(engine, events[0])
    timings = race_by_cpu({"informed": over(informed.match, events), "guessing": over(engine.match, events)}, rounds=10)
    case, details = f"{len(standing):,} subscriptions, with statistics", {"subscriptions": len(standing)}
    yield compared(case, timings, "informed", "guessing", "ours without", sizes=details)
    yield from snapshot(engine, standing, events, known)
    yield from changes(engine, coming, standing[: sizes.changes], events)


def against_one_by_one(seed: int, sizes: Sizes) -> Result:
    known, asking = drawn_subscriptions(MIXED, LEAST, seed)
    engine, events = engine_of(known, asking), drawn_notifications(MIXED, min(sizes.notifications, 200), seed)
    check(engine, asking, events[:CHECKED], known)
    works = {
        "ours": over(engine.match, events),
        ONE_BY_ONE: over(lambda event: one_by_one(asking, event, known), events),
    }
    timings = race_by_cpu(works, rounds=10)
    details, note = {"subscriptions": len(asking)}, "parsing the payload is counted on both sides"
    return compared(f"{LEAST:,} subscriptions", timings, "ours", ONE_BY_ONE, sizes=details, note=note)


def growth(each_size: Sequence[Growth]) -> Iterator[Result]:
    for each in each_size:
        details = {"subscriptions": each.subscriptions, "matches": round(each.matches)}
        name, cost = f"{each.subscriptions:,} subscriptions", each.timing.median
        yield alone(f"{name}, a notification", cost, "µs", sizes=details, timing=each.timing)
        yield alone(f"{name}, insert at the start", each.build, "µs", sizes=details)
    for each in each_size:
        case, details = f"{each.subscriptions:,} subscriptions, memory", {"subscriptions": each.subscriptions}
        took, unit = each.bytes_each, "bytes a subscription"
        if each is each_size[-1]:
            yield against_floor(case, took, unit, "at most", MOST_BYTES, target=1.0, sizes=details, note=MEMORY_NOTE)
        else:
            yield alone(case, took, unit, sizes=details)
    if len(each_size) > 1:
        yield _below_linear("growth of a notification's cost", each_size)
    if len(each_size) > 2:
        yield _below_linear("growth, where it is steepest", max(pairwise(each_size), key=_exponent))


def _below_linear(case: str, each_size: Sequence[Growth]) -> Result:
    """A straight line through the logarithms; its slope is 1 where ten times as many cost ten times as much."""
    first, last = each_size[0], each_size[-1]
    times = last.timing.median / first.timing.median
    note = f"from {first.subscriptions:,} to {last.subscriptions:,} subscriptions it costs {times:.1f} times as much"
    return against_floor(case, _exponent(each_size), "exponent", "linear", 1.0, target=1.0, note=note)


def _exponent(each_size: Sequence[Growth]) -> float:
    return exponent([each.point for each in each_size])


def changes(
    engine: Engine, coming: Sequence[Subscription], going: Sequence[Subscription], events: Sequence[Notification]
) -> Iterator[Result]:
    details = {"subscriptions": len(engine), "changes": len(coming)}
    with patient_collector():
        found = asyncio.run(_changed(engine, coming, going, events))
    for case, calls in (("insert", found.inserted), ("remove", found.removed)):
        note = f"{CHANGE_NOTE}; the slowest took {calls.slowest:,.0f} µs"
        yield against_floor(
            f"{case} while another task matches", calls.wall.p99, "µs", "at most", MOST_MICROSECONDS,
            target=1.0, sizes=details, timing=calls.wall, note=note,
        )  # fmt: skip
        yield alone(
            f"{case}, time of the processor", calls.cpu.p99, "µs", sizes=details, timing=calls.cpu, note=CPU_NOTE
        )
    note = "from the wish to the end, with the match that goes on before"
    yield alone("insert, with the wait", found.waited.median, "µs", sizes=details, timing=found.waited, note=note)
    case = "a notification between changes"
    yield alone(case, found.matched.median, "µs", sizes=details, timing=found.matched)


def snapshot(
    engine: Engine, asking: Sequence[Subscription], events: Sequence[Notification], catalogue: Catalogue
) -> Iterator[Result]:
    details = {"subscriptions": len(asking)}
    gc.collect()
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        begun = time.perf_counter()
        made_snapshot = compiled(asking, catalogue)
        yield alone("snapshot, compile", time.perf_counter() - begun, "s", sizes=details)
        path = snapshots.save(Path(folder), made_snapshot, 1)
        size = sum(each.stat().st_size for each in path.iterdir())
        note = "on disk, the subscriptions themselves among them"
        yield alone("snapshot, size", size / len(asking), "bytes a subscription", sizes=details, note=note)
        begun = time.perf_counter()
        loaded = Engine(catalogue, base=Compiled(snapshots.load(path), catalogue))
        yield alone("snapshot, load", (time.perf_counter() - begun) * 1e3, "ms", sizes=details)
        begun = time.perf_counter()
        loaded.match(events[0])
        yield alone("snapshot, first match", (time.perf_counter() - begun) * 1e3, "ms", sizes=details)
        for each in events[:CHECKED]:
            assert wanted(loaded, each) == wanted(engine, each)
        timings = race_by_cpu({"loaded": over(loaded.match, events), "engine": over(engine.match, events)}, rounds=10)
        rival = "the engine that changes"
        yield compared("snapshot, a notification", timings, "loaded", "engine", rival, sizes=details)
