"""A circuit breaker: after failures in a row nothing passes for a while, then one probe."""

from tocsin.delivery.settings import DeliverySettings


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
