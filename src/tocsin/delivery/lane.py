"""Where a subscription's queue stands with its consumer, and the circuit breaker of the consumer's origin."""

from collections import deque
from collections.abc import Callable
from typing import Literal

from tocsin.delivery.queue import Place, Queue
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.wire.answer import Answer


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
Stage = Literal["idle", "in flight", "backing off", "blocked"]


class Origin:
    """A scheme, host and port: one breaker, a bound on requests at a time, and the lanes that wait for either."""

    __slots__ = ("_most", "alarmed", "breaker", "in_flight", "lanes", "line", "name")

    def __init__(self, name: str, settings: DeliverySettings) -> None:
        self.name = name
        self.breaker = Breaker(settings)
        self.line: deque[Lane] = deque()
        self.lanes = 0
        self.in_flight = 0
        self.alarmed = False
        self._most = settings.in_flight_per_origin

    def free(self) -> bool:
        """Whether a lane may pass with nothing to ask or to remember."""
        return self.breaker.until is None and self.in_flight < self._most and not self.line

    def admits(self, now: float) -> bool:
        return self.in_flight < self._most and self.breaker.admits(now)


class Lane(Queue):
    """`parts` are the deliveries that `delivery` is made of, when it is made of several.

    `alone` is how many from the head on go out one by one, though `together` would let them go in one message; `pace`
    is the time from one request to the next at the least.
    """

    __slots__ = (
        "address",
        "alone",
        "answered",
        "attempt",
        "delivery",
        "gone",
        "held",
        "not_before",
        "origin",
        "pace",
        "parts",
        "stage",
        "together",
    )

    def __init__(
        self, subscription: SubscriptionId, after: Place, size: int, most_bytes: int, *, behind: bool = False
    ) -> None:
        super().__init__(subscription, after, size, most_bytes, behind=behind)
        self.stage: Stage = "idle"
        self.held = False
        self.gone = False
        self.attempt = 0
        self.delivery: Delivery | None = None
        self.parts: tuple[Delivery, ...] = ()
        self.together = 1
        self.alone = 0
        self.pace = self.not_before = 0.0
        self.address = ""
        self.origin: Origin | None = None
        self.answered: Callable[[Answer], None] = _unexpected

    def has_work(self) -> bool:
        return bool(self.window) or self.behind

    def may_start(self) -> bool:
        return self.stage == "idle" and not self.held and len(self.window) > 0

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
