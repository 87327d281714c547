"""The index of graph patterns: adds, removes, and finds all that an event graph matches, in a workspace it reuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery
from tocsin.matching.graphs import kernel as k
from tocsin.matching.graphs import layout as at
from tocsin.matching.graphs.event_arrays import EventArrays, EventLoader
from tocsin.matching.graphs.kernel import Ints, Numbers, Words
from tocsin.matching.graphs.pools import NamePool
from tocsin.matching.graphs.predicates import PredicateHeader, Predicates
from tocsin.matching.graphs.trie import Trie, leaves_of, steps_of
from tocsin.matching.graphs.trie_kernel import unfinished
from tocsin.matching.index.postings import Columns
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

MOST_VISITS = 65_536  # of one node in one event; below it a search is given up
MOST_STEPS = 10_000_000  # of one event, some tenths of a second
LAST_ROUND = (1 << 31) - 1
_NOBODY: Ints = np.zeros(0, np.int32)


class Workspace:
    def __init__(self, most_visits: int = MOST_VISITS, most_steps: int = MOST_STEPS) -> None:
        self._round = 0
        self._masks: Words = np.zeros(0, np.uint64)
        self._tried: Words = np.zeros(0, np.uint64)
        self._fresh: Numbers = np.zeros(0, np.uint32)
        self._local: Ints = np.zeros(0, np.int32)
        self._rows: Ints = np.zeros(0, np.int32)
        self._ways: Words = np.zeros(0, np.uint64)
        self._stamps: Numbers = np.zeros(0, np.uint32)
        self._visits: Numbers = np.zeros(0, np.uint32)
        self._found: Ints = np.zeros(0, np.int32)
        self._limits = np.array([0, 0, 0, most_visits, most_steps], np.int32)
        self._tale = np.zeros(3, np.int32)

    def search(
        self,
        trie: Trie,
        predicates: Predicates,
        loader: EventLoader,
        loaded: EventArrays,
        entries: int,
        limits: tuple[int, int],
    ) -> tuple[Ints, Ints, int]:
        """The entries that are found, those of which it was given up, and how many steps it took."""
        (sets_at, sets), (ways_at, ways) = loader.classes.arrays(), loader.ways.arrays()
        self._prepare(trie, predicates, loader, loaded, entries)
        self._limits[k.NOW], self._limits[k.DEPTH], self._limits[k.LEAVES] = self._round, *limits
        search = k.search_narrow if loaded.vertexes.shape[1] <= 64 else k.search_wide
        search(
            trie.nodes, trie.lists, trie.order,
            predicates.program_at, predicates.base_of, predicates.programs.array, predicates.doubles.array,
            sets_at, sets, ways_at, ways,
            loaded.vertexes, loaded.numbers, loaded.told, loaded.arcs,
            self._masks, self._tried, self._fresh, self._local, self._rows, self._ways, self._stamps, self._visits,
            self._found, self._limits, self._tale,
        )  # fmt: skip
        count, steps, gone = self._tale.tolist()
        found = self._found[:count].copy()
        return found, self._given_up(trie) if gone else _NOBODY, steps

    def _given_up(self, trie: Trie) -> Ints:
        count = unfinished(trie.nodes, trie.lists, trie.order, self._stamps, self._visits, self._round, self._found)
        return self._found[:count].copy()

    def _prepare(
        self, trie: Trie, predicates: Predicates, loader: EventLoader, loaded: EventArrays, entries: int
    ) -> None:
        count = loaded.vertexes.shape[1]
        words = (count + 63) // 64
        connections = loaded.arcs.shape[1] * loader.ways.most
        self._round = self._round + 1 if self._round < LAST_ROUND else self._wiped()
        self._masks = _room(self._masks, len(predicates) * words)
        self._tried = _room(self._tried, len(predicates) * words)
        self._fresh = _room(self._fresh, len(predicates))
        self._local = _room(self._local, loader.properties + 1)
        self._rows = _room(self._rows, count * (min(connections, loader.properties) + 1))
        self._ways = _room(self._ways, (connections + 1) * words)
        self._stamps, self._visits = _room(self._stamps, len(trie)), _room(self._visits, len(trie))
        self._found = _room(self._found, entries)

    def _wiped(self) -> int:
        self._fresh[:] = 0
        self._stamps[:] = 0
        return 1


def _room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """What was noted stays: stamps of old events are older than any to come."""
    if size <= len(array):
        return array
    more = np.zeros(max(size - len(array), len(array) // 4, 64), array.dtype)
    return np.concatenate((array, more))


SAMPLED = 64  # of so many events one is counted
MOST = 100_000  # pairs
GUESS = 0.5


class Rates:
    """How often statements of events have a property and a class, sampled; patterns are ordered by it when they are
    added."""

    def __init__(self) -> None:
        self._seen = 0
        self._events = 0
        self._counts: dict[tuple[int, int], int] = {}

    def see(self, loaded: EventArrays, loader: EventLoader) -> None:
        self._events += 1
        if self._events % SAMPLED != 1 or len(self._counts) > MOST:
            return
        self._seen += 1
        sets_at, sets = loader.classes.arrays()
        ways_at, ways = loader.ways.arrays()
        sources, along, targets = loaded.arcs.tolist()
        del sources
        classes = loaded.vertexes[at.CLASSES]
        for way, target in zip(along, targets, strict=True):
            known = int(classes[target])
            for prop in ways[ways_at[way] : ways_at[way + 1]].tolist():
                for each in (at.ANY, *sets[sets_at[known] : sets_at[known + 1]].tolist()):
                    self._counts[prop, each] = self._counts.get((prop, each), 0) + 1

    def rate(self, prop: int, predicate: int) -> float:
        if not self._seen:
            return GUESS
        return (self._counts.get((prop, predicate), 0) + GUESS) / (self._seen + 1)


NONE = -1


class GraphHeader(Struct, frozen=True):
    """The part of a snapshot that is not in its arrays."""

    properties: list[str]
    predicates: PredicateHeader
    deepest: int
    leaves: int
    equals: int
    unions: int


class GraphMatches(NamedTuple):
    """The atoms whose pattern matched, and those for which the search was given up; each once."""

    atoms: Ints
    undecided: Ints
    steps: int = 0


class GraphIndex:
    """Finds all graph patterns that an event matches. Each alternative of an atom's query is an entry of the trie."""

    def __init__(self, desk: Workspace | None = None) -> None:
        self._predicates, self._properties = Predicates(), NamePool(at.MOST_PROPERTIES)
        self._trie = Trie()
        self._entries = Columns(atom=np.int32, following=np.int32)
        self._first: Ints = np.full(64, NONE, np.int32)  # the first entry of an atom
        self._rates = Rates()
        self._loader = EventLoader(self._predicates, self._properties)
        self._desk = desk or Workspace()
        self._deepest, self._leaves = 1, 1
        self._equals = 0  # so many patterns ask for equal values
        self._unions = 0  # so many queries have alternatives
        self._loose = 0  # so many nodes were added since all lay in order

    def add(self, atom: int, query: GraphQuery) -> None:
        if atom >= len(self._first):
            more = max(atom + 1 - len(self._first), len(self._first) // 4)
            self._first = np.concatenate((self._first, np.full(more, NONE, np.int32)))
        root = at.INJECTIVE if query.injective else at.PLAIN
        self._unions += len(query.alternatives) > 1
        for pattern in query.alternatives:
            entry = self._entries.take()
            self._entries["atom"][entry], self._entries["following"][entry] = atom, self._first[atom]
            self._first[atom] = entry
            self._insert(root, pattern, entry)

    def remove(self, atom: int, query: GraphQuery) -> None:
        self._unions -= len(query.alternatives) > 1
        self._equals -= sum(bool(each.equal) for each in query.alternatives)
        entry = int(self._first[atom])
        self._first[atom] = NONE
        while entry != NONE:
            for step, predicate in self._trie.remove(entry):
                self._predicates.release(predicate & at.PREDICATE_MASK)
                if _has_property(predicate):
                    self._properties.release(step & at.PROPERTY)
            self._entries.give_back(entry)
            entry = int(self._entries["following"][entry])

    def match(self, event: EventGraph, model: ConceptModel) -> GraphMatches:
        if not len(self._entries):
            return GraphMatches(_NOBODY, _NOBODY)
        loaded = self._loader.load(event, model, values=bool(self._equals))
        self._rates.see(loaded, self._loader)
        found, undecided, steps = self._desk.search(
            self._trie, self._predicates, self._loader, loaded, self._entries.end, (self._deepest, self._leaves)
        )
        atoms, unknown = self._atoms(found), self._atoms(undecided)
        if self._unions and len(unknown):  # another alternative may be there
            unknown = np.setdiff1d(unknown, atoms)
        return GraphMatches(atoms, unknown, steps)

    def __len__(self) -> int:
        """So many entries."""
        return len(self._entries)

    def is_empty(self) -> bool:
        """Whether nothing is left of all that came and went."""
        return not (len(self._entries) or self._trie.used() or self._predicates.used() or self._properties.used())

    @property
    def nodes(self) -> int:
        return len(self._trie)

    @property
    def size(self) -> int:
        """Bytes of what lasts, without the notes that a search makes."""
        arrays = (self._trie.nodes, self._trie.lists, self._trie.order, self._first, *self._entries.arrays())
        return sum(each.nbytes for each in arrays) + self._trie.terminals.nbytes + self._predicates.size

    def pack(self) -> None:
        """Puts what is searched together in order in memory; it does so by itself when much was added."""
        self._trie.pack()
        self._loose = 0

    def arrays(self) -> tuple[GraphHeader, dict[str, NDArray[Any]]]:
        """All that a search reads, to be written as it is; names that nobody asks for any more are blank."""
        header = GraphHeader(
            self._properties.names(), self._predicates.header(),
            self._deepest, self._leaves, self._equals, self._unions,
        )  # fmt: skip
        atoms = self._entries["atom"][: self._entries.end].copy()
        return header, {"atoms": atoms, **self._trie.arrays(), **self._predicates.arrays()}

    @classmethod
    def from_arrays(cls, header: GraphHeader, mapped: Mapping[str, NDArray[Any]]) -> GraphIndex:
        """Searches in the arrays themselves, which may be mapped files. It is not for changes."""
        arrays = {name: np.asarray(each) for name, each in mapped.items()}  # a kernel knows no mapped ones
        index = cls()
        index._predicates, index._trie = Predicates.of(header.predicates, arrays), Trie.of(arrays)
        index._properties = NamePool.of(header.properties)
        index._entries = Columns.of({"atom": arrays["atoms"]})
        index._loader = EventLoader(index._predicates, index._properties)
        index._deepest, index._leaves = header.deepest, header.leaves
        index._equals, index._unions = header.equals, header.unions
        return index

    def _insert(self, root: int, pattern: GraphPattern, entry: int) -> None:
        predicates = [self._predicates.take(each) for each in pattern.vertexes]
        properties = [self._properties.take(each.property) for each in pattern.arcs]
        steps = steps_of(pattern, predicates, properties, self._rates.rate)
        missing = self._trie.insert(root, steps, entry)
        for step, predicate in missing:
            self._predicates.use(predicate & at.PREDICATE_MASK)
            if _has_property(predicate):
                self._properties.use(step & at.PROPERTY)
        for number in predicates:
            self._predicates.release(number)
        for number in properties:
            self._properties.release(number)
        self._deepest = max(self._deepest, len(steps) + 1)
        self._leaves = max(self._leaves, leaves_of(steps))
        self._equals += bool(pattern.equal)
        self._loose += len(missing)
        if self._loose > max(len(self._trie) // 2, 4096):
            self.pack()

    def _atoms(self, entries: Ints) -> Ints:
        found: Ints = self._entries["atom"].take(entries)
        return np.unique(found) if self._unions and len(found) > 1 else found


def _has_property(predicate: int) -> bool:
    return predicate >> at.KIND_SHIFT not in (at.START, at.END)
