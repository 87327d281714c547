"""An event graph as arrays for the kernel, with the results of tests that only Python can make (regexes)."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import re2
from numpy.typing import NDArray

from tocsin.markup.graphs.graph_pattern import Like, Test
from tocsin.markup.graphs.literals import Kind
from tocsin.markup.regexes import expression, weight_of
from tocsin.matching.graphs.definition import verdict
from tocsin.matching.graphs.kernel import Doubles, Ints
from tocsin.matching.graphs.pools import NamePool
from tocsin.matching.graphs.predicates import Predicates
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, Vertex, value_of

FEW = 32  # so many new expressions are asked one by one, before sets are made anew
TOGETHER, HEAVIEST = 50_000, 500  # instructions of one set, some tens of milliseconds; and of an expression in it
ROOM = 64 << 20  # bytes for a set, which must never run out of them: it would find nothing


class LiteralTests:
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


K = TypeVar("K", bound=Hashable)
MOST_KNOWN = 65_536  # names come from publishers, who may send ever new ones
_NOTHING: Ints = np.zeros((2, 0), np.int32)
_NO_NUMBERS: Doubles = np.zeros(0)


class EventArrays(NamedTuple):
    """An event for the kernel: `vertexes` with the rows of `layout`, and in `told` predicates with the vertexes that
    have them."""

    vertexes: Ints
    numbers: Doubles
    told: Ints
    arcs: Ints


class Expansion(Generic[K]):
    """Maps classes or properties of events to the numbers of all that is asked for at or above them. It is valid as
    long as neither the model nor what is asked changes."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._ends, self._members = [0], list[int]()
        self._arrays: tuple[Ints, Ints] | None = None
        self.most = 0  # that one of them stands for

    def numbers(self, keys: Sequence[K], expand: Callable[[K], Iterable[int]]) -> list[int]:
        known = self._numbers
        try:
            return [known[each] for each in keys]
        except KeyError:
            return [self._number(each, expand) for each in keys]

    def _number(self, key: K, expand: Callable[[K], Iterable[int]]) -> int:
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._ends) - 1
            members = list(expand(key))
            self.most = max(self.most, len(members))
            self._members += members
            self._ends.append(len(self._members))
            self._arrays = None
        return found

    def __len__(self) -> int:
        return len(self._numbers)

    def arrays(self) -> tuple[Ints, Ints]:
        if self._arrays is None:
            self._arrays = (np.array(self._ends, np.int32), np.array([*self._members, 0], np.int32))
        return self._arrays


class EventLoader:
    def __init__(self, predicates: Predicates, properties: NamePool) -> None:
        self._predicates, self._properties = predicates, properties
        self.classes: Expansion[tuple[str, ...]] = Expansion()
        self.ways: Expansion[str] = Expansion()
        self.tellers = LiteralTests(predicates)
        self._version: tuple[object, int, int] | None = None
        self._model = ConceptModel()

    @property
    def properties(self) -> int:
        """So many are asked for."""
        return len(self._properties)

    def load(self, event: EventGraph, model: ConceptModel, *, values: bool) -> EventArrays:
        """`values` are needed where vertexes must be equal."""
        self._keep_up(model)
        vertexes, arcs = event.vertexes, event.arcs
        rows = np.empty((6, len(vertexes)), np.int32)
        rows[0] = self.classes.numbers([each.classes for each in vertexes], self._asked_classes)
        constants = self._predicates.constants
        rows[1] = [constants.get(each.term, -1) for each in vertexes] if constants else -1
        ways = self.ways.numbers([each.property for each in arcs], self._asked_properties)
        led = np.array([[each.source for each in arcs], ways, [each.target for each in arcs]], np.int32)
        if not (values or self._predicates.compares or self._predicates.told):
            rows[2] = 0
            return EventArrays(rows, _NO_NUMBERS, _NOTHING, led)
        return EventArrays(rows, self._compared(vertexes, rows, values), self.tellers.tell(vertexes), led)

    def _compared(self, vertexes: Sequence[Vertex], rows: Ints, values: bool) -> NDArray[np.float64]:
        found = [value_of(each) if each.lexical is not None else None for each in vertexes]
        text = self._predicates.text
        rows[2] = [-1 if each is None else each.kind for each in found]
        rows[3] = [-1 if each is None else text(each.text) for each in found]
        if values:
            # numbers that are equal for equal values, and for equal terms. What is not a number equals nothing.
            by_value, by_term = dict[Hashable, int](), dict[str, int]()
            first, second = [], []
            for place, (vertex, value) in enumerate(zip(vertexes, found, strict=True)):
                is_comparable = value is not None and value.number == value.number
                key: Hashable = value if is_comparable else (vertex.term if value is None else place)
                first.append(by_value.setdefault(key, place))
                second.append(by_term.setdefault(vertex.term, place))
            rows[4], rows[5] = first, second
        return np.array([0.0 if each is None else each.number for each in found])

    def _keep_up(self, model: ConceptModel) -> None:
        version = (model, self._predicates.version, self._properties.version)
        is_full = len(self.classes) > MOST_KNOWN or len(self.ways) > MOST_KNOWN
        if is_full or self._version is None or version[1:] != self._version[1:] or model is not self._version[0]:
            self._version, self._model = version, model
            self.classes, self.ways = Expansion(), Expansion()

    def _asked_classes(self, stated: tuple[str, ...]) -> list[int]:
        """All above them that somebody asks for."""
        names = frozenset[str]().union(*map(self._model.classes_above, stated))
        classes = self._predicates.classes
        return sorted(classes[each] for each in names if each in classes)

    def _asked_properties(self, name: str) -> list[int]:
        numbers = (self._properties.number(each) for each in self._model.properties_above(name))
        return sorted(each for each in numbers if each is not None)
