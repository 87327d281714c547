"""Machines that speak with each other on a clock of their own, whose time passes when something happens: the effects
that a runtime does between processes, done in one process and in an order that a seed gives."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from random import Random
from typing import Any

from tocsin.model.identity import Instant
from tocsin.routing.machine import (
    Answer,
    Ask,
    Deliver,
    Effect,
    Forget,
    Machine,
    Remember,
    Report,
    Send,
    SetTimer,
    Started,
    Unanswered,
    Woken,
)

Delay = Callable[[], int]
MILLISECOND = 1_000_000


def constant(nanoseconds: int = MILLISECOND) -> Delay:
    return lambda: nanoseconds


def between(seed: int, least: int, most: int) -> Delay:
    """The same seed gives the same delays, so that a run can be seen again."""
    random = Random(seed)
    return lambda: random.randint(least, most)


class Clock:
    def __init__(self) -> None:
        self.now = Instant(0)
        self._order = count()
        self._waiting: list[tuple[int, int, Callable[[], object]]] = []

    def after(self, delay: int, work: Callable[[], object]) -> None:
        heapq.heappush(self._waiting, (self.now + delay, next(self._order), work))

    def step(self) -> bool:
        """Does what comes next; false when there is nothing."""
        if not self._waiting:
            return False
        when, _, work = heapq.heappop(self._waiting)
        self.now = Instant(when)
        work()
        return True

    def run(self) -> None:
        while self.step():
            pass

    def __len__(self) -> int:
        return len(self._waiting)


Make = Callable[[str, Mapping[str, Any]], Machine[Any] | None]


class Network:
    """A machine is made when something first comes for it, from what it remembers; None is nobody of that name.

    `send` and `ask` are how long a message takes to another machine, and a question there, as long as the answer back.
    """

    def __init__(self, make: Make, *, send: Delay | None = None, ask: Delay | None = None) -> None:
        self.clock, self.machines = Clock(), dict[str, Machine[Any]]()
        self.rows: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self._make, self._delay, self._ask_delay = make, send or constant(), ask or constant()
        self._timers: dict[str, int] = {}

    def take(self, to: str, message: Any) -> list[Any]:
        """Now; the answers to it."""
        machine = self.machine(to)
        return [] if machine is None else self._do_all(to, machine.step(message, self.clock.now))

    def crash(self, name: str) -> None:
        """It starts again with what it remembers, and nothing else."""
        self.machines.pop(name, None)
        self._set_timer(name, None)
        self.take(name, Started())

    # What is done with them, for those who keep or count it

    def sent(self, send: Send) -> None: ...

    def delivered(self, name: str, message: Any) -> None: ...

    def reported(self, report: Report) -> None: ...

    def absent(self, send: Send) -> None: ...

    def remembered(self, name: str, key: str, row: Any) -> None:
        self.rows[name][key] = row

    def deliver_later(self, send: Send) -> None:
        self.clock.after(self._delay(), partial(self._arrive, send))

    def reaches(self, send: Send) -> bool:
        return self.machine(send.to) is not None

    def machine(self, name: str) -> Machine[Any] | None:
        found = self.machines.get(name)
        if found is None and (found := self._make(name, self.rows[name])) is not None:
            self.machines[name] = found
        return found

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
                self.sent(effect)
                self.deliver_later(effect)
            case Deliver(message):
                self.delivered(name, message)
            case Report():
                self.reported(effect)
            case Remember(key, row):
                self.remembered(name, key, row)
            case Ask():
                self.clock.after(self._ask_delay(), partial(self._asked, name, effect))
            case SetTimer(when):
                self._set_timer(name, when)
            case Forget(None):
                self._end(name)
            case Forget(str(key)):
                self.rows[name].pop(key, None)

    def _arrive(self, send: Send) -> None:
        if self.reaches(send):
            self.take(send.to, send.message)
        else:
            self.absent(send)

    def _asked(self, name: str, ask: Ask) -> None:
        for answer in self.take(ask.of, ask.question) or [Unanswered(ask.question)]:
            self.clock.after(self._ask_delay(), partial(self.take, name, answer))

    def _set_timer(self, name: str, when: Instant | None) -> None:
        """One that was set before finds that it is no longer the last."""
        number = self._timers[name] = self._timers.get(name, 0) + 1
        if when is not None:
            self.clock.after(max(0, when - self.clock.now), partial(self._wake, name, number))

    def _wake(self, name: str, number: int) -> None:
        if self._timers.get(name) == number and name in self.machines:
            self.take(name, Woken())

    def _end(self, name: str) -> None:
        self.machines.pop(name, None)
        self.rows.pop(name, None)
        self._set_timer(name, None)
