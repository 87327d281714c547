"""What a node of a ring has to do from time to time, and when it is due."""

from typing import Literal

from msgspec import Struct

from tocsin.model.identity import Instant, after
from tocsin.routing.ring.identifiers import SIZE, identifier_of
from tocsin.routing.ring.table import SUCCESSORS, Peer

Round = Literal["stabilise", "fingers", "reunite"]  # each has its pace in the settings
Task = Literal["join"] | Round


class Settings(Struct, frozen=True):
    """`join` are the addresses by which it may find the ring; without any it begins one. In seconds: how often it asks
    its successor; looks at one of its fingers, when all were right; looks for others that are in another ring; asks
    again who did not answer; and how long it waits for any answer. Of fingers that may be wrong it looks at `burst` at
    once."""

    join: tuple[str, ...] = ()
    successors: int = SUCCESSORS
    stabilise: float = 1.0
    fingers: float = 10.0
    reunite: float = 30.0
    again: float = 0.25
    patience: float = 15.0
    burst: int = 4


class Agenda:
    """Paces differ from node to node, by up to a tenth, by what its place gives: so not all ask at once."""

    def __init__(self, own: Peer, settings: Settings) -> None:
        self._own, self._settings, self._is_closed = own, settings, False
        self._due: dict[Task, Instant] = {}

    @property
    def next(self) -> Instant | None:
        return min(self._due.values(), default=None)

    def pace(self, name: Round) -> float:
        seconds: float = getattr(self._settings, name)
        return seconds * (0.9 + 0.2 * identifier_of(f"{self._own.id} {name}") / SIZE)

    def soon(self, name: Task, now: Instant, seconds: float = 0.0) -> None:
        """Then, or earlier if that was said before."""
        if not self._is_closed:
            when = after(now, seconds)
            self._due[name] = min(self._due.get(name, when), when)

    def take(self, name: Task, now: Instant) -> bool:
        """Is it due? Then not any more."""
        return self._due.get(name, now + 1) <= now and self._due.pop(name) is not None

    def close(self) -> None:
        self._due.clear()
        self._is_closed = True
