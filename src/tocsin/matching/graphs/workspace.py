"""The arrays a search writes to, kept from one event to the next so that none has to be cleared."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.graphs import kernel as k
from tocsin.matching.graphs.event_arrays import EventArrays, EventLoader
from tocsin.matching.graphs.kernel import Ints, Numbers, Words
from tocsin.matching.graphs.predicates import Predicates
from tocsin.matching.graphs.trie import Trie
from tocsin.matching.graphs.trie_kernel import unfinished

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
