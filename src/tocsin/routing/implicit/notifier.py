"""The notifier: Publish and Notify of paper 000, Tables 1 to 4, as one machine.

It knows its own name, whom its edges lead to, and what its protocols let it remember; nothing global.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.messages import (
    PUBLICATION,
    Claim,
    Copy,
    Deliver,
    Effect,
    Forward,
    Granted,
    Handled,
    Incoming,
    Publish,
    Remember,
    Suppressed,
)
from tocsin.routing.implicit.protocols import Protocol, protocol

MOST_NAMES = 500  # in a header of HIN, so that it cannot grow without end
Neighbours = Callable[[str], Sequence[str]]  # of a topic, in an order that is always the same


class _Waiting(NamedTuple):
    """A copy for which the central history was asked, and for whom."""

    copy: Copy
    names: tuple[str, ...]
    received: Instant


class Notifier:
    """`neighbours` may answer differently from one message to the next: edges and services come and go.

    `history` holds the ids of messages it has had and when, as far back as they are kept.
    """

    def __init__(
        self,
        name: str,
        neighbours: Neighbours,
        history: Iterable[tuple[MessageId, Instant]] = (),
        most_names: int | None = MOST_NAMES,
    ) -> None:
        self.name = name
        self._neighbours = neighbours
        self._history: dict[MessageId, Instant] = dict(history)
        self._asking: dict[tuple[MessageId, str], _Waiting] = {}
        self._most_names = most_names
        self._passes: dict[MessageId, tuple[int, Instant]] = {}  # by protocols that have no history, and since when

    def step(self, incoming: Incoming, now: Instant) -> list[Effect]:
        match incoming:
            case Publish():
                return self._publish(incoming, now)
            case Copy():
                return self._notify(incoming, now)
            case Granted():
                return self._granted(incoming)

    def forget(self, before: Instant) -> list[MessageId]:
        """What is older is no longer kept: a copy that comes later still counts as new."""
        old = [message for message, when in self._history.items() if when < before]
        for message in old:
            del self._history[message]
        for message in [each for each, (_, when) in self._passes.items() if when < before]:
            del self._passes[message]
        return old

    def remembered(self) -> int:
        return len(self._history)

    def _publish(self, asked: Publish, now: Instant) -> list[Effect]:
        """The root has the message from the start, and is not told of it unless it came from outside."""
        message = asked.message
        rules = protocol(message.protocol)
        first = Copy(PUBLICATION, message, "", self.name, 0, (), asked.most if rules.bounded else None)
        told = self._neighbours(message.topic) if asked.only is None else self._others(asked.only)
        delivery: list[Effect] = [Deliver(first)] if asked.own else []
        kept = self._remember(rules, message.id, now)
        return [*kept, *delivery, *self._pass_on(rules, first, tuple(told), now)]

    def _others(self, names: Sequence[str]) -> Iterable[str]:
        return (name for name in dict.fromkeys(names) if name != self.name)

    def _notify(self, copy: Copy, now: Instant) -> list[Effect]:
        message = copy.message
        rules = protocol(message.protocol)
        if rules.local and message.id in self._history:
            return [self._handled(copy, now, dropped=True)]
        delivery: list[Effect] = [Deliver(copy)] if message.root != self.name else []
        kept = self._remember(rules, message.id, now)
        told = () if rules.ends else tuple(self._neighbours(message.topic))
        return [*kept, *delivery, *self._pass_on(rules, copy, told, now)]

    def _pass_on(self, rules: Protocol, copy: Copy, names: tuple[str, ...], now: Instant) -> list[Effect]:
        known = {copy.message.root, *copy.notified} if rules.header else set[str]()
        fresh = tuple(name for name in names if name not in known)
        if rules.central:
            self._asking[copy.message.id, copy.id] = _Waiting(copy, fresh, now)
            return [Claim(copy.message.id, copy.id, self.name, fresh)]
        repeated = tuple(Suppressed(name, "header") for name in names if name in known)
        return self._send(copy, fresh, repeated, now)

    def _granted(self, answer: Granted) -> list[Effect]:
        """It may name some who were asked for before a crash and are neighbours no more; an answer from that time that
        leaves out who was asked for since, or one that comes twice, is passed over. The copy was received before the
        history was asked: that is when it was handled."""
        waiting = self._asking.get((answer.message, answer.copy))
        if waiting is None or not {*answer.names, *answer.refused}.issuperset(waiting.names):
            return []
        del self._asking[answer.message, answer.copy]
        repeated = tuple(Suppressed(name, "history") for name in answer.refused)
        return self._send(waiting.copy, answer.names, repeated, waiting.received)

    def _send(self, copy: Copy, names: tuple[str, ...], repeated: tuple[Suppressed, ...], now: Instant) -> list[Effect]:
        told, withheld = (names, ()) if self._may_pass_on(copy, now) else ((), names)
        notified = self._header(copy.notified, told) if protocol(copy.message.protocol).header else ()
        copies = [self._copy(copy, name, notified) for name in told]
        handled = self._handled(
            copy, now, forwarded=tuple((each.id, each.to) for each in copies), suppressed=repeated, withheld=withheld
        )
        return [*map(Forward, copies), handled]

    def _may_pass_on(self, copy: Copy, now: Instant) -> bool:
        """A bound that needs nothing global, and never bites where a message comes once: all together send no more than
        so many times what DIN would."""
        if copy.most is None:
            return True
        passes, since = self._passes.get(copy.message.id, (0, now))
        self._passes[copy.message.id] = passes + 1, since
        return passes < copy.most

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
        return [Remember(message)]

    def _handled(
        self,
        copy: Copy,
        now: Instant,
        *,
        dropped: bool = False,
        forwarded: tuple[tuple[str, str], ...] = (),
        suppressed: tuple[Suppressed, ...] = (),
        withheld: tuple[str, ...] = (),
    ) -> Handled:
        message = copy.message.id
        return Handled(
            message, copy.id, copy.sender, self.name, copy.hop, now, dropped, forwarded, suppressed, withheld
        )


def _name_of(message: MessageId, cause: str, to: str) -> str:
    """Of a copy: told from the copy that caused it and whom it is for, so that one who starts again gives the same
    names, even when the neighbours are others by then."""
    return blake2b(f"{message}/{cause}/{to}".encode(), digest_size=12).hexdigest()
