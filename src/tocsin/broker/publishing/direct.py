"""Direct delivery: consumers are told while the record is being written, not when it is on disk."""

import asyncio
from collections import deque
from contextlib import suppress

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.sending import Sending, own_lanes
from tocsin.broker.pull_points.service import Waited, open_to_all
from tocsin.delivery.entry import LAST_INDEX
from tocsin.model.records import Changed, Declared
from tocsin.store.errors import CannotAppend

Waiting = tuple["asyncio.Future[int]", int, Waited]


class Direct:
    """Goes ahead in what waits for the disk, in its order, up to the first change of a subscription or declaration.

    A change counts only once it is on disk: who is told of a failed one is told wrongly, who was never told of a
    notification that failed has lost nothing.
    """

    def __init__(self, waiting: deque[Waiting], engine: EmbeddedEngine, sending: Sending) -> None:
        self._waiting, self._engine, self._sending = waiting, engine, sending
        self._told = 0  # so many of those that wait, from the first on
        engine.stored = self.stored

    def tell(self) -> None:
        while self._told < len(self._waiting):
            future, offset, what = self._waiting[self._told]
            if isinstance(what, Changed | Declared):
                return
            if not future.done() or future.exception() is None:
                self._engine.accepted(offset, open_to_all(what))
            self._told += 1

    def passed(self) -> bool:
        """The first of those that wait does so no more; whether it was told."""
        told, self._told = self._told > 0, max(0, self._told - 1)
        return told

    def failed(self, durable: int) -> None:
        """What was told of and is not in the log: what was sent was sent, the rest is not, and offsets are used again.

        So the queues that had some of it start again behind the last record that is on disk.
        """
        self._engine.matched_to = min(self._engine.matched_to, durable)
        last = (durable - 1, LAST_INDEX)
        for name, settled in own_lanes(self._engine.deliverer.reached((durable, 0))).items():
            self._sending.move_on(name, min(settled, last))

    async def stored(self) -> None:
        """Until all that was told of is in the log, or is known not to be: only there can a queue find it again."""
        if self._waiting:
            with suppress(CannotAppend):
                await self._waiting[-1][0]
