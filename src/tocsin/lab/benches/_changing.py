"""Subscriptions that come and go while another task matches."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import cycle
from time import perf_counter_ns, thread_time_ns
from typing import TypeVar

from msgspec import Struct

from tocsin.lab.race import Timing, timing
from tocsin.matching.engine import Engine
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

Given = TypeVar("Given")


class Calls(Struct, frozen=True):
    """By the clock on the wall and by that of the processor; the slowest in microseconds."""

    wall: Timing
    cpu: Timing
    slowest: float


class Changed(Struct, frozen=True):
    """`waited` is from the wish to insert to the end, with the match that goes on before."""

    inserted: Calls
    removed: Calls
    waited: Timing
    matched: Timing


def changed(
    engine: Engine, coming: Sequence[Subscription], going: Sequence[Subscription], events: Sequence[Notification]
) -> Changed:
    return asyncio.run(_changed(engine, coming, going, events))


async def _changed(
    engine: Engine, coming: Sequence[Subscription], going: Sequence[Subscription], events: Sequence[Notification]
) -> Changed:
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
    return Changed(inserted.calls(), removed.calls(), timing(waited), timing(matched.wall))


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
