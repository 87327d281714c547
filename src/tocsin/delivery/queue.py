"""A subscription's queue: a bounded window on what is to be delivered, in the order of places."""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId

Place = tuple[int, int]
LAST_INDEX = 1 << 30  # behind all notifications of a record
_SMALL = 4096  # bytes: the bound on their number is bound enough


class Entry(Struct, frozen=True, gc=False):
    """Its place is (offset, index): the order of a subscription is the order of places.

    Its weight is the bytes it keeps in memory, 0 for what is small: most are, and are then not counted one by one.
    """

    subscription: SubscriptionId
    place: Place
    what: object
    weight: int = 0


def weight(size: int) -> int:
    return size if size > _SMALL else 0


class Undeliverable(Exception):
    """It is known whom it was for, and why it will not be sent: a dead letter without a try."""

    def __init__(self, delivery: Delivery, reason: str) -> None:
        super().__init__(reason)
        self.delivery, self.reason = delivery, reason


class Queue:
    __slots__ = (
        "_horizon",
        "_most_bytes",
        "_newest",
        "_size",
        "asking",
        "behind",
        "bytes",
        "last",
        "settled",
        "subscription",
        "window",
    )

    def __init__(
        self, subscription: SubscriptionId, after: Place, size: int, most_bytes: int, *, behind: bool = False
    ) -> None:
        self.subscription = subscription
        self.window: deque[Entry] = deque()
        self.bytes = 0
        self.last = self.settled = after
        self.behind = behind
        self.asking = False
        self._newest = self._horizon = after
        self._size, self._most_bytes = size, most_bytes

    def offer(self, entry: Entry) -> bool:
        """Whether it joined the window. What is known already is passed over."""
        if self.behind:
            self._newest = max(self._newest, entry.place)
            return False
        if entry.place <= self.last:
            return False
        if len(self.window) >= self._size or (entry.weight and self.bytes >= self._most_bytes):
            self.behind = True
            self._newest = entry.place
            return False
        self.window.append(entry)
        self.last = entry.place
        if entry.weight:
            self.bytes += entry.weight
        return True

    def put_off(self, place: Place) -> None:
        """Whether that is for it, the backlog is to say. Whatever is before was offered, or is not for it."""
        offset, index = place
        if not self.behind and place > self.last:
            self.last = max(self.last, (offset, index - 1))
            self.behind = True
            if not self.window:
                self.settled = self.last
        self._newest = max(self._newest, place)

    def reached(self) -> Place:
        """The last place that was offered, in the window or behind it."""
        return max(self.last, self._newest)

    def advance(self) -> Entry:
        """The head is settled."""
        entry = self.window.popleft()
        self.settled = entry.place
        if entry.weight:
            self.bytes -= entry.weight
        return entry

    def wants(self) -> bool:
        """Whether the backlog should be asked: there is room for half a window."""
        is_room = 2 * len(self.window) <= self._size and 2 * self.bytes <= self._most_bytes
        return self.behind and not self.asking and is_room

    def ask(self) -> tuple[Place, int]:
        """After which place, and how many; what is offered from now on may not be in the reply."""
        self.asking = True
        self._horizon = self._newest
        return self.last, self._size - len(self.window)

    def refill(self, entries: Sequence[Entry]) -> None:
        self.asking = False
        before = self.last
        for entry in entries:
            if len(self.window) >= self._size or self.bytes >= self._most_bytes:
                break
            if entry.place > self.last:
                self.window.append(entry)
                self.last = entry.place
                self.bytes += entry.weight
        if self.last == before and self._newest <= self._horizon:
            self._catch_up()

    def _catch_up(self) -> None:
        self.behind = False
        self.last = max(self.last, self._newest)
        if not self.window:
            self.settled = self.last

    def missed(self) -> None:
        """The backlog could not be read: it may be asked again."""
        self.asking = False

    def drop(self, keep: int) -> list[Entry]:
        """Ended: what waits goes, but for the head when it is in flight."""
        dropped = list(self.window)[keep:]
        while len(self.window) > keep:
            self.bytes -= self.window.pop().weight
        self.behind = False
        return dropped
