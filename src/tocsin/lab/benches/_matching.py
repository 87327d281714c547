"""Helpers of the benchmarks of matching."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from time import thread_time_ns
from typing import TypeVar

from tocsin.lab.bench import Timing, race
from tocsin.lab.workloads.files import one_by_one
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine
from tocsin.matching.index.combination import NO_STATISTICS, Statistics
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

Given = TypeVar("Given")
Work = Callable[[], object]
ONE_BY_ONE = "one by one"
LEAST = 1_000


def race_by_cpu(contestants: Mapping[str, Work], *, rounds: int, slice_ms: float = 10.0) -> dict[str, Timing]:
    """By the clock of the processor: calls that are a thousand times as long as others would be charged with all that
    the machine does meanwhile, and the short ones, by their median, with nothing of it."""
    return race(contestants, rounds=rounds, slice_ms=slice_ms, clock=thread_time_ns)


def engine_of(catalogue: Catalogue, asking: Iterable[Subscription], statistics: Statistics = NO_STATISTICS) -> Engine:
    engine = Engine(catalogue, statistics=statistics)
    for each in asking:
        engine.apply(each)
    return engine


def up_to(largest: int, least: int = LEAST) -> list[int]:
    """Each ten times the one before; the last is the largest."""
    sizes = []
    while least < largest:
        sizes.append(least)
        least *= 10
    return [*sizes, largest]


def over(work: Callable[[Given], object], values: Sequence[Given]) -> Work:
    """Again and again."""
    given = cycle(values)
    return lambda: work(next(given))


def once(work: Callable[[Given], object], values: Iterable[Given]) -> Work:
    """Each value comes once, so that nothing is kept in it from before."""
    given = iter(values)
    return lambda: work(next(given))


def wanted(engine: Engine, event: Notification) -> list[str]:
    found = engine.match(event)
    assert not found.undecided
    return [each.id for each in found.wanted]


def check(engine: Engine, asking: Sequence[Subscription], events: Iterable[Notification], catalogue: Catalogue) -> None:
    """Who gives another answer is no rival."""
    for each in events:
        assert wanted(engine, each) == one_by_one(asking, each, catalogue)


def matches(engine: Engine, events: Sequence[Notification]) -> int:
    """Of a notification, rounded."""
    return round(sum(len(engine.match(each).wanted) for each in events) / len(events))
