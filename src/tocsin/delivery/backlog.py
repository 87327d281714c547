"""Refills the lanes that are behind, a few at a time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from tocsin.delivery.lane import Entry, Lane, Place
from tocsin.delivery.settings import DeliverySettings
from tocsin.delivery.timers import Timers
from tocsin.model.identity import SubscriptionId

Backlog = Callable[[SubscriptionId, Place, int], Awaitable[Sequence[Entry]]]
AGAIN_AFTER = 1.0


class Refiller:
    """`refilled` is called with each lane that got its reply, whatever was in it."""

    def __init__(
        self, backlog: Backlog, settings: DeliverySettings, timers: Timers, refilled: Callable[[Lane], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._backlog, self._settings, self._timers, self._refilled = backlog, settings, timers, refilled
        self._line: deque[Lane] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def ask(self, lane: Lane) -> None:
        """Does nothing for a lane that wants nothing."""
        if self._closed or lane.gone or not lane.wants():
            return
        lane.asking = True
        self._line.append(lane)
        self._begin()

    async def close(self) -> None:
        self._closed = True
        self._line.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self) -> None:
        while self._line and len(self._tasks) < self._settings.backlog_readers:
            task = self._loop.create_task(self._read(self._line.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._closed:
            self._begin()

    async def _read(self, lane: Lane) -> None:
        if lane.gone:
            return
        try:
            async with asyncio.timeout(self._settings.backlog_timeout):
                entries = await self._backlog(lane.subscription, *lane.ask())
        except Exception as error:
            self._failed(lane, error)
        else:
            if not lane.gone:
                lane.refill(entries)
                self._refilled(lane)

    def _failed(self, lane: Lane, error: Exception) -> None:
        lane.missed()
        self._timers.at(self._loop.time() + AGAIN_AFTER, lambda: self.ask(lane))
        text = f"the backlog of {lane.subscription} could not be read"
        self._loop.call_exception_handler({"message": text, "exception": error})
