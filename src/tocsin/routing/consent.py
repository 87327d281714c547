"""Asking a consumer before anything is sent to it (HTTP 1.1 Web Hooks for Event Delivery 1.0.2 s4).

A machine for one subscription. Consent is for one address: another is asked anew, and what waits for one of before may
still go there.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tocsin.model.delivery import PASSING
from tocsin.model.identity import Instant, after
from tocsin.routing.machine import (
    Ask,
    Effect,
    Forget,
    Remember,
    Report,
    SetTimer,
    Started,
    Unanswered,
    Woken,
)

ANY = "*"
LONGEST_REASON = 200
MOST_EARLIER = 16
AGAIN_AFTER = 1.0  # seconds, when a subscription could not be ended
BROKER = ""  # as who is asked
GIVEN, ASKED = "given", "asked"  # the keys of its rows


class Consumer(Struct, frozen=True):
    """The subscription's, from now on: an empty address is one that is not asked. `token` is what it names when it
    answers later."""

    address: str
    token: str = ""


class Ended(Struct, frozen=True):
    """The subscription."""


class Answered(Struct, frozen=True):
    """To the validation request, with its headers, empty where it has none. Status 0 is no answer."""

    token: str
    status: int
    origin: str = ""
    rate: str = ""
    error: str = ""
    refused: bool = False


class CalledBack(Struct, frozen=True):
    """The consumer, or somebody for it, visited the address that was sent with the request (s4.1.3)."""

    token: str
    rate: str = ""


Message = Consumer | Ended | Answered | CalledBack | Started | Woken | Unanswered


class Question(Struct, frozen=True):
    """To the consumer: may it be sent to?"""

    token: str


class End(Struct, frozen=True):
    """To the broker: the subscription, for its consumer refused."""

    reason: str


class Consent(Struct, frozen=True, array_like=True):
    """A row. `rate` is in requests a minute, None without limit.

    `earlier` are addresses of the same subscription that consented before it went to another: what waits is for them.
    """

    token: str
    address: str
    rate: int | None = None
    earlier: tuple[str, ...] = ()


class Given(Struct, frozen=True):
    """It may be sent to."""

    subscription: str
    consent: Consent


class Patience(Struct, frozen=True):
    """In seconds; `wait` is how long a consumer may take from the first question on, by answer or by calling back."""

    wait: float
    first_delay: float
    longest_delay: float


class ConsentMachine:
    """`origin` is the name we ask under."""

    def __init__(
        self, subscription: str, origin: str, patience: Patience, rows: Mapping[str, Consent] | None = None
    ) -> None:
        rows = rows or {}
        self._subscription, self._origin, self._patience = subscription, origin.lower(), patience
        self.given, self.asked = rows.get(GIVEN), rows.get(ASKED)
        self.state: Literal["asking", "waiting", "given", "refused"] = "asking" if self.asked else "given"
        self._deadline = Instant(0)
        self._tries = 0
        self._problem = ""

    @property
    def consenting(self) -> tuple[str, ...]:
        """The addresses that what is for the subscription may go to."""
        given = () if self.given is None else (self.given.address, *self.given.earlier)
        return given if self.asked is None else (*given, *self.asked.earlier)

    @property
    def tokens(self) -> tuple[str, ...]:
        return tuple(each.token for each in (self.given, self.asked) if each is not None)

    def step(self, message: Message, now: Instant) -> list[Effect]:
        match message:
            case Consumer(address, token):
                return self._turn_to(address, token, now)
            case Ended():
                return [Forget()]
            case Started():
                return [] if self.asked is None else self._begin(self.asked, now)
        return [] if self.asked is None else self._go_on(message, self.asked, now)

    def _turn_to(self, address: str, token: str, now: Instant) -> list[Effect]:
        """Nobody waits for an answer that is not needed."""
        if self.asked is not None and self.asked.address == address:
            return []
        if not address or (self.given is not None and self.given.address == address):
            before, self.asked, self.state = self.asked, None, "given"
            return [] if before is None else [Forget(ASKED), SetTimer(None)]
        self.asked = Consent(token, address)
        return [Remember(ASKED, self.asked), *self._begin(self.asked, now)]

    def _begin(self, asked: Consent, now: Instant) -> list[Effect]:
        self._deadline, self._tries = after(now, self._patience.wait), 0
        return [SetTimer(None), *self._ask(asked)]

    def _ask(self, asked: Consent) -> list[Effect]:
        self.state = "asking"
        self._tries += 1
        return [Ask(asked.address, Question(asked.token))]

    def _go_on(self, message: Message, asked: Consent, now: Instant) -> list[Effect]:
        """What is said to a question of before, or to one that is settled, changes nothing."""
        match message:
            case Woken() if self.state == "refused":
                return [Ask(BROKER, End(self._problem))]
            case Woken():
                if now < self._deadline:
                    return [SetTimer(self._deadline)] if self.state == "waiting" else self._ask(asked)
                return self._refuse(f"{self._problem} within {self._patience.wait:.0f} s")
            case Unanswered(End()):
                return [SetTimer(after(now, AGAIN_AFTER))]
            case CalledBack(token, rate) if token == asked.token and self.state != "refused":
                return self._give(asked, rate)
            case Answered(token) if token == asked.token and self.state == "asking":
                return self._answered(message, asked, now)
            case Unanswered(Question(token), why) if token == asked.token and self.state == "asking":
                return self._answered(Answered(token, 0, error=why), asked, now)
        return []

    def _answered(self, answer: Answered, asked: Consent, now: Instant) -> list[Effect]:
        """Headers decide, whatever the status is (s4.2): other services answer OPTIONS too."""
        if answer.origin:
            if answer.origin == ANY or answer.origin.lower() == self._origin:
                return self._give(asked, answer.rate)
            return self._refuse(f"it allows {answer.origin[:LONGEST_REASON]!r}, not {self._origin!r}")
        if 200 <= answer.status < 300:
            self.state, self._problem = "waiting", "it gave no consent"
            return [SetTimer(self._deadline)]
        self._problem = f"HTTP {answer.status}" if answer.status else answer.error
        if answer.refused or (400 <= answer.status < 500 and answer.status not in PASSING):
            return self._refuse(self._problem)
        delay = min(self._patience.longest_delay, self._patience.first_delay * 2 ** min(self._tries - 1, 30))
        return [SetTimer(min(self._deadline, after(now, delay)))]

    def _give(self, asked: Consent, rate: str) -> list[Effect]:
        earlier = tuple(each for each in dict.fromkeys(self.consenting) if each != asked.address)
        self.given = replace(asked, rate=rate_of(rate), earlier=earlier[:MOST_EARLIER])
        self.asked, self.state = None, "given"
        given = Report(Given(self._subscription, self.given))
        return [Remember(GIVEN, self.given), Forget(ASKED), SetTimer(None), given]

    def _refuse(self, why: str) -> list[Effect]:
        self.state, self._problem = "refused", f"the consumer did not consent to be sent to: {why}"
        return [SetTimer(None), Ask(BROKER, End(self._problem))]


def rate_of(text: str) -> int | None:
    """Requests a minute (s4.2.2); None where there is no limit, or none that can be read."""
    text = text.strip()
    return int(text) or None if text.isascii() and text.isdigit() and len(text) <= 9 else None
