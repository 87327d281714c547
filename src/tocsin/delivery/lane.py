"""A subscription's queue and what is made of its head; the circuit breaker of its consumer's origin."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tocsin.delivery.settings import DeliverySettings
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.wire.answer import Answer

if TYPE_CHECKING:
    from tocsin.delivery.gathering import Gathering

Place = tuple[int, int]
LAST_INDEX = 1 << 30  # behind all notifications of a record
SMALL = 4096  # bytes: for what is not larger, the bound on their number is bound enough


class Entry(Struct, frozen=True, gc=False):
    """Its place is (offset, index): the order of a subscription is the order of places.

    Its weight is the bytes it keeps in memory, 0 for what is small: most are, and are then not counted one by one.
    """

    subscription: SubscriptionId
    place: Place
    what: object
    weight: int = 0


def weight_of(size: int) -> int:
    return size if size > SMALL else 0


class Undeliverable(Exception):
    """It is known whom it was for, and why it will not be sent: a dead letter without a try.

    One that could not be written has the reason for its body.
    """

    def __init__(self, delivery: Delivery, reason: str = "") -> None:
        self.delivery, self.reason = delivery, reason or delivery.body.decode(errors="replace")
        super().__init__(self.reason)


class Breaker:
    """`until` is None while it is closed. A request that passed reports back by `succeeded` or `failed`."""

    __slots__ = ("_cool_down", "_settings", "failures", "probing", "until")

    def __init__(self, settings: DeliverySettings) -> None:
        self._settings = settings
        self.until: float | None = None
        self.probing = False
        self.failures = 0
        self._cool_down = settings.cool_down

    def admits(self, now: float) -> bool:
        """Whether a request may pass; when it is the probe, the next may not until this one reports."""
        if self.until is None:
            return True
        if self.probing or now < self.until:
            return False
        self.probing = True
        return True

    def succeeded(self) -> None:
        self.until = None
        self.probing = False
        self.failures = 0
        self._cool_down = self._settings.cool_down

    def failed(self, now: float) -> None:
        """Failures that arrive while it is open were sent before it opened: they say nothing new."""
        self.failures += 1
        if self.until is None and self.failures >= self._settings.failures_to_open:
            self.until = now + self._cool_down
        elif self.probing:
            self.probing = False
            self._cool_down = min(self._settings.longest_cool_down, self._cool_down * 2)
            self.until = now + self._cool_down


# "blocked" waits in its origin's line. Not an Enum: to read a member costs as much as to call a function.
Stage = Literal["idle", "gathering", "in flight", "backing off", "blocked"]


class Origin:
    """A scheme, host and port: one breaker, a bound on requests at a time, and the lanes that wait for either."""

    __slots__ = ("alarmed", "breaker", "in_flight", "lanes", "line", "most", "name")

    def __init__(self, name: str, settings: DeliverySettings) -> None:
        self.name = name
        self.breaker = Breaker(settings)
        self.line: deque[Lane] = deque()
        self.lanes = 0
        self.in_flight = 0
        self.alarmed = False
        self.most = settings.in_flight_per_origin

    def admits(self, now: float) -> bool:
        return self.in_flight < self.most and self.breaker.admits(now)


class Lane:
    """A subscription's queue, a bounded window on what is to be delivered in the order of places; and its head, sent.

    `parts` are the deliveries that `delivery` is made of, when it is made of several. `alone` is how many from the head
    on go out one by one, though `together` would let them go in one message; `pace` is the time from one request to the
    next at the least. Without `gathering` nothing is waited for.
    """

    __slots__ = (
        "_horizon",
        "_most_bytes",
        "_newest",
        "_size",
        "address",
        "alone",
        "answered",
        "asking",
        "attempt",
        "behind",
        "bytes",
        "delivery",
        "gathering",
        "gone",
        "held",
        "last",
        "not_before",
        "origin",
        "pace",
        "parts",
        "settled",
        "stage",
        "subscription",
        "together",
        "window",
    )

    def __init__(
        self, subscription: SubscriptionId, after: Place, size: int, most_bytes: int, *, behind: bool = False
    ) -> None:
        self.subscription = subscription
        self.window: deque[Entry] = deque()
        self.bytes = 0
        self.last = self.settled = self._newest = self._horizon = after
        self.behind = behind
        self.asking = False
        self._size, self._most_bytes = size, most_bytes
        self.stage: Stage = "idle"
        self.held = False
        self.gone = False
        self.attempt = 0
        self.delivery: Delivery | None = None
        self.parts: tuple[Delivery, ...] = ()
        self.together = 1
        self.alone = 0
        self.gathering: Gathering | None = None
        self.pace = self.not_before = 0.0
        self.address = ""
        self.origin: Origin | None = None
        self.answered: Callable[[Answer], None] = _unexpected

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

    def made(self) -> tuple[Delivery, ...]:
        """What is made of the head, and of those that go with it."""
        return self.parts or (() if self.delivery is None else (self.delivery,))

    def flying(self) -> int:
        """How many of the window are on their way."""
        return 0 if self.stage != "in flight" else len(self.parts) or 1

    def still(self) -> bool:
        """Nothing is to be waited for: nothing moves unless somebody releases it, or whoever is sent to is down."""
        if self.held and self.stage != "in flight":
            return True
        return self.origin is not None and self.origin.breaker.until is not None


def _unexpected(answer: Answer) -> None:
    raise RuntimeError(f"an answer nobody asked for: {answer.status}")
