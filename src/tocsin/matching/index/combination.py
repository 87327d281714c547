"""Terms of many subscriptions, each found by its rarest atom and then asked for the others: one combining step.

An atom that several subscriptions ask for is one atom, with a number. A match sets the level of the atoms that hold;
the terms found by one of those hold if all their other atoms do too (Fabret and others 2001: access predicates). An
ordered comparison is the number of its side, with its bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.markup.conditions import Compare, Exists, Path
from tocsin.matching.evidence import Evidence
from tocsin.matching.index import atom_indexes
from tocsin.matching.index.atom_indexes import AtomIndex
from tocsin.matching.index.atoms import Atom, Term
from tocsin.matching.index.boxes import BoxIndex
from tocsin.matching.index.columns import Columns
from tocsin.matching.index.combining import MOST, STANDING, Matcher, set_standing
from tocsin.matching.index.graph_atoms import Graphs
from tocsin.matching.index.holding import ALWAYS, HOLDS, Holding
from tocsin.matching.index.postings import Filed, Filing
from tocsin.matching.index.statistics import NO_STATISTICS, WEIGHT, Statistics, guess
from tocsin.matching.index.value_index import ValueIndex, bound_of, is_ordered
from tocsin.matching.known import Known
from tocsin.model.filters import Graph, InBox, ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import Instant, Node
from tocsin.model.subscription import Position, Subscription

SAMPLED = 8  # of so many notifications one is counted
NONE = -1  # no other term of the slot
_NOTHING_ELSE = (ALWAYS, HOLDS)


class Combination:
    def __init__(self, known: Known, statistics: Statistics = NO_STATISTICS) -> None:
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
        self._filing = Filing(self._atoms)
        self._matches, self._seen = 0, 0
        self._boxes, self.graphs = atom_indexes.Boxes(known), Graphs()
        self._topics, self._values = atom_indexes.Topics(), atom_indexes.Values(self._new_atom, self._atoms.give_back)
        self._types, self._producers = atom_indexes.types(), atom_indexes.producers()
        indexes = (self._topics, self._types, self._producers, self._boxes, self._values, self.graphs)
        self._matcher = Matcher(indexes, self._atoms, self._terms, self._slots, lambda: self._filing.filed)

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
        decided, partly, holding = self._matcher.match(evidence)
        self._matches += 1
        if not self._matches % SAMPLED:
            self._seen += 1
            for atoms in (np.array(list(holding.levels), np.int32), *holding.arrays):
                self._atoms["held"][atoms] += 1
        return decided, partly

    def warm(self) -> None:
        """The kernel is made ready."""
        self._matcher.combined_by_kernel(Holding(), Position(Node(""), 0), Instant(0))

    def statistics(self) -> Statistics:
        """What was seen of the atoms that are asked for now."""
        held = self._atoms["held"]
        return Statistics(self._seen, {each: int(held[at]) for at, each in self.atoms() if held[at]})

    def _add(self, slot: int, term: Term) -> None:
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

    def _remove(self, term: int) -> None:
        atoms = self._terms["atoms"][term].tolist()
        self._filing.remove(term, atoms[0], float(self._terms["bounds"][term, 0]))
        for atom in atoms:
            self._release(atom)
        self._terms.give_back(term)

    def _is_side(self, atom: int) -> bool:
        return atom != ALWAYS and self._atom_at[atom] is None

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
        if self._is_side(number):
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

    def filed(self) -> Filed:
        return Filed(*(each[: self._filing.end].copy() for each in self._filing.filed))

    def slots(self, column: str) -> NDArray[Any]:
        return self._slots[column][: self._slots.end].copy()

    def terms(self, column: str) -> NDArray[Any]:
        return self._terms[column][: self._terms.end].copy()
