"""What a node has asked and has no answer to yet."""

from typing import Any

from msgspec import Struct

from tocsin.model.identity import Instant, after
from tocsin.routing.machine import Ask
from tocsin.routing.ring.chord_messages import (
    Find,
    Follow,
    Found,
    Here,
    Leave,
    Neighbours,
    Ping,
    Question,
    Reply,
    Stabilise,
)
from tocsin.routing.ring.search import Search
from tocsin.routing.ring.table import Peer

_REPLIES: dict[type, type] = {Find: Found, Stabilise: Neighbours, Follow: Here, Leave: Here, Ping: Here}


class Waiting(Struct, frozen=True):
    """For an answer from `peer`; by an address alone it is not known who is there."""

    peer: Peer | None
    question: Question
    asked: Instant
    search: Search | None = None

    def fits(self, reply: Reply) -> bool:
        """An answer of another kind, or from another than was asked, is none."""
        by_whom = reply.by.is_sound and (self.peer is None or self.peer.id == reply.by.id)
        return by_whom and isinstance(reply, _REPLIES[type(self.question)])


class Questions:
    def __init__(self) -> None:
        self._number = 0
        self._waiting: dict[int, Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self, now: Instant) -> None:
        """With numbers that no earlier process had: an answer to that one is none to this."""
        self._number = max(self._number, now)

    def number(self) -> int:
        self._number += 1
        return self._number

    def ask(self, of: Peer | str, question: Question, now: Instant, search: Search | None = None) -> Ask:
        known = of if isinstance(of, Peer) else None
        self._waiting[question.number] = Waiting(known, question, now, search)
        return Ask(of.address if isinstance(of, Peer) else of, question)

    def wait_for(self, kind: type, peer: Peer) -> bool:
        return any(isinstance(each.question, kind) and each.peer == peer for each in self._waiting.values())

    def to(self, reply: Reply) -> Waiting | None:
        return self._waiting.get(reply.number)

    def of(self, question: Any) -> Waiting | None:
        number = getattr(question, "number", None)
        found = self._waiting.get(number) if isinstance(number, int) else None
        return found if found is not None and found.question == question else None

    def overdue(self, now: Instant, patience: float) -> list[Waiting]:
        return [each for each in self._waiting.values() if after(each.asked, patience) <= now]

    def end(self, waiting: Waiting) -> None:
        self._waiting.pop(waiting.question.number, None)

    def clear(self) -> None:
        self._waiting.clear()
