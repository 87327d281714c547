"""Tests that Python answers: each is asked once for each literal of an event, regular expressions all at once."""

from collections.abc import Iterator, Sequence

import numpy as np
import re2

from tocsin.markup.graphs.graph_pattern import Like, Test
from tocsin.markup.regexes import expression, weight_of
from tocsin.matching.graphs.kernel import Ints
from tocsin.matching.graphs.predicates import Predicates
from tocsin.matching.graphs.tests import verdict
from tocsin.model.literal import Kind
from tocsin.semantics.events.event_graph import Vertex
from tocsin.semantics.events.literals import value_of

FEW = 32  # so many new expressions are asked one by one, before sets are made anew
TOGETHER, HEAVIEST = 50_000, 500  # instructions of one set, some tens of milliseconds; and of an expression in it
ROOM = 64 << 20  # bytes for a set, which must never run out of them: it would find nothing


class Tellers:
    def __init__(self, predicates: Predicates) -> None:
        self._predicates = predicates
        self._version = 0
        self._sets: list[tuple[re2.Set, list[Like]]] = []
        self._in_sets: set[Test] = set()
        self._alone: list[Test] = []

    def tell(self, vertexes: Sequence[Vertex]) -> Ints:
        """Two rows: predicates, and the vertexes that have them."""
        if self._version != self._predicates.told_version:
            self._keep_up()
        found = [
            (predicate, place)
            for place, vertex in enumerate(vertexes)
            if vertex.lexical is not None
            for predicate in (*self._one_by_one(vertex), *self._at_once(vertex, vertex.lexical))
        ]
        return np.array(found, np.int32).reshape(-1, 2).T.copy()

    def _one_by_one(self, vertex: Vertex) -> Iterator[int]:
        for test in self._alone:
            holds, fails = self._predicates.told[test]
            answer = verdict(test, vertex)
            if answer is not False:
                yield holds if answer else fails

    def _at_once(self, vertex: Vertex, lexical: str) -> Iterator[int]:
        """Of strings alone: on other literals they are errors, which their programs know."""
        told = self._predicates.told
        for found, likes in self._sets if value_of(vertex).kind is Kind.STRING else ():
            yield from (told[likes[each]][0] for each in found.Match(lexical) or () if likes[each] in told)

    def _keep_up(self) -> None:
        """Sets take long to make: an expression that is new waits for others, one that is gone stays in for a while."""
        self._version = self._predicates.told_version
        told = self._predicates.told
        likes = [each for each in told if isinstance(each, Like)]
        if len(self._in_sets) > 2 * len(likes) + FEW:
            self._sets, self._in_sets = [], set()
        new = [each for each in likes if each not in self._in_sets and weight_of(each) <= HEAVIEST]
        if len(new) > FEW:
            last = self._sets.pop()[1] if self._sets else []
            self._sets += _sets_of([each for each in last if each in told] + new)
            self._in_sets = {each for _, together in self._sets for each in together}
        self._alone = [each for each in told if each not in self._in_sets]


def _sets_of(likes: list[Like]) -> list[tuple[re2.Set, list[Like]]]:
    parts, weight = [list[Like]()], 0
    for each in likes:
        weight += weight_of(each)
        if weight > TOGETHER:
            parts.append([])
            weight = weight_of(each)
        parts[-1].append(each)
    return [(_set_of(part), part) for part in parts if part]


def _set_of(likes: list[Like]) -> re2.Set:
    options = re2.Options()
    options.log_errors, options.max_mem = False, ROOM
    made = re2.Set.SearchSet(options)
    for each in likes:
        made.Add(expression(each))
    made.Compile()
    return made
