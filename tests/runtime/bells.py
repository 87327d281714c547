"""A machine as small as one can be, for those who add another: two messages, a row, a timer, and its family.

A bell that is struck counts that, strikes the bell next to it, and says so when it has been quiet for a while.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from tocsin.model.identity import Instant, after
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Answer, Effect, Remember, Report, Send, SetTimer, Started, Woken
from tocsin.runtime.family import Family
from tocsin.store.connection import Connection
from tocsin.store.machines import Codec, Letter, MachineTables

QUIET = 0.05  # seconds


class Strike(Struct, frozen=True):
    """`on` are the bells that are struck by it one after the other."""

    on: tuple[str, ...] = ()


class HowOften(Struct, frozen=True):
    pass


class Count(Struct, frozen=True):
    """The row."""

    strikes: int
    last: Instant


Message = Strike | HowOften | Started | Woken


class Bell:
    def __init__(self, name: str, count: Count = Count(0, Instant(0))) -> None:  # noqa: B008 - frozen
        self._name, self._count = name, count

    def step(self, message: Message, now: Instant) -> list[Effect]:
        match message:
            case Strike(on):
                return self._strike(on, now)
            case HowOften():
                return [Answer(self._count.strikes)]
            case Started() | Woken():
                return self._look(now)

    def _strike(self, on: tuple[str, ...], now: Instant) -> list[Effect]:
        if len(on) > 100:
            raise Refusal("too-large", "that would ring all day")
        self._count = Count(self._count.strikes + 1, now)
        further = [Send(on[0], Strike(on[1:]))] if on else []
        return [Remember("", self._count), SetTimer(after(now, QUIET)), *further]

    def _look(self, now: Instant) -> list[Effect]:
        """A timer is not kept: who is started sets it again."""
        quiet_at = after(self._count.last, QUIET)
        return [Report(f"{self._name} is quiet")] if quiet_at <= now else [SetTimer(quiet_at)]


class Bells(Family[Bell]):
    """What the runtime needs besides the machine. Whoever strikes a bell that is not there hangs it up."""

    title = "the bells"
    begins = (Strike,)

    def __init__(self, heard: list[str]) -> None:
        self._heard = heard

    def make(self, name: str, rows: Mapping[str, Any]) -> Bell | None:
        return make(name, rows)

    def absent(self, letter: Letter, now: Instant) -> Iterable[Effect]:
        del now
        return [Report(f"nobody strikes {letter.to}")]

    def reported(self, what: Any) -> None:
        self._heard.append(what)


def make(name: str, rows: Mapping[str, Any]) -> Bell | None:
    """As the simulator makes it too; there is no bell without a name of its own."""
    return Bell(name, *rows.values()) if name.startswith("bell") else None


def tables(connection: Connection) -> MachineTables:
    return MachineTables(connection, "bells", Codec(strike=Strike), Codec(count=Count))
