"""Terms of many subscriptions, each found by its rarest atom and then asked for the others: one combining step.

An atom that several subscriptions ask for is one atom, with a number. A match stamps the atoms that hold; the terms
found by one of those hold if all their other atoms are stamped too (Fabret and others 2001: access predicates).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.markup.conditions import Compare, Exists, Path
from tocsin.matching import atom_indexes
from tocsin.matching.atom_indexes import AtomIndex
from tocsin.matching.atoms import Atom, Term
from tocsin.matching.boxes import BoxIndex
from tocsin.matching.columns import Columns
from tocsin.matching.combining import ALWAYS, NONE, OTHERS, STANDING, Matcher, set_standing
from tocsin.matching.evidence import Evidence
from tocsin.matching.holding import Numbers
from tocsin.matching.known import Known
from tocsin.matching.ordered import Ordered
from tocsin.matching.statistics import NO_STATISTICS, WEIGHT, Statistics, guess
from tocsin.matching.value_index import ValueIndex, bound_of, is_ordered
from tocsin.model.filters import InBox, ProducerIs, TopicIs, TypeIs
from tocsin.model.subscription import Subscription

MOST = 1 + OTHERS  # atoms of a term
SAMPLED = 8  # of so many notifications one is counted


class Combination:
    def __init__(self, known: Known, statistics: Statistics = NO_STATISTICS) -> None:
        self._statistics = statistics
        self._numbers: dict[Atom, int] = {}  # of those that the indexes cannot tell
        self._atoms = Columns(
            stamp=np.int32, head=np.int32, uses=np.int32, held=np.int32, side=np.int32, bound=np.float64
        )
        self._atom_at: list[Atom | None] = [None]
        self._atoms.take()
        self._atoms["head"][ALWAYS] = NONE
        self._terms = Columns(
            found_by=np.int32,
            others=(np.int32, OTHERS),
            slot=np.int32,
            place=np.int32,  # in the list of the atom that it is found by
            next=np.int32,  # of the same slot
            partly=np.bool_,
        )
        self._slots = Columns(terms=np.int32, **STANDING)
        self._lists: list[array[int]] = []  # of terms, for atoms by which several are found
        self._free_lists: list[int] = []
        self._matches, self._seen = 0, 0
        self._boxes = atom_indexes.Boxes(known)
        self._topics, self._values = atom_indexes.Topics(), atom_indexes.Values()
        self._types, self._producers = atom_indexes.types(), atom_indexes.producers()
        indexes = (self._topics, self._types, self._producers, self._boxes, self._values)
        self._matcher = Matcher(indexes, self._atoms, self._terms, self._slots, self._listed)

    def add(self, subscription: Subscription, terms: Iterable[Term]) -> int:
        """The slot in which it stands."""
        slot = self._slots.take()
        self._slots["terms"][slot] = NONE
        set_standing(self._slots, slot, subscription)
        for term in terms:
            self._add(slot, term)
        return slot

    def exchange(self, slot: int, subscription: Subscription) -> None:
        """It asks for the same, for another time."""
        set_standing(self._slots, slot, subscription)

    def remove(self, slot: int) -> None:
        term = int(self._slots["terms"][slot])
        while term != NONE:
            following = int(self._terms["next"][term])
            self._remove(term)
            term = following
        self._slots.give_back(slot)

    def match(self, evidence: Evidence) -> tuple[list[int], list[int]]:
        """The slots of those who want it, and of those whose filters are to be verified."""
        decided, partly, found = self._matcher.match(evidence)
        self._matches += 1
        if not self._matches % SAMPLED:
            self._seen += 1
            self._atoms["held"][found] += 1
        return decided, partly

    def statistics(self) -> Statistics:
        """What was seen of the atoms that are asked for now."""
        held = self._atoms["held"]
        return Statistics(self._seen, {each: int(held[at]) for at, each in self.atoms() if held[at]})

    def _listed(self, at: int) -> Numbers:
        return np.frombuffer(self._lists[at], np.int32)

    def _add(self, slot: int, term: Term) -> None:
        asked = [each for each in term.atoms if not isinstance(each, InBox) or self._boxes.takes(each)]
        partly = not term.is_whole or len(asked) < len(term.atoms) or len(asked) > MOST
        asked = sorted(asked, key=self._rate)[:MOST]
        found_by, *others = (*map(self._use, asked), *(ALWAYS,) * MOST)[:MOST]
        at = self._terms.take()
        row = self._terms
        row["found_by"][at], row["slot"][at], row["partly"][at] = found_by, slot, partly
        row["others"][at], row["next"][at] = others, self._slots["terms"][slot]
        self._slots["terms"][slot] = at
        self._file(at, found_by)

    def _remove(self, term: int) -> None:
        row = self._terms
        self._unfile(term, int(row["found_by"][term]))
        for atom in (int(row["found_by"][term]), *row["others"][term].tolist()):
            self._release(atom)
        row.give_back(term)

    def _file(self, term: int, atom: int) -> None:
        """Most atoms find one term; only those that find several have a list, and ordered ones have none."""
        head = self._atoms["head"]
        if side := int(self._atoms["side"][atom]):
            self._values.file(term, side, float(self._atoms["bound"][atom]))
            return
        if head[atom] == NONE:
            head[atom] = term
            return
        if head[atom] >= 0:
            head[atom] = -2 - self._new_list(int(head[atom]))
        terms = self._lists[-2 - int(head[atom])]
        self._terms["place"][term] = len(terms)
        terms.append(term)

    def _new_list(self, term: int) -> int:
        self._terms["place"][term] = 0
        made = array("i", (term,))
        if not self._free_lists:
            self._lists.append(made)
            return len(self._lists) - 1
        at = self._free_lists.pop()
        self._lists[at] = made
        return at

    def _unfile(self, term: int, atom: int) -> None:
        head = self._atoms["head"]
        if side := int(self._atoms["side"][atom]):
            self._values.unfile(term, side, float(self._atoms["bound"][atom]))
            return
        if head[atom] >= 0:
            head[atom] = NONE
            return
        at, place = -2 - int(head[atom]), int(self._terms["place"][term])
        terms = self._lists[at]
        last = terms.pop()
        if last != term:
            terms[place] = last
            self._terms["place"][last] = place
        if not terms:
            self._free_lists.append(at)
            head[atom] = NONE

    def _use(self, asked: Atom) -> int:
        """Its number. Bounds and boxes are many and mostly different: each use has a number of its own."""
        number = self._number(asked)
        if number is None:
            number = self._atoms.take()
            for column in ("stamp", "held", "uses", "side"):
                self._atoms[column][number] = 0
            self._atoms["head"][number] = NONE
            self._enter(number, asked)
        self._atoms["uses"][number] += 1
        return number

    def _number(self, asked: Atom) -> int | None:
        match asked:
            case InBox():
                return None
            case Compare() | Exists():
                return self._values.number(asked)
        return self._numbers.get(asked)

    def _enter(self, number: int, asked: Atom) -> None:
        if isinstance(asked, Compare) and is_ordered(asked):
            self._remember(number, None)
            self._atoms["side"][number] = self._values.hold(asked)
            self._atoms["bound"][number] = bound_of(asked)
            self._matcher.holding.grow(self._values.sides)
            return
        if isinstance(asked, Compare | Exists):
            asked = self._values.shared(asked)
        elif not isinstance(asked, InBox):
            self._numbers[asked] = number
        self._remember(number, asked)
        self._index_of(asked).add(number, asked)

    def _release(self, number: int) -> None:
        if number == ALWAYS:
            return
        self._atoms["uses"][number] -= 1
        if self._atoms["uses"][number]:
            return
        asked = self._atom_at[number]
        if asked is None:
            self._values.let_go(int(self._atoms["side"][number]))
        else:
            self._index_of(asked).remove(number, asked)
            self._numbers.pop(asked, None)
            self._atom_at[number] = None
        self._atoms.give_back(number)

    def _remember(self, number: int, asked: Atom | None) -> None:
        if number == len(self._atom_at):
            self._atom_at.append(asked)
        else:
            self._atom_at[number] = asked

    def _rate(self, asked: Atom) -> float:
        """How often it is expected to hold, by what was seen here and before; a guess where nothing was."""
        number = self._number(asked)
        here = 0 if number is None else int(self._atoms["held"][number])
        seen = self._statistics.seen + self._seen
        return (self._statistics.held.get(asked, 0) + here + WEIGHT * self._guess(asked)) / (seen + WEIGHT)

    def _guess(self, asked: Atom) -> float:
        """The more different constants others ask for at a path, the more rarely each is there."""
        if isinstance(asked, Compare) and asked.how == "=":
            return 1 / (2 + self._values.constants(asked.path))
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
        return self._values

    def atoms(self) -> list[tuple[int, Atom]]:
        return [(at, each) for at, each in enumerate(self._atom_at) if each is not None]

    def boxes(self) -> list[BoxIndex]:
        return self._boxes.indexes()

    def paths(self) -> dict[Path, ValueIndex]:
        return self._values.paths()

    def ordered(self, side: int) -> Ordered | None:
        return self._values.ordered.get(side)

    def numbered(self, column: str) -> NDArray[Any]:
        return self._atoms[column][: len(self._atom_at)].copy()

    def slots(self, column: str) -> NDArray[Any]:
        return self._slots[column][: self._slots.end].copy()

    def terms(self, column: str) -> NDArray[Any]:
        return self._terms[column][: self._terms.end].copy()

    def lists(self) -> list[Numbers]:
        return [np.array(each, np.int32) for each in self._lists]
