"""Direct delivery: consumers are told while the record is being written, not when it is on disk."""

from collections import deque

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.settlement import Settlement, own_lanes
from tocsin.broker.journal import Arrival, Waiting
from tocsin.delivery.lane import LAST_INDEX


class Direct:
    """Goes ahead in what waits for the disk, in its order, up to the first change of a subscription or declaration.

    A change counts only once it is on disk: who is told of a failed one is told wrongly, who was never told of a
    notification that failed has lost nothing.
    """

    def __init__(self, waiting: deque[Waiting], engine: EmbeddedEngine, settlement: Settlement) -> None:
        self._waiting, self._engine, self._settlement = waiting, engine, settlement
        self._gone = 0  # so many of those that wait, from the first on

    def go(self) -> None:
        while self._gone < len(self._waiting):
            future, what = self._waiting[self._gone]
            if type(what) is not Arrival:
                return
            if not future.done() or future.exception() is None:
                self._engine.arrived(what)
            self._gone += 1

    def passed(self) -> bool:
        gone, self._gone = self._gone > 0, max(0, self._gone - 1)
        return gone

    def failed(self, durable: int) -> None:
        """What was told of and is not in the log: what was sent was sent, the rest is not, and offsets are used again.

        So the queues that had some of it start again behind the last record that is on disk.
        """
        self._engine.matched_to = min(self._engine.matched_to, durable)
        last = (durable - 1, LAST_INDEX)
        for name, settled in own_lanes(self._engine.deliverer.reached((durable, 0))).items():
            self._settlement.move_on(name, min(settled, last))
