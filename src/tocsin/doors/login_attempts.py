"""Failed attempts to prove who one is: after a few, each further one has to wait longer."""

from collections import OrderedDict

from msgspec import Struct

from tocsin.model.refusal import Refusal

FREE = 5
LONGEST_WAIT = 300.0
FORGIVEN_AFTER = 900.0
MOST_REMEMBERED = 10_000
Who = tuple[str, str]  # the name that was claimed, and the address it was claimed from


class _Failures(Struct):
    count: int
    last: float

    def until(self) -> float:
        return self.last + (0.0 if self.count < FREE else min(2.0 ** (self.count - FREE), LONGEST_WAIT))


class Attempts:
    """By name and address together: a stranger elsewhere locks nobody out. Bounded; the longest unseen is forgotten."""

    def __init__(self) -> None:
        self._failures: OrderedDict[Who, _Failures] = OrderedDict()

    def check(self, who: Who, now: float) -> None:
        """Before anything is compared: also the right password has to wait, or waiting would not hinder a search."""
        failures = self._failures.get(who)
        if failures is not None and now < (until := failures.until()):
            raise Refusal(
                "not-authenticated", f"too many failed attempts as {who[0]!r}; try again in {until - now:.0f} seconds"
            )

    def failed(self, who: Who, now: float) -> None:
        failures = self._failures.pop(who, None)
        if failures is None or now > failures.last + FORGIVEN_AFTER:
            failures = _Failures(0, now)
        failures.count, failures.last = failures.count + 1, now
        self._failures[who] = failures
        if len(self._failures) > MOST_REMEMBERED:
            self._failures.popitem(last=False)

    def succeeded(self, who: Who) -> None:
        self._failures.pop(who, None)
