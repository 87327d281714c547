"""One turn: what came in steps the machines, and all that they ask for is gathered, to be written at once.

Nothing here waits. A turn that cannot be written is thrown away, and the machines it stepped with it.
"""

import uuid
from collections.abc import Callable, Iterable
from typing import Any

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import (
    Answer,
    Ask,
    Deliver,
    Effect,
    Expire,
    Forget,
    Machine,
    Remember,
    Report,
    Send,
    SetTimer,
    Unanswered,
)
from tocsin.runtime.family import HERE, Family, Place
from tocsin.store.machines import Codec, Letter, Outgoing, Writing

Item = Letter | Effect | Expire
Machines = dict[str, Any]


class Turn:
    """`known` are the ids of letters that were taken before: what comes again changes nothing."""

    def __init__(
        self, family: Family[Any], machines: Machines, messages: Codec, known: Iterable[str], now: Callable[[], Instant]
    ) -> None:
        self._family, self._machines, self._messages, self._now = family, machines, messages, now
        self._known = set(known)
        self.writing = Writing(now=now())
        self.deliveries: list[tuple[str, Any]] = []
        self.asks: list[tuple[str, Ask]] = []
        self.local: list[Letter] = []
        self.timers: dict[str, Instant | None] = {}
        self.handled: list[str] = []

    def take(self, item: Item) -> list[Any]:
        """The answers to it."""
        match item:
            case Letter():
                if item.id and item.id in self._known:
                    return []
                self._known.add(item.id)
                return self.handle(item)
            case Expire(before):
                self.writing.expire = before
                for name in list(self._machines):
                    self._step(name, item)
                return []
        return self._do_all("", [item])

    def handle(self, letter: Letter) -> list[Any]:
        """One that was taken before, or that nobody keeps."""
        if not letter.id:
            self._family.admit(letter)
        machine = self._machines[letter.to] if letter.to in self._machines else self._begin(letter)
        gone = machine is None or (letter.id and not self._family.resident(machine))
        if gone and letter.id and (place := self._elsewhere(letter)) is not None:
            self._outgoing(place, letter.message, letter.id, letter.to)
            self.writing.passed.append(letter)
            return []
        answers = self._given_up(letter) if gone else self._handle(letter)
        if letter.id:
            self.writing.done.append(letter)
        return answers

    def _begin(self, letter: Letter) -> Machine[Any] | None:
        if not isinstance(letter.message, self._family.begins):
            return None
        machine = self._family.make(letter.to, {})
        if machine is not None:
            self._machines[letter.to] = machine
        return machine

    def _handle(self, letter: Letter) -> list[Any]:
        """What is kept and cannot be understood is passed on or given up; any other is refused to who sent it."""
        try:
            answers = self._step(letter.to, letter.message)
        except Refusal:
            if not letter.id:
                raise
            return self._given_up(letter)
        if letter.id:
            self.handled.append(letter.to)
        return answers

    def _elsewhere(self, letter: Letter) -> Place | None:
        """Where a machine is that is not here, or no more."""
        place = self._family.place(letter, None)
        return None if place == HERE else place

    def _given_up(self, letter: Letter) -> list[Any]:
        return self._do_all("", self._family.absent(letter, self._now()))

    def _step(self, name: str, message: Any) -> list[Any]:
        machine = self._machines.get(name)
        return [] if machine is None else self._do_all(name, machine.step(message, self._now()))

    def _do_all(self, name: str, effects: Iterable[Effect]) -> list[Any]:
        answers: list[Any] = []
        for effect in effects:
            if isinstance(effect, Answer):
                answers.append(effect.message)
            else:
                self._do(name, effect)
        return answers

    def _do(self, name: str, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(effect)
            case Deliver(message):
                self.deliveries.append((name, message))
            case Remember(key, row):
                self.writing.rows[name, key] = row
            case Report():
                if self._family.gathers(effect):
                    self.writing.reports.append(effect.what)
                else:
                    self._outgoing(self._family.report_place(effect), effect.what, uuid.uuid4().hex)
            case Ask():
                self._ask(name, effect)
            case SetTimer(when):
                self.timers[name] = when
            case Forget(None):
                self._end(name)
            case Forget(str(key)):
                self.writing.rows[name, key] = None

    def _ask(self, name: str, ask: Ask) -> None:
        """A machine that is here answers at once: its rows and what follows from them are one transaction."""
        if not self._family.holds(ask.of) or self._asked(ask) is None:
            self.asks.append((name, ask))
            return
        for answer in self._step(ask.of, ask.question) or [Unanswered(ask.question)]:
            self._step(name, answer)

    def _asked(self, ask: Ask) -> Machine[Any] | None:
        """The first question may bring it into being."""
        return self._machines.get(ask.of) or self._begin(Letter(ask.of, ask.question))

    def _send(self, send: Send) -> None:
        letter = Letter(send.to, send.message, send.id or uuid.uuid4().hex)
        place = self._family.place(letter, self._machines.get(send.to))
        if place is None:
            self._do_all("", self._family.absent(letter, self._now()))
        elif place == HERE:
            self.writing.taken.append(letter)
            self.local.append(letter)
        else:
            self._outgoing(place, letter.message, letter.id, letter.to)

    def _outgoing(self, place: Place, message: Any, name: str = "", to: str = "") -> None:
        body = self._messages.encode(message)
        self.writing.outgoing.append(Outgoing(place.peer, place.lane, name, to, self._now(), body))

    def _end(self, name: str) -> None:
        self._machines.pop(name, None)
        self.timers[name] = None
        self.asks = [each for each in self.asks if each[0] != name]
        for place in [each for each in self.writing.rows if each[0] == name]:
            del self.writing.rows[place]
        self.writing.ended.append(name)
