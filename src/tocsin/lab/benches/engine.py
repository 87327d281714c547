"""Mixed subscriptions, conjunctions of two or three kinds: what a notification, a change and a snapshot cost."""

import gc
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from tocsin.lab.bench import Result, against_floor, alone, benchmark, side_by_side
from tocsin.lab.benches._changing import changed
from tocsin.lab.benches._grown import Grown, exponent, grown
from tocsin.lab.benches._matching import LEAST, ONE_BY_ONE, check, engine_of, over, race_by_cpu, up_to, wanted
from tocsin.lab.workload import MIXED
from tocsin.lab.workload_files import made, one_by_one, told
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription
from tocsin.platform.collector import patient_collector
from tocsin.store import snapshots

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
    yield from growth([grown(count, seed, sizes.notifications) for count in up_to(sizes.largest)])
    known, asking = made(MIXED, sizes.subscriptions + sizes.changes, seed)
    events = told(MIXED, sizes.notifications, seed)
    standing, coming = asking[: sizes.subscriptions], asking[sizes.subscriptions :]
    engine = engine_of(known, standing)
    check(engine, standing, events[:CHECKED], known)
    yield with_statistics(engine, standing, events)
    yield from snapshot(engine, standing, events, known)
    yield from changes(engine, coming, standing[: sizes.changes], events)


def against_one_by_one(seed: int, sizes: Sizes) -> Result:
    known, asking = made(MIXED, LEAST, seed)
    engine, events = engine_of(known, asking), told(MIXED, min(sizes.notifications, 200), seed)
    check(engine, asking, events[:CHECKED], known)
    works = {
        "ours": over(engine.match, events),
        ONE_BY_ONE: over(lambda event: one_by_one(asking, event, known), events),
    }
    timings = race_by_cpu(works, rounds=10)
    ours, theirs = side_by_side(timings["ours"], timings[ONE_BY_ONE])
    details, note = {"subscriptions": len(asking)}, "parsing the payload is counted on both sides"
    return against_floor(
        f"{LEAST:,} subscriptions", ours, "µs", ONE_BY_ONE, theirs, sizes=details, timing=timings["ours"], note=note
    )


def growth(each_size: Sequence[Grown]) -> Iterator[Result]:
    for each in each_size:
        details = {"subscriptions": each.subscriptions, "matches": each.matches}
        name, cost = f"{each.subscriptions:,} subscriptions", each.timing.median
        yield alone(f"{name}, a notification", cost, "µs", sizes=details, timing=each.timing)
        yield alone(f"{name}, insert at the start", each.build, "µs", sizes=details)
    for each in each_size:
        case, details = f"{each.subscriptions:,} subscriptions, memory", {"subscriptions": each.subscriptions}
        took = each.index_bytes / each.subscriptions
        is_largest = each is each_size[-1]
        if is_largest:
            yield against_floor(
                case, took, "bytes a subscription", "at most", MOST_BYTES, target=1.0, sizes=details, note=MEMORY_NOTE
            )
        else:
            yield alone(case, took, "bytes a subscription", sizes=details)
    if len(each_size) > 1:
        yield _below_linear("growth of a notification's cost", each_size)
    if len(each_size) > 2:
        yield _below_linear("growth, where it is steepest", max(pairwise(each_size), key=_exponent))


def _below_linear(case: str, each_size: Sequence[Grown]) -> Result:
    """A straight line through the logarithms; its slope is 1 where ten times as many cost ten times as much."""
    first, last = each_size[0], each_size[-1]
    times = last.timing.median / first.timing.median
    note = f"from {first.subscriptions:,} to {last.subscriptions:,} subscriptions it costs {times:.1f} times as much"
    return against_floor(case, _exponent(each_size), "exponent", "linear", 1.0, target=1.0, note=note)


def _exponent(each_size: Sequence[Grown]) -> float:
    return exponent([(each.subscriptions, each.timing.median) for each in each_size])


def with_statistics(engine: Engine, asking: Sequence[Subscription], events: Sequence[Notification]) -> Result:
    """Of an engine that matched before, as a node has them when it starts again."""
    for each in events:
        engine.match(each)
    informed = engine_of(engine.catalogue, asking, engine.statistics())
    assert wanted(informed, events[0]) == wanted(engine, events[0])
    timings = race_by_cpu({"informed": over(informed.match, events), "guessing": over(engine.match, events)}, rounds=10)
    ours, theirs = side_by_side(timings["informed"], timings["guessing"])
    return against_floor(
        f"{len(asking):,} subscriptions, with statistics", ours, "µs", "ours without", theirs,
        sizes={"subscriptions": len(asking)}, timing=timings["informed"],
    )  # fmt: skip


def changes(
    engine: Engine, coming: Sequence[Subscription], going: Sequence[Subscription], events: Sequence[Notification]
) -> Iterator[Result]:
    details = {"subscriptions": len(engine), "changes": len(coming)}
    with patient_collector():
        found = changed(engine, coming, going, events)
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
        ours, theirs = side_by_side(timings["loaded"], timings["engine"])
        yield against_floor(
            "snapshot, a notification", ours, "µs", "the engine that changes", theirs,
            sizes=details, timing=timings["loaded"],
        )  # fmt: skip
