"""The one combining step: from what holds of a notification to the slots of those who want it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.atom_indexes import AtomIndex
from tocsin.matching.evidence import Evidence
from tocsin.matching.holding import Holding, Numbers
from tocsin.model.identity import Instant
from tocsin.model.subscription import Position, Subscription

ALWAYS = 0  # the atom that always holds
NONE = -1  # an atom finds one term, its number; or none; or a list of terms, at -2 the first list, at -3 the second
NEVER = (1 << 63) - 1
STANDING: dict[str, type[np.generic]] = {"since": np.int64, "until": np.int64}
LAST_ROUND = (1 << 31) - 1
OTHERS = 3  # atoms of a term beside the one it is found by; what asks for more is verified


class Rows(Protocol):
    def __getitem__(self, name: str) -> NDArray[Any]: ...


class Matcher:
    """Indexes, and the rows of atoms, terms and slots that they are about."""

    def __init__(
        self, indexes: Sequence[AtomIndex], atoms: Rows, terms: Rows, slots: Rows, listed: Callable[[int], Numbers]
    ) -> None:
        self._indexes, self._atoms, self._terms, self._slots, self._listed = indexes, atoms, terms, slots, listed
        self.holding = Holding()
        self._round = 0

    def match(self, evidence: Evidence) -> tuple[list[int], list[int], Numbers]:
        """The slots of those who want it, those of whom the filters are to be verified, and the atoms that hold."""
        self._round = next_round(self._round, self._atoms)
        try:
            for index in self._indexes:
                index.match(evidence, self.holding)
            found = stamp(self.holding, self._atoms, self._round)
            terms = combine(found, self.holding, self._atoms, self._terms, self._listed, self._round)
        finally:
            self.holding.clear()
        told = evidence.notification
        return *standing(terms, self._terms, self._slots, told.at, told.when), found


def next_round(last: int, atoms: Rows) -> int:
    """The number of the next match; when there is none left, all marks are wiped off."""
    if last < LAST_ROUND:
        return last + 1
    atoms["stamp"][:] = 0
    return 1


def stamp(holding: Holding, atoms: Rows, now: int) -> Numbers:
    """The atoms that hold, each marked with the number of this match."""
    holding.set_limits()
    holding.atoms.append(ALWAYS)
    found = np.array(holding.atoms, np.int32)
    if holding.arrays:
        found = np.concatenate((found, *holding.arrays))
    atoms["stamp"][found] = now
    return found


def combine(
    found: Numbers, holding: Holding, atoms: Rows, terms: Rows, listed: Callable[[int], Numbers], now: int
) -> Numbers:
    """The terms of which all atoms hold."""
    candidates = _candidates(found, holding, atoms, listed)
    if not len(candidates):
        return candidates
    others = terms["others"].take(candidates, 0)
    side = atoms["side"].take(others)
    ordered = holding.limits.take(side) >= atoms["bound"].take(others)
    holds = np.where(side, ordered, atoms["stamp"].take(others) == now)
    return candidates.compress(np.logical_and.reduce(holds, 1))


def _candidates(found: Numbers, holding: Holding, atoms: Rows, listed: Callable[[int], Numbers]) -> Numbers:
    """The terms that are found by what holds."""
    heads = atoms["head"].take(found)
    parts = [heads.compress(heads >= 0), *holding.terms]
    lists = heads.compress(heads < NONE).tolist()
    if lists:
        parts += (listed(-2 - each) for each in set(lists))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def standing(found: Numbers, terms: Rows, slots: Rows, at: Position, when: Instant) -> tuple[list[int], list[int]]:
    """The slots of the terms whose subscriptions stand there and then (`Subscription.wants_at`).

    First those that are decided, then those whose filters are to be verified; each once.
    """
    slot, partly = terms["slot"].take(found), terms["partly"].take(found)
    stands = (slots["since"].take(slot) <= at.offset) & (slots["until"].take(slot) > when)
    if not partly.any():
        return list(dict.fromkeys(slot.compress(stands).tolist())), []
    decided = dict.fromkeys(slot.compress(stands & ~partly).tolist())
    others = dict.fromkeys(slot.compress(stands & partly).tolist())
    return list(decided), [each for each in others if each not in decided]


def set_standing(rows: Rows, slot: int, subscription: Subscription) -> None:
    """Who is not active wants nothing at any time."""
    expires = NEVER if subscription.expires is None else min(subscription.expires, NEVER)
    rows["since"][slot] = subscription.since.offset
    rows["until"][slot] = expires if subscription.state == "active" else -NEVER
