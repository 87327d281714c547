"""Grouping by buffering (paper 004 s5.A): how long the notifications of a flow wait for one another, so that they go in
one message and its headers are sent once.

A flow is a topic at an interface node, or a subscription at a rendezvous. Its manager sees what arrives, and sets the
period by rate and payload; nobody sets it by hand. Times are numbers of one unit, whichever the caller's clock counts;
sizes are bytes.

How the rate is estimated. The mean of what was seen in the last eight maximum latencies, older arrivals counting for
exponentially less; no count of messages and no time of the clock is fixed. Arrivals that follow one another faster
than sixteen times the mean rate count for less than one, in proportion: a burst counts by the time that it lasts and
not by its number, so that what is sparse is not held in vain after it, while of a rate that stays higher two thirds are
learned within the window. Regular flows are estimated exactly, random ones (Poisson) some 3 % too low. A flow begins as
one that was silent for the whole window.
"""

import heapq
import math
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

from msgspec import Struct

OVERHEAD = 3584  # bytes of XML and JXTA that the paper's messages have besides their payload, "just over 3.5 KB" (s5)
TOGETHER = 100
MOST_BYTES = 1 << 20
WINDOW = 8.0  # in maximum latencies
BURST = 16.0  # in mean rates


def period_of(rate: float, payload: float, overhead: float, max_latency: float) -> float:
    """Equations 1 to 3. Zero for a flow so slow that nothing would come in time to be grouped with."""
    if rate * max_latency <= 1.0:
        return 0.0
    span = max_latency - 1.0 / rate
    weight = payload / (overhead + payload) if payload else 0.0
    return max_latency - weight * span


