"""The one combining step: from what holds of a notification to the slots of those who want it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from math import nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.evidence import Evidence
from tocsin.matching.index.atom_indexes import AtomIndex
from tocsin.matching.index.holding import Holding, Levels, Numbers
from tocsin.matching.index.postings import Filed
from tocsin.model.identity import Instant
from tocsin.model.subscription import Position, Subscription

NEVER = (1 << 63) - 1
STANDING: dict[str, type[np.generic]] = {"since": np.int64, "until": np.int64}
MOST = 4  # atoms of a term, the first of which is the one it is found by; what asks for more is verified
MANY = 4096  # terms for which the kernel is worth loading numba, which takes a second


class Rows(Protocol):
    def __getitem__(self, name: str) -> NDArray[Any]: ...


class Matcher:
    """Indexes, and the rows of atoms, terms and slots that they are about.

    The slot of a term that is decided in part only is inverted.
    """

    def __init__(
        self, indexes: Sequence[AtomIndex], atoms: Rows, terms: Rows, slots: Rows, filed: Callable[[], Filed]
    ) -> None:
        self._indexes, self._atoms, self._terms, self._slots, self._filed = indexes, atoms, terms, slots, filed
        self._found: Numbers = np.empty(0, np.int32)

    def match(self, evidence: Evidence) -> tuple[list[int], list[int], Holding]:
        """The slots of those who want it, those of whom the filters are to be verified, and what holds."""
        holding = Holding()
        for index in self._indexes:
            index.match(evidence, holding)
        combine = self._combined if len(self._terms["slot"]) < MANY else self.combined_by_kernel
        told = evidence.notification
        found = combine(holding, told.at, told.when)
        if holding.doubtful:  # what is found only with these is to be verified
            holding.arrays += holding.doubtful
            found += (min(each, ~each) for each in combine(holding, told.at, told.when))
        return *_apart(found), holding

    def combined_by_kernel(self, holding: Holding, at: Position, when: Instant) -> list[int]:
        atoms, terms, slots = self._atoms, self._terms, self._slots
        if len(self._found) < len(terms["slot"]):
            self._found = np.empty(len(terms["slot"]), np.int32)
        count = self._kernel(
            *holding.reached(), *holding.limited(), atoms["level"], atoms["start"], atoms["count"], *self._filed(),
            terms["atoms"], terms["bounds"], terms["slot"], slots["since"], slots["until"], at.offset, when,
            self._found,
        )  # fmt: skip
        return self._found[:count].tolist()  # type: ignore[no-any-return]

    @cached_property
    def _kernel(self) -> Callable[..., int]:
        from tocsin.matching.index.combining_kernel import (
            wanting,  # here, for a process with few terms does not load numba
        )

        return wanting

    def _combined(self, holding: Holding, at: Position, when: Instant) -> list[int]:
        """The same, without the kernel."""
        (some, levels), (sides, limits) = holding.reached(), holding.limited()
        numbers, reached = np.concatenate((some, sides)), np.concatenate((levels, limits))
        level, terms = self._atoms["level"], self._terms
        level[numbers] = reached
        found = self._candidates(numbers, reached)
        holds = level.take(terms["atoms"].take(found, 0)) >= terms["bounds"].take(found, 0)
        level[numbers] = nan
        slot = terms["slot"].take(found.compress(holds.all(1)))
        standing = np.maximum(slot, ~slot)
        stands = (self._slots["since"].take(standing) <= at.offset) & (self._slots["until"].take(standing) > when)
        return slot.compress(stands).tolist()  # type: ignore[no-any-return]

    def _candidates(self, numbers: Numbers, reached: Levels) -> Numbers:
        """The terms that are found by what holds."""
        starts, counts, filed = self._atoms["start"].take(numbers), self._atoms["count"].take(numbers), self._filed()
        some = zip(starts.tolist(), counts.tolist(), reached.tolist(), strict=True)
        ends = (
            (start, bisect_right(filed.bounds, limit, start, start + count)) for start, count, limit in some if count
        )
        return np.concatenate([filed.terms[:0], *(filed.terms[start:end] for start, end in ends)])


def _apart(slots: list[int]) -> tuple[list[int], list[int]]:
    """Those that are decided, and those whose filters are to be verified; each once."""
    if not slots or min(slots) >= 0:
        return list(dict.fromkeys(slots)), []
    decided = dict.fromkeys(each for each in slots if each >= 0)
    others = dict.fromkeys(~each for each in slots if each < 0)
    return list(decided), [each for each in others if each not in decided]


def set_standing(rows: Rows, slot: int, subscription: Subscription) -> None:
    """Who is not active wants nothing at any time (`Subscription.wants_at`)."""
    expires = NEVER if subscription.expires is None else min(subscription.expires, NEVER)
    rows["since"][slot] = subscription.since.offset
    rows["until"][slot] = expires if subscription.state == "active" else -NEVER
