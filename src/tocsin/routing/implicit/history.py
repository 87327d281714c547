"""The central history of CIN (paper 000 s4.1): who is told of a message, and by whom.

The paper checks and then inserts, in two steps that race. Here a claim inserts what is absent and says what that was,
in one step, so that no service is told twice under any interleaving. Who claims again, because the answer was lost or
it was killed before it could use it, gets the same answer again.
"""

from collections.abc import Iterable

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.messages import Claim, Granted


class Told(Struct, frozen=True, array_like=True):
    """A row: the notifier was claimed by that copy of the message; the root by none."""

    message: MessageId
    notifier: str
    copy: str


class CentralHistory:
    def __init__(self, rows: Iterable[tuple[Told, Instant]] = ()) -> None:
        self._told: dict[MessageId, dict[str, str]] = {}
        self._when: dict[MessageId, Instant] = {}
        for row, when in rows:
            self._insert(row, when)

    def step(self, claim: Claim, now: Instant) -> tuple[Granted, list[Told]]:
        """The answer, and the rows to be on disk before it is given. A copy without id is the publication itself."""
        told = self._told.get(claim.message, {})
        claimant = () if claim.by in told else (Told(claim.message, claim.by, ""),)
        absent = (name for name in claim.names if name not in told and name != claim.by)
        fresh = [*claimant, *(Told(claim.message, name, claim.copy or claim.message) for name in absent)]
        for row in fresh:
            self._insert(row, now)
        told = self._told.get(claim.message, {})
        own = claim.copy or claim.message
        return Granted(claim.message, claim.copy, claim.by, tuple(n for n in claim.names if told.get(n) == own)), fresh

    def forget(self, before: Instant) -> list[MessageId]:
        old = [message for message, when in self._when.items() if when < before]
        for message in old:
            del self._when[message], self._told[message]
        return old

    def __len__(self) -> int:
        """Rows."""
        return sum(map(len, self._told.values()))

    def _insert(self, row: Told, when: Instant) -> None:
        self._told.setdefault(row.message, {})[row.notifier] = row.copy
        self._when.setdefault(row.message, when)