class BufferManager:
    """Of one flow: what arrives is told it, and the group must go when it says so; what is in it, the caller keeps.

    `due` is when the group must go that `waiting` messages are in. It holds for the whole group: no message waits
    longer than the period as it was when the first one came. A group that is `together`, or has `most_bytes`, goes at
    once. `overhead` may be corrected when it is known.
    """

    __slots__ = (
        "_bytes",
        "_last",
        "_most_bytes",
        "_seen",
        "_sizes",
        "_time",
        "_together",
        "due",
        "max_latency",
        "overhead",
        "period",
        "waiting",
    )

    def __init__(
        self,
        max_latency: float,
        overhead: float = OVERHEAD,
        together: int = TOGETHER,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.max_latency, self.overhead = max_latency, overhead
        self._together, self._most_bytes = together, most_bytes
        self.period = self.due = 0.0
        self.waiting = self._bytes = 0
        self._last: float | None = None
        self._seen = self._sizes = self._time = 0.0

    @property
    def rate(self) -> float:
        """Messages in a unit of time."""
        return self._seen / self._time if self._time else 0.0

    @property
    def payload(self) -> float:
        """Of a message, in the mean."""
        return self._sizes / self._seen if self._seen else 0.0

    def arrived(self, size: int, now: float) -> float:
        """When the group that it belongs to must go."""
        if self.max_latency > 0:
            self._estimate(size, now)
            self._adapt()
        if not self.waiting:
            self.due = now + self.period
        self.waiting += 1
        self._bytes += size
        if self.waiting >= self._together or self._bytes >= self._most_bytes:
            self.due = min(self.due, now)
        return self.due

    def left(self, waiting: int = 0) -> None:
        """The group went, but for so many at most that did not fit: these are due as they were."""
        self.waiting = min(self.waiting, waiting)
        if not self.waiting:
            self._bytes = 0

    def _estimate(self, size: int, now: float) -> None:
        """Sums of arrivals, of their sizes and of the time between them, all fading alike. All silences longer than the
        window are one: else it would take longer to forget one the longer it was."""
        window = WINDOW * self.max_latency
        gap = math.inf if self._last is None else max(0.0, now - self._last)
        kept, seen = math.exp(-gap / window), min(gap, window)
        share = self._share(seen) if self._time else 1.0
        self._seen = self._seen * kept + share
        self._sizes = self._sizes * kept + share * size
        self._time = self._time * kept + seen
        self._last = now

    def _share(self, seen: float) -> float:
        """For how much of a message one counts that came so soon after the last."""
        return min(1.0, BURST * seen * self.rate)

    def _adapt(self) -> None:
        """The paper's dynamic threshold: only a change that groups a message more or less is one."""
        rate = self.rate
        wanted = period_of(rate, self.payload, self.overhead, self.max_latency)
        if not wanted or abs(wanted - self.period) * rate >= 1.0:
            self.period = wanted


Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class BufferSettings(Struct, frozen=True):
    """Of a node. Without a `max_latency` nothing is buffered. A buffer to which nothing came for the time `idle` is
    forgotten; there are at most so `many`, and what finds no room goes at once."""

    max_latency: float = 0.0
    idle: float = 60.0
    many: int = 10_000
    overhead: float = OVERHEAD
    together: int = TOGETHER
    most_bytes: int = MOST_BYTES


class _Buffer(Generic[Item]):
    __slots__ = ("items", "last", "manager")

    def __init__(self, manager: BufferManager) -> None:
        self.manager = manager
        self.items: list[Item] = []
        self.last = 0.0

    def take(self) -> list[Item]:
        taken, self.items = self.items, []
        self.manager.left()
        return taken


class Buffers(Generic[Key, Item]):
    """The buffers of a node by key, with what waits in them."""

    def __init__(self, settings: BufferSettings) -> None:
        self._settings = settings
        self._buffers: dict[Key, _Buffer[Item]] = {}  # who was heard of last is the last
        self._alarms: list[tuple[float, int, Key]] = []
        self._ordinal = count()

    def __len__(self) -> int:
        return len(self._buffers)

    def arrived(self, key: Key, item: Item, size: int, now: float, max_latency: float = math.inf) -> list[Item]:
        """What goes now, in order: nothing while it waits. The smaller of the node's maximum latency and this one
        counts."""
        allowed = min(max_latency, self._settings.max_latency)
        buffer = self._buffer(key, allowed, now) if allowed > 0 else self._buffers.pop(key, None)
        if buffer is None:
            return [item]
        before, buffer.last = buffer.manager.waiting, now
        buffer.items.append(item)
        due = buffer.manager.arrived(size, now) if allowed > 0 else now
        if due <= now:
            return buffer.take()
        if not before:
            heapq.heappush(self._alarms, (due, next(self._ordinal), key))
        return []

    def due(self) -> float | None:
        """When to look again; None while nothing waits."""
        while self._alarms and not self._rings(*self._alarms[0]):
            heapq.heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    def take(self, now: float) -> list[tuple[Key, list[Item]]]:
        """The groups whose time has come; those that must go first are first."""
        found: list[tuple[Key, list[Item]]] = []
        while (due := self.due()) is not None and due <= now:
            key = heapq.heappop(self._alarms)[2]
            found.append((key, self._buffers[key].take()))
        return found

    def collect(self, now: float) -> None:
        """Forgets the buffers that nothing came to for long."""
        while (oldest := self._oldest()) is not None and self._buffers[oldest].last + self._settings.idle <= now:
            del self._buffers[oldest]

    def manager(self, key: Key) -> BufferManager | None:
        buffer = self._buffers.get(key)
        return None if buffer is None else buffer.manager

    def _buffer(self, key: Key, allowed: float, now: float) -> _Buffer[Item] | None:
        """With another maximum latency its flow begins anew, and what waits goes."""
        found = self._buffers.pop(key, None)
        if found is None:
            if not self._has_room(now):
                return None
            found = _Buffer(self._manager(allowed))
        elif found.manager.max_latency != allowed:
            found.manager = self._manager(allowed)
        self._buffers[key] = found
        return found

    def _manager(self, allowed: float) -> BufferManager:
        asked = self._settings
        return BufferManager(allowed, asked.overhead, asked.together, asked.most_bytes)

    def _has_room(self, now: float) -> bool:
        """The one that was not heard of for longest makes room, unless something waits in it: then all are busy."""
        self.collect(now)
        if len(self._buffers) < self._settings.many:
            return True
        if (oldest := self._oldest()) is None:
            return False
        del self._buffers[oldest]
        return True

    def _oldest(self) -> Key | None:
        oldest = next(iter(self._buffers), None)
        return None if oldest is None or self._buffers[oldest].items else oldest

    def _rings(self, due: float, _: int, key: Key) -> bool:
        """Whether that alarm is of a group that still waits."""
        buffer = self._buffers.get(key)
        return buffer is not None and bool(buffer.items) and buffer.manager.due == due
