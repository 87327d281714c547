"""Combines the atom indexes: a term is found by its rarest atom, and its other atoms are then checked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import nan
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.markup.conditions import Compare, Exists, Path
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.index import atom_indexes
from tocsin.matching.index.atom_indexes import AtomIndex, GraphAtoms
from tocsin.matching.index.atoms import Atom, Term
from tocsin.matching.index.boxes import BoxIndex
from tocsin.matching.index.postings import ALWAYS, HOLDS, Columns, HoldingAtoms, Levels, Numbers, PostingLists, Postings
from tocsin.matching.index.value_index import ValueIndex, bound_of, is_ordered
from tocsin.model.filters import ANY, DESCEND, Graph, InBox, ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import Instant, Node
from tocsin.model.subscription import Position, Subscription

WEIGHT = 4.0  # notifications seen that a guess is worth


class Statistics(Struct, frozen=True):
    """For how many of the notifications seen each atom held; atoms not listed held for none."""

    seen: int = 0
    held: dict[Atom, int] = {}


NO_STATISTICS = Statistics()


def guess(atom: Atom) -> float:
    """Before anything was seen."""
    match atom:
        case InBox() | Graph():
            return 0.02
        case TypeIs():
            return 0.05
        case TopicIs(alternatives):
            wild = any(step in (ANY, DESCEND) for path in alternatives for step in path)
            return 0.2 if wild else 0.03
        case ProducerIs(categories=categories):
            return 0.1 if categories else 0.03
        case Exists():
            return 0.6
        case Compare(how="!="):
            return 0.9
    return 0.4


NEVER = (1 << 63) - 1
STANDING: dict[str, type[np.generic]] = {"since": np.int64, "until": np.int64}
MOST = 4  # atoms of a term, the first of which is the one it is found by; what asks for more is verified
MANY = 4096  # terms for which the kernel is worth loading numba, which takes a second


class Rows(Protocol):
    def __getitem__(self, name: str) -> NDArray[Any]: ...


class Matcher:
    """Matches by the atom indexes over rows of atoms, terms and slots. The slot of a term that decides only in part is
    inverted."""

    def __init__(
        self, indexes: Sequence[AtomIndex], atoms: Rows, terms: Rows, slots: Rows, filed: Callable[[], Postings]
    ) -> None:
        self._indexes, self._atoms, self._terms, self._slots, self._filed = indexes, atoms, terms, slots, filed
        self._found: Numbers = np.empty(0, np.int32)

    def match(self, evidence: Evidence) -> tuple[list[int], list[int], HoldingAtoms]:
        """The slots of those who want it, those of whom the filters are to be verified, and what holds."""
        holding = HoldingAtoms()
        for index in self._indexes:
            index.match(evidence, holding)
        combine = self._combined if len(self._terms["slot"]) < MANY else self.combined_by_kernel
        told = evidence.notification
        found = combine(holding, told.at, told.when)
        if holding.doubtful:  # what is found only with these is to be verified
            holding.arrays += holding.doubtful
            found += (min(each, ~each) for each in combine(holding, told.at, told.when))
        return *_apart(found), holding

    def combined_by_kernel(self, holding: HoldingAtoms, at: Position, when: Instant) -> list[int]:
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
        from tocsin.matching.index.kernel import (
            wanting,  # here, for a process with few terms does not load numba
        )

        return wanting

    def _combined(self, holding: HoldingAtoms, at: Position, when: Instant) -> list[int]:
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


SAMPLED = 8  # of so many notifications one is counted
NONE = -1  # no other term of the slot
_NOTHING_ELSE = (ALWAYS, HOLDS)


class Combination:
    def __init__(self, catalogue: Catalogue, statistics: Statistics = NO_STATISTICS) -> None:
        self._statistics = statistics
        self._numbers: dict[Atom, int] = {}  # of those that the indexes cannot tell
        self._atoms = Columns(
            level=np.float64, start=np.int32, count=np.int32, room=np.int32, uses=np.int32, held=np.int32
        )
        self._atom_at: list[Atom | None] = []  # none for sides, and for the one that always holds
        assert self._new_atom() == ALWAYS
        self._terms = Columns(
            atoms=(np.int32, MOST),  # first the one it is found by
            bounds=(np.float64, MOST),
            slot=np.int32,  # inverted if it is decided in part only
            next=np.int32,  # of the same slot
        )
        self._slots = Columns(terms=np.int32, **STANDING)
        self._filing = PostingLists(self._atoms)
        self._matches, self._seen = 0, 0
        self._boxes, self.graphs = atom_indexes.BoxAtoms(catalogue), GraphAtoms()
        self._topics, self._values = (
            atom_indexes.TopicAtoms(),
            atom_indexes.ValueAtoms(self._new_atom, self._atoms.give_back),
        )
        self._types, self._producers = atom_indexes.types(), atom_indexes.producers()
        indexes = (self._topics, self._types, self._producers, self._boxes, self._values, self.graphs)
        self._matcher = Matcher(indexes, self._atoms, self._terms, self._slots, lambda: self._filing.filed)

    def add(self, subscription: Subscription, terms: Iterable[Term]) -> int:
        """The slot in which it stands."""
        slot = self._slots.take()
        self._slots["terms"][slot] = NONE
        set_standing(self._slots, slot, subscription)
        for term in terms:
            asked = [each for each in term.atoms if not isinstance(each, InBox) or self._boxes.takes(each)]
            partly = not term.is_whole or len(asked) < len(term.atoms) or len(asked) > MOST
            asked = sorted(asked, key=self._rate)[:MOST]
            uses = [*map(self._use, asked), *(_NOTHING_ELSE,) * MOST][:MOST]
            at = self._terms.take()
            row = self._terms
            row["slot"][at], row["next"][at] = ~slot if partly else slot, self._slots["terms"][slot]
            row["atoms"][at], row["bounds"][at] = zip(*uses, strict=True)
            self._slots["terms"][slot] = at
            self._filing.add(at, *zip(*uses, strict=True))
        return slot

    def exchange(self, slot: int, subscription: Subscription) -> None:
        """It asks for the same, for another time."""
        set_standing(self._slots, slot, subscription)

    def remove(self, slot: int) -> None:
        term = int(self._slots["terms"][slot])
        while term != NONE:
            following = int(self._terms["next"][term])
            atoms = self._terms["atoms"][term].tolist()
            self._filing.remove(term, atoms[0], float(self._terms["bounds"][term, 0]))
            for atom in atoms:
                self._release(atom)
            self._terms.give_back(term)
            term = following
        self._slots.give_back(slot)

    def match(self, evidence: Evidence) -> tuple[list[int], list[int]]:
        """The slots of those who want it, and of those whose filters are to be verified."""
        decided, partly, holding = self._matcher.match(evidence)
        self._matches += 1
        if not self._matches % SAMPLED:
            self._seen += 1
            for atoms in (np.array(list(holding.levels), np.int32), *holding.arrays):
                self._atoms["held"][atoms] += 1
        return decided, partly

    def warm(self) -> None:
        """The kernel is made ready."""
        self._matcher.combined_by_kernel(HoldingAtoms(), Position(Node(""), 0), Instant(0))

    def statistics(self) -> Statistics:
        """What was seen of the atoms that are asked for now."""
        held = self._atoms["held"]
        return Statistics(self._seen, {each: int(held[at]) for at, each in self.atoms() if held[at]})

    def _use(self, asked: Atom) -> tuple[int, float]:
        """Its number, and the level that is needed. Boxes are mostly different: each use has a number of its own."""
        if isinstance(asked, Compare) and is_ordered(asked):
            return self._values.hold(asked), bound_of(asked)
        number = self._number(asked)
        if number is None:
            number = self._new_atom()
            self._enter(number, asked)
        self._atoms["uses"][number] += 1
        return number, HOLDS

    def _new_atom(self) -> int:
        number = self._atoms.take()
        for column, value in (("level", nan), ("held", 0), ("uses", 0), ("room", 0), ("count", 0)):
            self._atoms[column][number] = value
        if number == len(self._atom_at):
            self._atom_at.append(None)
        return number

    def _number(self, asked: Atom) -> int | None:
        match asked:
            case InBox():
                return None
            case Compare() | Exists():
                return self._values.number(asked)
        return self._numbers.get(asked)

    def _enter(self, number: int, asked: Atom) -> None:
        if isinstance(asked, Compare | Exists):
            asked = self._values.shared(asked)
        elif not isinstance(asked, InBox):
            self._numbers[asked] = number
        self._atom_at[number] = asked
        self._index_of(asked).add(number, asked)

    def _release(self, number: int) -> None:
        if number != ALWAYS and self._atom_at[number] is None:
            self._values.let_go(number)
            return
        self._atoms["uses"][number] -= 1
        asked = self._atom_at[number]
        if asked is None or self._atoms["uses"][number]:
            return
        self._index_of(asked).remove(number, asked)
        self._numbers.pop(asked, None)
        self._atom_at[number] = None
        self._atoms.give_back(number)

    def _rate(self, asked: Atom) -> float:
        """How often it is expected to hold, by what was seen here and before; a guess where nothing was."""
        number = self._number(asked)
        here = 0 if number is None else int(self._atoms["held"][number])
        seen = self._statistics.seen + self._seen
        return (self._statistics.held.get(asked, 0) + here + WEIGHT * self._guess(asked)) / (seen + WEIGHT)

    def _guess(self, asked: Atom) -> float:
        """The more different constants others ask for at a path, the more rarely each is there."""
        if isinstance(asked, Compare) and asked.how == "=":
            return 1 / (3 + self._values.constants(asked.path))
        return guess(asked)

    def _index_of(self, asked: Atom) -> AtomIndex:
        match asked:
            case TopicIs():
                return self._topics
            case TypeIs():
                return self._types
            case ProducerIs():
                return self._producers
            case InBox():
                return self._boxes
            case Graph():
                return self.graphs
        return self._values

    def atoms(self) -> list[tuple[int, Atom]]:
        return [(at, each) for at, each in enumerate(self._atom_at) if each is not None]

    def boxes(self) -> list[BoxIndex]:
        return self._boxes.indexes()

    def paths(self) -> dict[Path, ValueIndex]:
        return self._values.paths()

    def numbered(self, column: str) -> NDArray[Any]:
        return self._atoms[column][: self._atoms.end].copy()

    def filed(self) -> Postings:
        return Postings(*(each[: self._filing.end].copy() for each in self._filing.filed))

    def slots(self, column: str) -> NDArray[Any]:
        return self._slots[column][: self._slots.end].copy()

    def terms(self, column: str) -> NDArray[Any]:
        return self._terms[column][: self._terms.end].copy()
