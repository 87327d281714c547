"""The central history of CIN (paper 000 s4.1): who is told of a message, and by whom.

The paper checks and then inserts, in two steps that race. Here a claim inserts what is absent and says what that was,
in one step, so that no service is told twice under any interleaving. Who claims again, because the answer was lost or
it was killed before it could use it, gets all that it was granted before, whoever its neighbours are by then: nobody
else will tell them.
"""

from collections.abc import Iterable

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.messages import PUBLICATION, Claim, Granted
from tocsin.routing.machine import Answer, Effect, Expire, Forget, Remember, Started

_NOBODY = ""


class Grant(Struct, frozen=True, array_like=True):
    """A row: the notifier was claimed by who handles that copy of the message (the publication goes by the message's
    own id); the root by nobody."""

    message: MessageId
    notifier: str
    copy: str
    when: Instant

    @property
    def key(self) -> str:
        return f"{len(self.message)}:{self.message}{self.notifier}"


class _Known:
    """Of one message: who is told, and whom each copy's handler is to tell."""

    __slots__ = ("grants", "told", "when")

    def __init__(self, when: Instant) -> None:
        self.when = when
        self.told: set[str] = set()
        self.grants: dict[str, list[str]] = {}


class CentralHistory:
    def __init__(self, rows: Iterable[Grant] = ()) -> None:
        self._known: dict[MessageId, _Known] = {}
        for row in sorted(rows, key=lambda each: each.when):
            self._insert(row)

    def step(self, message: Claim | Expire | Started, now: Instant) -> list[Effect]:
        match message:
            case Claim():
                return self._grant(message, now)
            case Expire(before):
                return self._forget(before)
        return []

    def __len__(self) -> int:
        """Rows."""
        return sum(len(known.told) for known in self._known.values())

    def _grant(self, claim: Claim, now: Instant) -> list[Effect]:
        """The answer is given when the rows are on disk."""
        own = claim.message if claim.copy == PUBLICATION else claim.copy
        grants = (Grant(claim.message, name, own, now) for name in claim.names)
        fresh = [each for each in (Grant(claim.message, claim.by, _NOBODY, now), *grants) if self._insert(each)]
        granted = self._known[claim.message].grants.get(own, [])
        others = set(claim.names).difference(granted)
        refused = tuple(name for name in claim.names if name in others)
        answer = Granted(claim.message, claim.copy, claim.by, tuple(granted), refused)
        return [*(Remember(each.key, each) for each in fresh), Answer(answer)]

    def _forget(self, before: Instant) -> list[Effect]:
        """Messages that were first claimed before that: whoever claims for one of them later tells everybody again."""
        effects: list[Effect] = []
        for message in [each for each, known in self._known.items() if known.when < before]:
            told = self._known.pop(message).told
            effects += [Forget(Grant(message, name, _NOBODY, before).key) for name in told]
        return effects

    def _insert(self, row: Grant) -> bool:
        """Whether it was absent."""
        known = self._known.get(row.message)
        if known is None:
            known = self._known[row.message] = _Known(row.when)
        if row.notifier in known.told:
            return False
        known.told.add(row.notifier)
        if row.copy != _NOBODY:
            known.grants.setdefault(row.copy, []).append(row.notifier)
        return True


class MessageHistory(CentralHistory):
    """That of one message alone, where the nodes of a ring share the histories among them. It ends with what it knew,
    and begins with the first claim."""

    def step(self, message: Claim | Expire | Started, now: Instant) -> list[Effect]:
        effects = super().step(message, now)
        return [Forget()] if isinstance(message, Expire) and not len(self) else effects
