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
        self._alarm: asyncio.Handle | None = None  # uvloop's, when it is due at once, does not tell when that is
        self._due = 0.0

    def at(self, when: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (when, next(self._ordinal), call))
        if self._alarm is None or when < self._due:
            self._arm()

    def close(self) -> None:
        self._heap.clear()
        if self._alarm is not None:
            self._alarm.cancel()

    def _arm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None
        if self._heap:
            self._due = self._heap[0][0]
            self._alarm = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self._loop.time()
        try:
            while self._heap and self._heap[0][0] <= now:
                heapq.heappop(self._heap)[2]()
        finally:
            self._arm()
