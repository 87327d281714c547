"""Ours and the rivals with the same subscriptions and events, which must find the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import thread_time_ns
from typing import TYPE_CHECKING

from msgspec import Struct

from tocsin.lab.bench import Result, Timing, against_floor, race, side_by_side
from tocsin.lab.benches import _graph_rivals as rivals
from tocsin.lab.benches._graph_grown import PAPER, WORKLOADS, filled
from tocsin.lab.benches._graph_rivals import BY_HOME, IGRAPH, OXIGRAPH, RUSTWORKX, Rival
from tocsin.lab.benches._matching import Work, over, race_by_cpu
from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

if TYPE_CHECKING:
    from tocsin.matching.graphs.index import GraphIndex

OURS = "ours"
NOTES = {
    IGRAPH: "integers for colours",
    RUSTWORKX: "integers for classes and properties",
    OXIGRAPH: "its binding for Python has no prepared queries, so that each text is parsed again",
}
MAKERS: Mapping[str, Callable[[Sequence[GraphQuery]], Rival]] = {
    IGRAPH + BY_HOME: lambda queries: rivals.igraph_vf2(queries, by_home=True),
    RUSTWORKX + BY_HOME: lambda queries: rivals.rustworkx_vf2(queries, by_home=True),
    IGRAPH: lambda queries: rivals.igraph_vf2(queries, by_home=False),
    RUSTWORKX: lambda queries: rivals.rustworkx_vf2(queries, by_home=False),
    OXIGRAPH: rivals.oxigraph_ask,
}
FASTER: Mapping[str, float] = {IGRAPH + BY_HOME: 100, RUSTWORKX + BY_HOME: 100, OXIGRAPH: 1_000}


class Pace(Struct, frozen=True):
    """How many events are compared, and how long it is raced: some rivals take seconds for an event."""

    events: int
    rounds: int
    calls: int | None = None


PACES = {BY_HOME: Pace(10, 15), "": Pace(2, 5), OXIGRAPH: Pace(1, 2, calls=1)}


class Stand(Struct, frozen=True):
    index: GraphIndex
    model: ConceptModel
    queries: list[GraphQuery]
    events: list[EventGraph]

    def match(self, event: EventGraph) -> object:
        return self.index.match(event, self.model)

    def found(self, event: EventGraph) -> list[int]:
        return found_by(self.index, event, self.model)


def stand(seed: int, subscriptions: int, events: int) -> Stand:
    drawn = WORKLOADS[PAPER](seed)
    queries = list(drawn.queries(subscriptions))
    index, _ = filled(iter(queries))
    return Stand(index, drawn.model, queries, list(drawn.events(events)))


def found_by(index: GraphIndex, event: EventGraph, model: ConceptModel) -> list[int]:
    found = index.match(event, model)
    assert not len(found.undecided)
    atoms: list[int] = sorted(found.atoms.tolist())
    return atoms


def against_rivals(ours: Stand, rounds: int) -> Iterator[Result]:
    for names, pace in (
        ((IGRAPH + BY_HOME, RUSTWORKX + BY_HOME), PACES[BY_HOME]),
        ((IGRAPH, RUSTWORKX), PACES[""]),
        ((OXIGRAPH,), PACES[OXIGRAPH]),
    ):
        there = {name: MAKERS[name](ours.queries) for name in names if not rivals.missing(name)}
        check(ours, there, pace.events)
        timings = raced(ours, there, Pace(pace.events, min(rounds, pace.rounds), pace.calls))
        yield from (compared(ours, name, timings, pace) for name in names)


def check(ours: Stand, there: Mapping[str, Rival], count: int) -> None:
    """Who gives another answer is no rival."""
    for event in ours.events[:count]:
        expected = ours.found(event)
        for rival in there.values():
            assert rival(event) == expected


def raced(ours: Stand, there: Mapping[str, Rival], pace: Pace) -> dict[str, Timing]:
    works: dict[str, Work] = {name: over(rival, ours.events) for name, rival in there.items()}
    if pace.calls is None:
        return race_by_cpu({OURS: over(ours.match, ours.events), **works}, rounds=pace.rounds, slice_ms=40)
    several = race_by_cpu({OURS: over(ours.match, ours.events)}, rounds=pace.rounds, slice_ms=40)
    return several | race(works, rounds=pace.rounds, calls=pace.calls, clock=thread_time_ns)


def compared(ours: Stand, name: str, timings: Mapping[str, Timing], pace: Pace) -> Result:
    case = f"{len(ours.queries):,} subscriptions"
    sizes = {"subscriptions": len(ours.queries), "distinct": len(set(ours.queries)), "compared": pace.events}
    note, timing = NOTES[name.removesuffix(BY_HOME)], timings[OURS]
    if package := rivals.missing(name):
        note = f"{package} is not installed; requirements/development.txt has it"
        return against_floor(case, timing.median, "µs", name, None, sizes=sizes, timing=timing, note=note)
    mine, theirs = side_by_side(timing, timings[name])
    if name in FASTER:
        return against_floor(case, mine, "µs", name, theirs, target=FASTER[name], sizes=sizes, timing=timing, note=note)
    return against_floor(case, mine, "µs", name, theirs, sizes=sizes, timing=timing, note=note)
