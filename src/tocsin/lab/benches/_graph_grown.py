"""What an index of so many graph patterns costs: each in a process of its own, so that none finds the memory that
another has left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct

from tocsin.lab.benches._matching import over
from tocsin.lab.graph_hierarchies import HierarchicalWorkload, Hierarchies
from tocsin.lab.graph_workload import GraphWorkload, Vocabulary
from tocsin.lab.race import Timing, race
from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, GraphQuery, PatternVertex
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, Vertex

if TYPE_CHECKING:
    from tocsin.matching.graphs.index import GraphIndex
    from tocsin.matching.graphs.workspace import Workspace

ROUNDS = 10


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


class GraphsGrown(Struct, frozen=True):
    """`build` is the microseconds that a subscription took; `notes` are bytes that a search writes to, once a process.
    Times are of the processor."""

    workload: str
    subscriptions: int
    build: float
    nodes: int
    index_bytes: int
    notes: int
    matches: float
    timing: Timing

    @property
    def rate(self) -> float:
        """Percent of the subscriptions that an event matches."""
        return 100 * self.matches / self.subscriptions


def graphs_grown(workload: str, count: int, seed: int, events: int) -> GraphsGrown:
    """In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measured, workload, count, seed, events).result()


def measured(workload: str, count: int, seed: int, events: int) -> GraphsGrown:
    from tocsin.matching.graphs.workspace import Workspace  # here, for it loads numba

    drawn = WORKLOADS[workload](seed)
    given, desk = list(drawn.events(events)), Workspace()
    index, build = filled(drawn.queries(count), desk)
    found = [index.match(each, drawn.model) for each in given]
    assert not any(len(each.undecided) for each in found)
    works = {"match": over(lambda event: index.match(event, drawn.model), given)}
    timing = race(works, rounds=ROUNDS, calls=max(1, events // ROUNDS), clock=time.thread_time_ns)["match"]
    matches = sum(len(each.atoms) for each in found) / len(found)
    return GraphsGrown(workload, count, build, index.nodes, index.size, bytes_of(desk), matches, timing)


def new_index(desk: Workspace | None = None) -> GraphIndex:
    from tocsin.matching.graphs.index import GraphIndex  # here, for who lists benchmarks does not load numba

    return GraphIndex(desk)


def filled(queries: Iterator[GraphQuery], desk: Workspace | None = None) -> tuple[GraphIndex, float]:
    """With all queries in it, and the microseconds that one took; without those of making it."""
    warm()
    index, took = new_index(desk), 0
    for atom, query in enumerate(queries):
        began = time.thread_time_ns()
        index.add(atom, query)
        took += time.thread_time_ns() - began
    index.pack()
    return index, took / max(len(index), 1) / 1000


def warm() -> None:
    """Kernels are loaded when they are first called."""
    query = GraphQuery((GraphPattern((PatternVertex(HOME),), ()),))
    index = new_index()
    index.add(0, query)
    index.match(EventGraph((Vertex(HOME, ()),), ()), ConceptModel())
    index.pack()
    index.remove(0, query)


def bytes_of(desk: Workspace) -> int:
    return sum(each.nbytes for each in vars(desk).values() if isinstance(each, np.ndarray))
