"""Patterns as sequences of steps, and the trie in which those that begin alike share their beginning.

An arc between two bound vertexes closes at once. Then come vertexes that others hang on, the rarest first; those that
hang on one arc alone come last, for they need no choice: it is enough that they all find a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.matching.graphs import layout as at
from tocsin.matching.graphs.kernel import Ints, Numbers
from tocsin.matching.graphs.pools import Pool
from tocsin.matching.graphs.trie_kernel import above, descend, packed, unlink

Step = tuple[int, int]  # as a node has it: the step, and the predicate with the kind
Rate = Callable[[int, int], float]  # of a property and a predicate: how often a statement of an event has both
_Reached = tuple[bool, float, int, int, int, int]  # a leaf or not, rate, property, predicate, where from, the vertex


def steps_of(pattern: GraphPattern, predicates: Sequence[int], properties: Sequence[int], rate: Rate) -> list[Step]:
    """`predicates` by vertex, `properties` by arc."""
    walk = _Walk(pattern, predicates, properties, rate)
    walk.go()
    return walk.steps


def leaves_of(steps: Sequence[Step]) -> int:
    return sum(1 for _, predicate in steps if predicate >> at.KIND_SHIFT == at.LEAF)


class _Walk:
    def __init__(self, pattern: GraphPattern, predicates: Sequence[int], properties: Sequence[int], rate: Rate) -> None:
        self._predicates, self._rate = predicates, rate
        self._groups = _groups(pattern) if pattern.equal else {}
        self._bound: dict[int, int] = {}  # vertexes by their positions
        self._leading: list[list[tuple[int, int]]] = [[] for _ in predicates]  # from a vertex: properties and vertexes
        self._ending: list[list[tuple[int, int]]] = [[] for _ in predicates]  # at a vertex: vertexes and properties
        for arc, prop in dict(zip(pattern.arcs, properties, strict=True)).items():
            self._leading[arc.source].append((prop, arc.target))
            self._ending[arc.target].append((arc.source, prop))
        self._reached: list[_Reached] = []  # a heap
        self.steps: list[Step] = [(0, predicates[0] | at.START << at.KIND_SHIFT)]

    def go(self) -> None:
        self._bind(0, None)
        while self._reached:
            is_leaf, _, prop, predicate, source, target = heappop(self._reached)
            if is_leaf:
                self.steps.append((_packed(source, 0, prop), predicate | at.LEAF << at.KIND_SHIFT))
            elif target not in self._bound:
                self._take(source, prop, predicate, self._equal_to(target) if self._groups else None)
                self._bind(target, (source, prop))

    def _take(self, source: int, prop: int, predicate: int, equal: int | None) -> None:
        if equal is None:
            self.steps.append((_packed(source, 0, prop), predicate | at.NEW << at.KIND_SHIFT))
        else:
            self.steps.append((_packed(source, equal, prop), predicate | at.EQUAL << at.KIND_SHIFT))

    def _bind(self, vertex: int, by: tuple[int, int] | None) -> None:
        """The arcs that close now are steps, but for the one that led here; those that lead on are reached."""
        bound = self._bound
        here = bound[vertex] = len(bound)
        closing = {
            (bound[source], prop, here)
            for source, prop in self._ending[vertex]
            if source in bound and (bound[source], prop) != by
        }
        for prop, target in self._leading[vertex]:
            if target in bound:
                closing.add((here, prop, bound[target]))
            else:
                # A leaf is a vertex at which one arc ends and none begins
                predicate = self._predicates[target]
                is_leaf = len(self._ending[target]) == 1 and not self._leading[target] and target not in self._groups
                heappush(self._reached, (is_leaf, self._rate(prop, predicate), prop, predicate, here, target))
        for source, prop, other in sorted(closing):
            self.steps.append((_packed(source, other, prop), at.CLOSE << at.KIND_SHIFT))

    def _equal_to(self, vertex: int) -> int | None:
        """The position of a vertex that must have the same value and is bound already."""
        group = self._groups.get(vertex, ())
        return min((self._bound[each] for each in group if each in self._bound), default=None)


def _packed(source: int, other: int, prop: int) -> int:
    return source << at.SOURCE_SHIFT | other << at.OTHER_SHIFT | prop


def _groups(pattern: GraphPattern) -> dict[int, set[int]]:
    """For a vertex, all that must have the same value."""
    groups: dict[int, set[int]] = {}
    for one, other in pattern.equal:
        together = groups.get(one, {one}) | groups.get(other, {other})
        groups |= dict.fromkeys(together, together)
    return groups


_END: Step = (0, at.END << at.KIND_SHIFT)


class Trie:
    """The trie of all patterns' steps; an entry ends at one node. Nodes that were given back are taken first."""

    def __init__(self) -> None:
        self._nodes = Pool(np.uint32)
        self._lists, self._order = Pool(np.int32), Pool(np.int32)
        self._reached = np.zeros(2, np.int32)
        self._terminal: Ints = np.zeros(64, np.int32)  # the node at which an entry ends
        for _ in range(at.ROOTS):
            self._make((0, 0), at.NOTHING, at.LAST)

    @property
    def nodes(self) -> Numbers:
        return self._nodes.array

    @property
    def lists(self) -> Ints:
        return self._lists.array

    @property
    def order(self) -> Ints:
        return self._order.array

    @property
    def terminals(self) -> Ints:
        return self._terminal

    def __len__(self) -> int:
        """So many nodes, those given back among them."""
        return self._nodes.end // at.WIDTH

    def used(self) -> int:
        """So many nodes, the roots aside."""
        return len(self) - self._nodes.free(at.WIDTH) - at.ROOTS

    def insert(self, root: int, steps: Sequence[Step], entry: int) -> Sequence[Step]:
        """The steps that were not there yet."""
        node, known = self._descend(root, steps)
        missing = steps[known:]
        if missing:
            # who ended here ends below now, beside what comes
            below = self._below(node)
            if below & at.ENDS and below != at.NOTHING:
                made = self._add_below(node, _END, below)
                self._terminal[self._ending(below)] = made
        elif not self._below(node) & at.ENDS:  # others go on from here
            end, found = self._descend(node, [_END])
            node = end if found else self._add_below(node, _END, at.NOTHING)
        for each in missing:
            node = self._add_below(node, each, at.NOTHING)
        self._put(node, entry)
        return missing

    def remove(self, entry: int) -> Iterator[Step]:
        """The steps that nobody needs any more."""
        node = int(self._terminal[entry])
        below = self._below(node)
        if below & at.IS_LIST:
            self._drop(node, below & at.NUMBER, entry)
            return
        while node >= at.ROOTS:
            parent, base = int(above(self.nodes, node)), node * at.WIDTH
            unlink(self.nodes, parent, node)
            yield int(self.nodes[base]), int(self.nodes[base + 1])
            self._nodes.give_back(base, at.WIDTH)
            if self._below(parent) != at.NOTHING:
                return
            node = parent

    def pack(self) -> None:
        """Each node before all that is below it, as a search reads them."""
        nodes, lists, order = self._packed()
        self._nodes, self._lists, self._order = Pool.of(nodes), Pool.of(lists), Pool.of(order)

    def arrays(self) -> dict[str, Numbers | Ints]:
        self.pack()
        return {"nodes": self.nodes, "lists": self.lists, "order": self.order}

    def _packed(self) -> tuple[Numbers, Ints, Ints]:
        old = self._nodes.array[: self._nodes.end]
        nodes = np.zeros(len(old) - at.WIDTH * self._nodes.free(at.WIDTH), np.uint32)
        lists, order = np.zeros_like(self._lists.array), np.zeros_like(self._order.array)
        ends = np.zeros(2, np.int32)
        packed(old, self.lists, self.order, nodes, lists, order, self._terminal, ends)
        return nodes, lists[: ends[0] * at.RUN].copy(), order[: ends[1]].copy()

    @classmethod
    def of(cls, arrays: Mapping[str, Numbers | Ints]) -> Trie:
        """In the arrays themselves, which may be mapped files; it is not for changes."""
        trie = cls()
        trie._nodes, trie._lists = Pool.of(arrays["nodes"]), Pool.of(arrays["lists"])
        trie._order = Pool.of(arrays["order"])
        return trie

    def _descend(self, node: int, steps: Sequence[Step]) -> tuple[int, int]:
        flat = np.array(steps, np.uint32).reshape(-1)
        descend(self.nodes, node, flat, self._reached)
        return int(self._reached[0]), int(self._reached[1])

    def _below(self, node: int) -> int:
        return int(self.nodes[node * at.WIDTH + at.BELOW])

    def _make(self, step: Step, below: int, following: int) -> int:
        return self._nodes.put((*step, below, following)) // at.WIDTH

    def _add_below(self, node: int, step: Step, below: int) -> int:
        first = self._below(node)
        made = self._make(step, below, node | at.LAST if first & at.ENDS else first)
        self.nodes[node * at.WIDTH + at.BELOW] = made
        return made

    def _ending(self, below: int) -> Ints:
        if not below & at.IS_LIST:
            return np.array([below & at.NUMBER], np.int32)
        start, count = self.lists[(below & at.NUMBER) * at.RUN :][:2].tolist()
        return self.order[start : start + count]

    def _put(self, node: int, entry: int) -> None:
        below, place = self._below(node), node * at.WIDTH + at.BELOW
        if entry >= len(self._terminal):
            more = np.zeros(max(entry + 1 - len(self._terminal), len(self._terminal) // 4), np.int32)
            self._terminal = np.concatenate((self._terminal, more))
        self._terminal[entry] = node
        if below == at.NOTHING:
            self.nodes[place] = at.ENTRY | entry
        elif below & at.IS_LIST:
            self._append(below & at.NUMBER, entry)
        else:
            run = (self._order.put((below & at.NUMBER, entry)), 2, 2)
            self.nodes[place] = at.LIST | (self._lists.put(run) // at.RUN)

    def _append(self, number: int, entry: int) -> None:
        base = number * at.RUN
        start, count, room = self.lists[base : base + at.RUN].tolist()
        if count == room:
            moved = self._order.put([*self.order[start : start + count].tolist(), *(0,) * count])
            self._order.give_back(start, room)
            start, room = moved, 2 * room
        self.order[start + count] = entry
        self.lists[base : base + at.RUN] = (start, count + 1, room)

    def _drop(self, node: int, number: int, entry: int) -> None:
        base = number * at.RUN
        start, count, room = self.lists[base : base + at.RUN].tolist()
        run = self.order[start : start + count]
        run[int((run == entry).argmax())] = run[-1]
        self.lists[base + 1] = count - 1
        if count == 2:
            self.nodes[node * at.WIDTH + at.BELOW] = at.ENTRY | int(run[0])
            self._order.give_back(start, room)
            self._lists.give_back(base, at.RUN)
