"""What a lane knows of its flow whose subscription lets notifications wait for one another (paper 004 s5.A)."""

from tocsin.delivery.grouping import MOST_BYTES, head_size, saved
from tocsin.delivery.lane import SMALL, Entry
from tocsin.model.delivery import Delivery
from tocsin.routing.ring.buffering import BufferManager


class Gathering:
    """Payload and overhead are those of what is really sent: a notification's own bytes in a message, and the bytes
    that a message has once. They are known when the first has gone, and that goes at once.

    `alarm` is when the lane is looked at next, unless that is over.
    """

    __slots__ = ("_usual", "_wrapping", "alarm", "manager")

    def __init__(self, max_latency: float, together: int) -> None:
        self.manager = BufferManager(max_latency, overhead=0, together=together, most_bytes=MOST_BYTES)
        self.alarm = 0.0
        self._usual = self._wrapping = 0

    def arrived(self, entry: Entry, now: float) -> bool:
        """Whether its group must go. The small are taken to be as those that went last: nobody counts each."""
        return self.manager.arrived(entry.weight or self._usual, now) <= now

    def waits(self, waiting: int, now: float) -> bool:
        """Whether all that waits in the lane may wait on. What came another way, read again from the log or tried
        before, has waited enough."""
        return self.manager.waiting == waiting and now < self.manager.due

    def is_to_be_woken(self, now: float) -> bool:
        """There is one alarm at a time, unless an earlier one is needed; who is woken too early waits on."""
        if now < self.alarm <= self.manager.due:
            return False
        self.alarm = self.manager.due
        return True

    def left(self, parts: tuple[Delivery, ...], waiting: int) -> None:
        """They go, and so many still wait."""
        self.manager.left(waiting)
        if not self.manager.overhead:
            self.manager.overhead = saved(parts[0])
            self._wrapping = round(self.manager.overhead) - head_size(parts[0])
        mean = sum(len(part.body) for part in parts) // len(parts)
        self._usual = min(SMALL, max(0, mean - self._wrapping))
