"""Notifications of one topic that are to go to another node wait for each other, for as long as that is worth while
(paper 004 s5.A): off unless the node has a maximum latency."""

import asyncio
from collections.abc import Iterable

from tocsin.routing.ring.buffering import Buffers, BufferSettings

# Of a request between nodes: its head, and what is said once of a record and of a copy.
OVERHEAD = 151.0
Flow = tuple[str, int]  # a plane and a key
Going = asyncio.Future[None]


class Gathering:
    def __init__(self, max_latency: float, idle: float) -> None:
        self._buffers: Buffers[Flow, Going] = Buffers(
            BufferSettings(max_latency=max_latency, idle=idle, overhead=OVERHEAD)
        )
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._buffers)

    def __contains__(self, flow: Flow) -> bool:
        return self._buffers.manager(flow) is not None

    async def turn(self, flow: Flow, size: int) -> None:
        """Returns when it goes, with all that wait for the same."""
        loop = asyncio.get_running_loop()
        going = loop.create_future()
        _go(self._buffers.arrived(flow, going, size, loop.time()))
        self._buffers.collect(loop.time())
        self._set_timer(loop)
        if going.done():  # behind those that waited for it
            await asyncio.sleep(0)
        await going

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._buffers.due()
        self._timer = None if due is None else loop.call_at(due, self._due, loop)

    def _due(self, loop: asyncio.AbstractEventLoop) -> None:
        for _, group in self._buffers.take(loop.time()):
            _go(group)
        self._set_timer(loop)


def _go(group: Iterable[Going]) -> None:
    for each in group:
        if not each.done():  # whoever waited may have gone
            each.set_result(None)
