"""Asking a consumer before anything is sent to it (HTTP 1.1 Web Hooks for Event Delivery 1.0.2 s4).

A machine for one subscription: each message gives the one thing to do next. Times are seconds.
"""

from typing import Literal

from msgspec import Struct

from tocsin.model.delivery import PASSING

ANY = "*"
LONGEST_REASON = 200


class Begin(Struct, frozen=True):
    pass


class Answered(Struct, frozen=True):
    """To the validation request, with its headers, empty where it has none. Status 0 is no answer."""

    status: int
    origin: str = ""
    rate: str = ""
    error: str = ""
    refused: bool = False


class CalledBack(Struct, frozen=True):
    """The consumer, or somebody for it, visited the address that was sent with the request (s4.1.3)."""

    rate: str = ""


class Woken(Struct, frozen=True):
    pass


Message = Begin | Answered | CalledBack | Woken


class Ask(Struct, frozen=True):
    pass


class Wait(Struct, frozen=True):
    """Until then, unless it calls back before."""

    until: float


class Give(Struct, frozen=True):
    """It may be sent to, so many times a minute at most; None is without limit."""

    rate: int | None


class Refuse(Struct, frozen=True):
    reason: str


class Nothing(Struct, frozen=True):
    """It was settled before."""


Effect = Ask | Wait | Give | Refuse | Nothing


class Patience(Struct, frozen=True):
    """`wait` is how long a consumer may take from the first question on, by answer or by calling back."""

    wait: float
    first_delay: float
    longest_delay: float


class ConsentMachine:
    """`origin` is the name we ask under."""

    def __init__(self, origin: str, patience: Patience) -> None:
        self._origin, self._patience = origin.lower(), patience
        self._deadline = 0.0
        self._tries = 0
        self._problem = ""
        self.state: Literal["asking", "waiting", "given", "refused"] = "asking"

    def step(self, message: Message, now: float) -> Effect:
        if self.state in ("given", "refused"):
            return Nothing()
        match message:
            case Begin():
                self._deadline = now + self._patience.wait
                return self._ask()
            case CalledBack(rate):
                return self._give(rate)
            case Woken():
                return self._woken(now)
            case Answered():
                return self._answered(message, now)

    def _ask(self) -> Effect:
        self.state = "asking"
        self._tries += 1
        return Ask()

    def _answered(self, answer: Answered, now: float) -> Effect:
        """Headers decide, whatever the status is (s4.2): other services answer OPTIONS too."""
        if answer.origin:
            if answer.origin == ANY or answer.origin.lower() == self._origin:
                return self._give(answer.rate)
            return self._refuse(f"it allows {answer.origin[:LONGEST_REASON]!r}, not {self._origin!r}")
        if 200 <= answer.status < 300:
            self.state, self._problem = "waiting", "it gave no consent"
            return Wait(self._deadline)
        self._problem = f"HTTP {answer.status}" if answer.status else answer.error
        if answer.refused or (400 <= answer.status < 500 and answer.status not in PASSING):
            return self._refuse(self._problem)
        delay = min(self._patience.longest_delay, self._patience.first_delay * 2 ** min(self._tries - 1, 30))
        return Wait(min(self._deadline, now + delay))

    def _woken(self, now: float) -> Effect:
        if now < self._deadline:
            return Wait(self._deadline) if self.state == "waiting" else self._ask()
        return self._refuse(f"{self._problem} within {self._patience.wait:.0f} s")

    def _give(self, rate: str) -> Effect:
        self.state = "given"
        return Give(rate_of(rate))

    def _refuse(self, why: str) -> Effect:
        self.state = "refused"
        return Refuse(f"the consumer did not consent to be sent to: {why}")


def rate_of(text: str) -> int | None:
    """Requests a minute (s4.2.2); None where there is no limit, or none that can be read."""
    text = text.strip()
    return int(text) or None if text.isascii() and text.isdigit() and len(text) <= 9 else None
