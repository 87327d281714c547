"""What an engine of so many mixed subscriptions costs: each in a process of its own, so that none finds the memory that
another has left."""

import gc
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from math import log
from multiprocessing import get_context
from pathlib import Path

from msgspec import Struct

from tocsin.lab.bench import Timing, race
from tocsin.lab.benches._matching import matches, once
from tocsin.lab.workload import MIXED
from tocsin.lab.workload_files import made, told
from tocsin.markup.content import condition_of
from tocsin.matching.engine import Engine
from tocsin.matching.warming import warm

ROUNDS = 10
WARM = 64  # notifications before the clock runs; the topics of the others are as new as they come
CLEARED = 1_000


class Grown(Struct, frozen=True):
    """`index_bytes` is by what the process grew as the engine took subscriptions that were there before, without the
    bounded cache of expressions that were read; `build` is the microseconds that a subscription took.
    Times are of the processor."""

    subscriptions: int
    build: float
    index_bytes: int
    matches: int
    timing: Timing


def grown(count: int, seed: int, notifications: int) -> Grown:
    """In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measured, count, seed, notifications).result()


def measured(count: int, seed: int, notifications: int) -> Grown:
    known, asking = made(MIXED, count, seed)
    events = told(MIXED, WARM + notifications, seed)
    warm()  # what numba takes is the same for any number of subscriptions
    condition_of.cache_clear()
    gc.collect()
    gc.freeze()
    before, began = resident(), time.thread_time()
    engine = Engine(known)
    for number, each in enumerate(asking):
        engine.apply(each)
        if number % CLEARED == 0:
            condition_of.cache_clear()
    build = (time.thread_time() - began) / count * 1e6
    condition_of.cache_clear()
    gc.collect()
    took = resident() - before
    found = matches(engine, events[:WARM])
    works = {"match": once(engine.match, events[WARM:])}
    timings = race(works, rounds=ROUNDS, calls=notifications // ROUNDS, clock=time.thread_time_ns)
    return Grown(count, build, took, found, timings["match"])


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Of the power of x that y grows by: the slope of the straight line through the logarithms."""
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    along = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / along
