"""The cost of an engine, or of an index of graph patterns, as subscriptions grow. Each size is measured in a process of
its own, so that none finds the memory that another has left."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import log
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol

import numpy as np
from msgspec import Struct

from tocsin.lab.bench import Timing, race
from tocsin.lab.benches._matching import Work, matches, once, over
from tocsin.lab.workloads.files import drawn_notifications, drawn_subscriptions
from tocsin.lab.workloads.graphs import GraphWorkload, HierarchicalWorkload, Hierarchies, Vocabulary
from tocsin.lab.workloads.texts import MIXED
from tocsin.markup.content import condition_of
from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.matching.engine import Engine
from tocsin.matching.warming import warm
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

if TYPE_CHECKING:
    from tocsin.matching.graphs.index import GraphIndex, Workspace

P = ParamSpec("P")
ROUNDS = 10
WARM = 64  # notifications before the clock runs; the topics of the others are as new as they come
CLEARED = 1_000


class Growth(Struct, frozen=True):
    """One size. `build` is the microseconds that a subscription took; times are of the processor.

    Of the engine, `index_bytes` is by what the process grew as it took subscriptions that were there before, without
    the bounded cache of expressions that were read. Of graph patterns there are the `nodes` of their trie, and
    `notes`: bytes that a search writes to, once a process.
    """

    workload: str
    subscriptions: int
    build: float
    index_bytes: int
    matches: float
    timing: Timing
    nodes: int = 0
    notes: int = 0

    @property
    def rate(self) -> float:
        """Percent of the subscriptions that an event matches."""
        return 100 * self.matches / self.subscriptions

    @property
    def bytes_each(self) -> float:
        return self.index_bytes / self.subscriptions

    @property
    def point(self) -> tuple[float, float]:
        return self.subscriptions, self.timing.median


def apart(measure: Callable[P, Growth], *arguments: P.args, **named: P.kwargs) -> Growth:
    """In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, *arguments, **named).result()


def engine_growth(count: int, seed: int, notifications: int) -> Growth:
    catalogue, asking = drawn_subscriptions(MIXED, count, seed)
    events = drawn_notifications(MIXED, WARM + notifications, seed)
    warm()  # what numba takes is the same for any number of subscriptions
    condition_of.cache_clear()
    gc.collect()
    gc.freeze()
    before, began = resident(), time.thread_time()
    engine = Engine(catalogue)
    for number, each in enumerate(asking):
        engine.apply(each)
        if number % CLEARED == 0:
            condition_of.cache_clear()
    build = (time.thread_time() - began) / count * 1e6
    condition_of.cache_clear()
    gc.collect()
    took = resident() - before
    found = matches(engine, events[:WARM])
    return Growth(MIXED.name, count, build, took, found, _timed(once(engine.match, events[WARM:]), notifications))


def _timed(work: Work, events: int) -> Timing:
    return race({"": work}, rounds=ROUNDS, calls=max(1, events // ROUNDS), clock=time.thread_time_ns)[""]


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Of the power of x that y grows by: the slope of the straight line through the logarithms."""
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    along = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / along


class Drawn(Protocol):
    @property
    def model(self) -> ConceptModel: ...
    def events(self, count: int) -> Iterator[EventGraph]: ...
    def queries(self, count: int) -> Iterator[GraphQuery]: ...


PAPER, HIERARCHIES = "the paper's", "hierarchies and tests"
WORKLOADS: Mapping[str, Callable[[int], Drawn]] = {
    PAPER: lambda seed: GraphWorkload(Vocabulary(), seed),
    HIERARCHIES: lambda seed: HierarchicalWorkload(Hierarchies(), seed),
}


def graph_growth(workload: str, count: int, seed: int, events: int) -> Growth:
    from tocsin.matching.graphs.index import Workspace  # here, for it loads numba

    drawn = WORKLOADS[workload](seed)
    given, workspace = list(drawn.events(events)), Workspace()
    index, build = filled(drawn.queries(count), workspace)
    found = [index.match(each, drawn.model) for each in given]
    assert not any(len(each.undecided) for each in found)
    timing = _timed(over(lambda event: index.match(event, drawn.model), given), events)
    found_each = sum(len(each.atoms) for each in found) / len(found)
    return Growth(workload, count, build, index.size, found_each, timing, index.nodes, bytes_of(workspace))


def new_index(workspace: Workspace | None = None) -> GraphIndex:
    from tocsin.matching.graphs.index import GraphIndex  # here, for who lists benchmarks does not load numba

    return GraphIndex(workspace)


def filled(queries: Iterator[GraphQuery], workspace: Workspace | None = None) -> tuple[GraphIndex, float]:
    """With all queries in it, and the microseconds that one took; without those of making it."""
    warm()  # kernels are loaded when they are first called
    index, took = new_index(workspace), 0
    for atom, query in enumerate(queries):
        began = time.thread_time_ns()
        index.add(atom, query)
        took += time.thread_time_ns() - began
    index.pack()
    return index, took / max(len(index), 1) / 1000


def bytes_of(workspace: Workspace) -> int:
    return sum(each.nbytes for each in vars(workspace).values() if isinstance(each, np.ndarray))
