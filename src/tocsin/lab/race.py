"""Races: several ways to do one thing, timed by turns so that noise hits all alike."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter_ns

from msgspec import Struct, structs

Clock = Callable[[], int]
Work = Callable[[], object]


class Timing(Struct, frozen=True):
    """Of one call, in microseconds."""

    calls: int
    median: float
    p99: float
    rounds: tuple[float, ...] = ()  # the median of each round of a race

    @property
    def per_second(self) -> float:
        return 1e6 / self.median if self.median else 0.0


def race(
    contestants: Mapping[str, Work],
    *,
    rounds: int = 40,
    slice_ms: float = 10.0,
    calls: int | None = None,
    before: Mapping[str, Work] | None = None,
    clock: Clock = perf_counter_ns,
) -> dict[str, Timing]:
    """Each contestant gets a slice in each round, and each round begins with another one. What is to be done `before`
    each call of a contestant is not timed.

    A slice is `calls` calls, by default as many as fit into `slice_ms`; every call is timed on its own, less what
    reading the clock costs. The garbage collector rests inside a slice and works between rounds.
    """
    counts = {name: calls or _calls_in(work, slice_ms, clock) for name, work in contestants.items()}
    samples: dict[str, list[int]] = {name: [] for name in contestants}
    names = list(contestants)
    with frozen_gc():
        cost = _clock_cost(clock)
        for turn in range(rounds):
            for name in _rotated(names, turn):
                samples[name] += _slice(contestants[name], counts[name], clock, (before or {}).get(name))
            gc.collect()
    return {name: _raced([max(sample - cost, 0) for sample in each], rounds) for name, each in samples.items()}


def timing(nanoseconds: Sequence[int]) -> Timing:
    ordered = sorted(nanoseconds)
    return Timing(len(ordered), percentile(ordered, 50) / 1000, percentile(ordered, 99) / 1000)


def _raced(nanoseconds: Sequence[int], rounds: int) -> Timing:
    size = len(nanoseconds) // rounds
    medians = tuple(timing(nanoseconds[turn * size : (turn + 1) * size]).median for turn in range(rounds))
    return structs.replace(timing(nanoseconds), rounds=medians)


def side_by_side(ours: Timing, theirs: Timing) -> tuple[float, float]:
    """Both in the round whose ratio is the median of the rounds'.

    A machine that is shared changes its pace for seconds at a time, by half and more: medians over the whole race
    may then be of different times, while the slices of a round are milliseconds apart.
    """
    pairs = sorted(zip(ours.rounds, theirs.rounds, strict=True), key=lambda pair: pair[1] / max(pair[0], 1e-9))
    return pairs[(len(pairs) - 1) // 2]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest rank: a value that was really seen."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def _slice(work: Work, calls: int, clock: Clock, before: Work | None = None) -> list[int]:
    times = [0] * calls
    for at in range(calls):
        if before is not None:
            before()
        begun = clock()
        work()
        times[at] = clock() - begun
    return times


def _calls_in(work: Work, slice_ms: float, clock: Clock) -> int:
    """Also the warm-up: the first call is not counted, the quickest of the next few tells the pace."""
    work()
    pace = min(_slice(work, 3, clock))
    return max(1, min(100_000, round(slice_ms * 1e6 / max(pace, 1))))


def _clock_cost(clock: Clock) -> int:
    return sorted(-(clock() - clock()) for _ in range(201))[100]


def _rotated(names: list[str], by: int) -> list[str]:
    cut = by % len(names)
    return names[cut:] + names[:cut]


@contextmanager
def frozen_gc() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
