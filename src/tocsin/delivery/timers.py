"""One heap of alarms on one timer of the loop."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count


class Timers:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._ordinal = count()
        self._alarm: asyncio.TimerHandle | None = None

    def at(self, when: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (when, next(self._ordinal), call))
        if self._alarm is None or when < self._alarm.when():
            self._arm()

    def close(self) -> None:
        self._heap.clear()
        if self._alarm is not None:
            self._alarm.cancel()

    def _arm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(self._heap[0][0], self._ring) if self._heap else None

    def _ring(self) -> None:
        self._alarm = None
        now = self._loop.time()
        try:
            while self._heap and self._heap[0][0] <= now:
                heapq.heappop(self._heap)[2]()
        finally:
            self._arm()
