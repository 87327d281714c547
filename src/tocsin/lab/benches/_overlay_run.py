"""What a slice of load took, and who was at work in it."""

import time
from collections.abc import Iterable
from typing import Protocol, Self

from msgspec import Struct

from tocsin.lab.benches._stage import Process


class Run(Struct, frozen=True):
    """Seconds, and CPU seconds of the brokers, of who publishes, and of the sink."""

    seconds: float
    brokers: float
    load: float
    sink: float

    def __sub__(self, before: Self) -> "Run":
        return Run(
            self.seconds - before.seconds,
            self.brokers - before.brokers,
            self.load - before.load,
            self.sink - before.sink,
        )


class Usage:
    """Of these processes, a sink, and the one that asks."""

    def __init__(self, brokers: Iterable[int], sink: int) -> None:
        self._brokers, self._sink = [Process(pid, 0) for pid in brokers], Process(sink, 0)

    def now(self) -> Run:
        brokers = sum(each.cpu_seconds() for each in self._brokers)
        return Run(time.perf_counter(), brokers, time.process_time(), self._sink.cpu_seconds())


class Side(Protocol):
    async def run(self, first: int) -> Run:
        """A slice of messages from that number on, until the last of them came out."""
        ...
