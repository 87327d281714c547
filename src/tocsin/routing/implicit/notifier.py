"""The notifier: Publish and Notify of paper 000, Tables 1 to 4, as one machine.

It knows its own name, whom its edges lead to, and what its protocols let it remember; nothing global.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.messages import (
    HISTORY,
    PUBLICATION,
    Claim,
    Copy,
    Granted,
    Had,
    Handled,
    Incoming,
    Join,
    Leave,
    Membership,
    Publish,
    Suppressed,
    Waiting,
    history_of,
    publication,
)
from tocsin.routing.implicit.protocols import Protocol, protocol, room
from tocsin.routing.machine import Ask, Deliver, Effect, Expire, Forget, Remember, Report, Send, Started

MOST_NAMES = 500  # in a header of HIN, so that it cannot grow without end
MEMBERSHIP, HAD, WAITS = "", "had:", "waits:"  # the keys of its rows, and how those of messages begin
Neighbours = Callable[[str], Sequence[str]]  # of a topic, in an order that is always the same


class _Asking(NamedTuple):
    """A copy for which the central history was asked, and for whom."""

    waiting: Waiting
    names: tuple[str, ...] = ()


class Notifier:
    """`neighbours` may answer differently from one message to the next: edges and services come and go.

    One that is `leaving` takes no more messages, and ends with what it waits for.
    """

    def __init__(
        self,
        name: str,
        neighbours: Neighbours,
        rows: Mapping[str, Any] | None = None,
        most_names: int | None = MOST_NAMES,
        *,
        leaving: bool = False,
    ) -> None:
        self.name = name
        self.membership: Membership | None = None
        self._neighbours, self._most_names, self._leaving = neighbours, most_names, leaving
        self._history: dict[MessageId, Instant] = {}
        self._asking: dict[tuple[MessageId, str], _Asking] = {}
        self._passes: dict[MessageId, tuple[int, Instant]] = {}  # by protocols that have no history, and since when
        for key, row in (rows or {}).items():
            self._read(key, row)

    def _read(self, key: str, row: Membership | Had | Waiting) -> None:
        match row:
            case Membership():
                self.membership = row
            case Had(when):
                self._history[MessageId(key[len(HAD) :])] = when
            case Waiting(copy):
                self._asking[copy.message.id, copy.id] = _Asking(row)

    def step(self, message: Incoming, now: Instant) -> list[Effect]:
        match message:
            case Publish():
                return self._publish(message, now)
            case Copy():
                return self._notify(message, now)
            case Granted():
                return self._granted(message)
            case Join(membership):
                self.membership, self._leaving = membership, False
                return [Remember(MEMBERSHIP, membership)]
            case Leave():
                return self._leave()
            case Started():
                return [effect for each in list(self._asking.values()) for effect in self._ask(each.waiting)]
            case Expire(before):
                return self._forget(before)
        return []

    def remembered(self) -> int:
        return len(self._history)

    def _forget(self, before: Instant) -> list[Effect]:
        """What is older is no longer kept: a copy that comes later still counts as new."""
        old = [message for message, when in self._history.items() if when < before]
        for message in old:
            del self._history[message]
        for message in [each for each, (_, when) in self._passes.items() if when < before]:
            del self._passes[message]
        return [Forget(HAD + message) for message in old]

    def _leave(self) -> list[Effect]:
        """What it is granted it uses, for nobody else will."""
        self.membership, self._leaving = None, True
        had, self._history = self._history, {}
        return [Forget(MEMBERSHIP), *(Forget(HAD + message) for message in had)] if self._asking else [Forget()]

    def _publish(self, asked: Publish, now: Instant) -> list[Effect]:
        """The root has the message from the start, and is not told of it unless it came from outside."""
        message = asked.message
        rules = protocol(message.protocol)
        first = Copy(PUBLICATION, message, "", self.name, 0, (), rules.bound(asked.most))
        delivery: list[Effect] = [Deliver(first)] if asked.own else []
        kept = self._remember(rules, message.id, now)
        return [Report(publication(message)), *kept, *delivery, *self._pass_on(rules, first, asked.only, now)]

    def _others(self, names: Sequence[str]) -> Iterable[str]:
        return (name for name in dict.fromkeys(names) if name != self.name)

    def _notify(self, copy: Copy, now: Instant) -> list[Effect]:
        message = copy.message
        rules = protocol(message.protocol)
        if rules.drops(message.id in self._history):
            return [self._handled(copy, now, dropped=True)]
        delivery: list[Effect] = [Deliver(copy)] if message.root != self.name else []
        kept = self._remember(rules, message.id, now)
        return [*kept, *delivery, *self._pass_on(rules, copy, () if rules.ends else None, now)]

    def _pass_on(self, rules: Protocol, copy: Copy, only: tuple[str, ...] | None, now: Instant) -> list[Effect]:
        if rules.central:
            waiting = Waiting(copy, now, only)
            return [Remember(_waiting_key(copy), waiting), *self._ask(waiting)]
        names = self._told(copy, only)
        known = {copy.message.root, *copy.notified} if rules.header else set[str]()
        fresh = tuple(name for name in names if name not in known)
        repeated = tuple(Suppressed(name, "header") for name in names if name in known)
        return self._send(copy, fresh, repeated, now)

    def _told(self, copy: Copy, only: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(self._neighbours(copy.message.topic) if only is None else self._others(only))

    def _ask(self, waiting: Waiting) -> list[Effect]:
        copy, names = waiting.copy, self._told(waiting.copy, waiting.only)
        self._asking[copy.message.id, copy.id] = _Asking(waiting, names)
        of = history_of(copy.message.id) if protocol(copy.message.protocol).keyed else HISTORY
        return [Ask(of, Claim(copy.message.id, copy.id, self.name, names))]

    def _granted(self, answer: Granted) -> list[Effect]:
        """It may name some who were asked for before a crash and are neighbours no more; an answer from that time that
        leaves out who was asked for since, or one that comes twice, is passed over. The copy was received before the
        history was asked: that is when it was handled."""
        asking = self._asking.get((answer.message, answer.copy))
        if asking is None or not {*answer.names, *answer.refused}.issuperset(asking.names):
            return []
        del self._asking[answer.message, answer.copy]
        copy, received = asking.waiting.copy, asking.waiting.received
        repeated = tuple(Suppressed(name, "history") for name in answer.refused)
        ended = [Forget()] if self._leaving and not self._asking else [Forget(_waiting_key(copy))]
        return [*self._send(copy, answer.names, repeated, received), *ended]

    def _send(self, copy: Copy, names: tuple[str, ...], repeated: tuple[Suppressed, ...], now: Instant) -> list[Effect]:
        told, withheld = (names, ()) if self._may_pass_on(copy, now) else ((), names)
        notified = self._header(copy.notified, told) if protocol(copy.message.protocol).header else ()
        copies = [self._copy(copy, name, notified) for name in told]
        handled = self._handled(
            copy, now, forwarded=tuple((each.id, each.to) for each in copies), suppressed=repeated, withheld=withheld
        )
        return [*(Send(each.to, each, each.id) for each in copies), handled]

    def _may_pass_on(self, copy: Copy, now: Instant) -> bool:
        """A bound that needs nothing global, and never bites where a message comes once: all together send no more than
        so many times what DIN would."""
        if copy.most is None:
            return True
        passes, since = self._passes.get(copy.message.id, (0, now))
        self._passes[copy.message.id] = passes + 1, since
        return room(passes, copy.most) > 0

    def _copy(self, copy: Copy, name: str, notified: tuple[str, ...]) -> Copy:
        message = copy.message
        own = _name_of(message.id, copy.id, name)
        return Copy(own, message, self.name, name, copy.hop + 1, notified, copy.most)

    def _header(self, before: tuple[str, ...], told: tuple[str, ...]) -> tuple[str, ...]:
        """The latest names when there are too many: who is left out may be told again, which the bound ends."""
        names = before + told
        return names if self._most_names is None else names[max(0, len(names) - self._most_names) :]

    def _remember(self, rules: Protocol, message: MessageId, now: Instant) -> list[Effect]:
        if not rules.local:
            return []
        self._history[message] = now
        return [Remember(HAD + message, Had(now))]

    def _handled(
        self,
        copy: Copy,
        now: Instant,
        *,
        dropped: bool = False,
        forwarded: tuple[tuple[str, str], ...] = (),
        suppressed: tuple[Suppressed, ...] = (),
        withheld: tuple[str, ...] = (),
    ) -> Report:
        message = copy.message
        handled = Handled(
            message.id, copy.id, copy.sender, self.name, copy.hop, now, dropped, forwarded, suppressed, withheld
        )
        return Report(handled, message.reports)


def _waiting_key(copy: Copy) -> str:
    """By its own id; of the publication it is the message's."""
    return WAITS + (copy.id or copy.message.id)


def _name_of(message: MessageId, cause: str, to: str) -> str:
    """Of a copy: told from the copy that caused it and whom it is for, so that one who starts again gives the same
    names, even when the neighbours are others by then."""
    return blake2b(f"{message}/{cause}/{to}".encode(), digest_size=12).hexdigest()
