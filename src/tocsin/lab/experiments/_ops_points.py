"""The points of Fig. 8 of the OPS paper: the same subscriptions and events matched by each algorithm."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean, median, median_low
from time import process_time_ns
from typing import Protocol

from msgspec import Struct

from tocsin.lab.bench import frozen_gc
from tocsin.lab.workloads.graphs import GraphWorkload, Vocabulary
from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.matching.ops.algorithm import Counts, Ops, Outcome
from tocsin.matching.ops.decomposition import Decided, Decomposition
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

REPAIRED, LITERAL, DECOMPOSITION, KERNEL = "repaired", "literal", "decomposition", "kernel"


class Disagreement(Exception):
    """An exact way found what another one did not, or the literal one found what is not there."""


class Answer(Struct, frozen=True):
    """`counts` are those of OPS; `nodes` those of the kernel's trie."""

    matched: frozenset[int]
    undecided: frozenset[int]
    counts: Counts | None = None
    nodes: int = 0


class Way(Protocol):
    def add(self, number: int, query: GraphQuery) -> None: ...

    def match(self, event: EventGraph) -> object:
        """What is timed. `answer` then tells what it found."""

    def answer(self) -> Answer: ...


class ByOps:
    def __init__(self, model: ConceptModel, repaired: bool) -> None:
        self._ops, self._repaired = Ops[int](model), repaired
        self._found: Outcome[int]

    def add(self, number: int, query: GraphQuery) -> None:
        for pattern in query.alternatives:
            self._ops.add(number, pattern, query.injective)

    def match(self, event: EventGraph) -> None:
        self._found = self._ops.match(event, self._repaired)

    def answer(self) -> Answer:
        return Answer(self._found.matched, self._found.undecided, self._found.counts)


class ByDecomposition:
    def __init__(self, model: ConceptModel) -> None:
        self._decomposition = Decomposition[int](model)
        self._found: Decided[int]

    def add(self, number: int, query: GraphQuery) -> None:
        for pattern in query.alternatives:
            self._decomposition.add(number, pattern)

    def match(self, event: EventGraph) -> None:
        self._found = self._decomposition.match(event)

    def answer(self) -> Answer:
        return Answer(self._found.matched, self._found.undecided)


class ByKernel:
    def __init__(self, model: ConceptModel) -> None:
        # It loads numba, which those who only list the experiments do not need.
        from tocsin.matching.graphs.index import GraphIndex, GraphMatches

        self._index, self._model = GraphIndex(), model
        self._found: GraphMatches

    def add(self, number: int, query: GraphQuery) -> None:
        self._index.add(number, query)

    def match(self, event: EventGraph) -> None:
        self._found = self._index.match(event, self._model)

    def answer(self) -> Answer:
        matched, undecided = self._found.atoms.tolist(), self._found.undecided.tolist()
        return Answer(frozenset(matched), frozenset(undecided), nodes=self._index.nodes)


def way(name: str, model: ConceptModel) -> Way:
    match name:
        case "repaired" | "literal":
            return ByOps(model, repaired=name == REPAIRED)
        case "decomposition":
            return ByDecomposition(model)
        case _:
            return ByKernel(model)


def check(answers: dict[str, Answer]) -> None:
    """All that are exact agree wherever they are decided; what the literal algorithm finds is there."""
    exact = {name: each for name, each in answers.items() if name != LITERAL}
    for name, one in answers.items():
        for other, answer in exact.items():
            if wrong := one.matched - answer.matched - answer.undecided:
                raise Disagreement(f"{name} says that subscription {min(wrong)} matches, {other} that it does not")


SEEN = 128  # events that came before most subscriptions did, as in a node that runs: the kernel files by what it saw
WARM = 8  # of them, that come again after more subscriptions
CALLS, ENOUGH_NS = 5, 20_000_000  # a call is made again up to so often, or until all took so long


class Bed(Struct, frozen=True):
    """A concept model of so many classes, with events and subscriptions; the events of `before` are not timed."""

    seed: int
    classes: int
    model: ConceptModel
    before: Sequence[EventGraph]
    events: Sequence[EventGraph]
    queries: Sequence[GraphQuery]


