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

_NOBODY = ""


class Told(Struct, frozen=True, array_like=True):
    """A row: the notifier was claimed by who handles that copy of the message (the publication goes by the message's
    own id); the root by nobody."""

    message: MessageId
    notifier: str
    copy: str


class _Known:
    """Of one message: who is told, and whom each copy's handler is to tell."""

    __slots__ = ("grants", "told", "when")

    def __init__(self, when: Instant) -> None:
        self.when = when
        self.told: set[str] = set()
        self.grants: dict[str, list[str]] = {}


class CentralHistory:
    def __init__(self, rows: Iterable[tuple[Told, Instant]] = ()) -> None:
        self._known: dict[MessageId, _Known] = {}
        for row, when in rows:
            self._insert(row, when)

    def step(self, claim: Claim, now: Instant) -> tuple[Granted, list[Told]]:
        """The answer, and the rows to be on disk before it is given."""
        own = claim.message if claim.copy == PUBLICATION else claim.copy
        wanted = [Told(claim.message, claim.by, _NOBODY), *(Told(claim.message, name, own) for name in claim.names)]
        fresh = [row for row in wanted if self._insert(row, now)]
        granted = self._known[claim.message].grants.get(own, [])
        others = set(claim.names).difference(granted)
        refused = tuple(name for name in claim.names if name in others)
        return Granted(claim.message, claim.copy, claim.by, tuple(granted), refused), fresh

    def forget(self, before: Instant) -> list[MessageId]:
        """Messages that were first claimed before that: whoever claims for one of them later tells everybody again."""
        old = [message for message, known in self._known.items() if known.when < before]
        for message in old:
            del self._known[message]
        return old

    def __len__(self) -> int:
        """Rows."""
        return sum(len(known.told) for known in self._known.values())

    def _insert(self, row: Told, when: Instant) -> bool:
        """Whether it was absent."""
        known = self._known.get(row.message)
        if known is None:
            known = self._known[row.message] = _Known(when)
        if row.notifier in known.told:
            return False
        known.told.add(row.notifier)
        if row.copy != _NOBODY:
            known.grants.setdefault(row.copy, []).append(row.notifier)
        return True