class Sample(Struct, frozen=True):
    """One event, by the name of the way: milliseconds of the processor, matches, and what OPS counted. `nodes` are
    those of the kernel's trie."""

    seed: int
    ms: Mapping[str, float]
    matched: Mapping[str, int]
    undecided: Mapping[str, int]
    counts: Mapping[str, Counts]
    nodes: int


class Point(Struct, frozen=True):
    classes: int
    subscriptions: int
    samples: Sequence[Sample]

    def ms(self, name: str) -> float | None:
        """The mean, of those who took part."""
        found = [each.ms[name] for each in self.samples if name in each.ms]
        return fmean(found) if found else None

    def median_ms(self, name: str) -> float:
        return median(each.ms[name] for each in self.samples)

    def times(self, slow: str, fast: str) -> float | None:
        more, less = self.ms(slow), self.ms(fast)
        return more / less if more is not None and less else None

    def matched(self, name: str) -> int:
        return sum(each.matched[name] for each in self.samples)

    def undecided(self, name: str) -> int:
        return sum(each.undecided[name] for each in self.samples)

    @property
    def rate(self) -> float:
        """Per cent of the subscriptions that match an event."""
        return 100 * self.matched(KERNEL) / (self.subscriptions * len(self.samples))

    @property
    def lost(self) -> int:
        return self.matched(REPAIRED) - self.matched(LITERAL)

    @property
    def lost_percent(self) -> float | None:
        return 100 * self.lost / self.matched(REPAIRED) if self.matched(REPAIRED) else None

    @property
    def events_with_a_loss(self) -> int:
        return sum(each.matched[LITERAL] < each.matched[REPAIRED] for each in self.samples)

    def by_seed(self) -> list["Point"]:
        """One for each concept model."""
        groups = groupby(sorted(self.samples, key=lambda each: each.seed), key=lambda each: each.seed)
        return [Point(self.classes, self.subscriptions, list(each)) for _, each in groups]

    @property
    def trie_nodes(self) -> float:
        """Of the kernel, for each subscription."""
        return fmean(each.nodes for each in self.samples) / self.subscriptions

    def counted(self, name: str, count: str) -> float:
        """The mean of what an event makes OPS count."""
        return fmean(getattr(each.counts[name], count) for each in self.samples)


def bed(classes: int, subscriptions: int, events: int, seed: int) -> Bed:
    workload = GraphWorkload(Vocabulary(classes=classes), seed)
    before, told = list(workload.events(SEEN)), list(workload.events(events))
    return Bed(seed, classes, workload.model, before, told, list(workload.queries(subscriptions)))


def samples(
    bed: Bed, sizes: Iterable[int], largest: Mapping[str, int], begins: Callable[[int], None], calls: int = CALLS
) -> Iterator[tuple[int, list[Sample]]]:
    """Subscriptions grow from size to size; each way leaves after the `largest` that it can take."""
    ways, filed = {name: way(name, bed.model) for name in largest}, 0
    for size in sizes:
        begins(size)
        ways = {name: each for name, each in ways.items() if size <= largest[name]}
        for number in range(filed, size):
            for each in ways.values():
                each.add(number, bed.queries[number])
        _warm(ways, bed.before[:WARM] if filed else bed.before)
        filed = size
        with frozen_gc():
            found = [_sample(bed.seed, ways, event, calls) for event in bed.events]
        yield size, found


def _warm(ways: Mapping[str, Way], events: Sequence[EventGraph]) -> None:
    for name, each in ways.items():
        for event in events if name == KERNEL else events[:1]:
            each.match(event)


def _sample(seed: int, ways: Mapping[str, Way], event: EventGraph, calls: int) -> Sample:
    ms = {name: _timed(each, event, calls) for name, each in ways.items()}
    answers = {name: each.answer() for name, each in ways.items()}
    check(answers)
    return Sample(
        seed,
        ms,
        {name: len(each.matched) for name, each in answers.items()},
        {name: len(each.undecided) for name, each in answers.items()},
        {name: each.counts for name, each in answers.items() if each.counts},
        answers[KERNEL].nodes,
    )


def _timed(way: Way, event: EventGraph, calls: int) -> float:
    """Milliseconds; what takes long is done once. Matching trees are circles of references, and are freed after."""
    times: list[int] = []
    while len(times) < calls and sum(times) < ENOUGH_NS:
        begun = process_time_ns()
        way.match(event)
        times.append(process_time_ns() - begun)
    gc.collect()
    return median_low(times) / 1e6
