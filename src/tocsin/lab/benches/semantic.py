"""Graph patterns in one index, against libraries that search them one by one; in time of the processor.

The first workload is the paper's (OPS s6), the second has hierarchies of classes and properties, and tests of literals.
An event is an event graph already: what reading it costs is told by itself.
"""

from collections.abc import Iterator, Sequence
from random import Random
from time import thread_time_ns

from msgspec import Struct

from tocsin.lab.bench import Result, against_floor, alone, at_most, benchmark, timing
from tocsin.lab.benches._graph_cases import (
    ORDER_VERTEXES,
    bulk_readings,
    cold_start,
    hard,
    liftings,
    readings,
    warm_start,
)
from tocsin.lab.benches._graph_rivals import against_rivals, found_by, stand
from tocsin.lab.benches._growth import (
    HIERARCHIES,
    PAPER,
    WORKLOADS,
    Growth,
    apart,
    exponent,
    filled,
    graph_growth,
    new_index,
)
from tocsin.lab.benches._matching import race_by_cpu, up_to
from tocsin.lab.workloads.graphs import GraphWorkload, Vocabulary
from tocsin.matching.graphs.search import find
from tocsin.semantics.concepts.concept_model import ConceptModel

GROWTH, MOST_BYTES, MOST_SECONDS = 15, 150, 2
RATES = (2, 5, 10, 20)  # classes
RATED = 2_000  # subscriptions
READ = 50  # events
CHECKED = 20  # subscriptions
MEMORY_NOTE = "all arrays of the index; what a search writes to is told by itself"
BULK_NOTE = "an event, of many at a call"
PAPER_RATES = "percent; the paper has 23.8 with 2 classes, about 3 with 10, 1.3 with 20"


class Sizes(Struct, frozen=True):
    subscriptions: int = 10_000
    largest: int = 1_000_000
    changed: int = 100_000  # subscriptions that stand while others come and go
    changes: int = 2_000
    events: int = 400
    vertexes: int = 5_000  # of the large event
    rounds: int = 15
    cold: bool = True


@benchmark(
    "semantic", "graph patterns in one index, against VF2 and SPARQL one by one",
    rivals=("igraph", "rustworkx", "pyoxigraph", "numba"), choices=Sizes,
)  # fmt: skip
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    yield from against_rivals(stand(seed, sizes.subscriptions, sizes.events), sizes.rounds)
    for name in (PAPER, HIERARCHIES):
        each_size = [apart(graph_growth, name, count, seed, sizes.events) for count in up_to(sizes.largest)]
        yield from growth(each_size)
        if name == PAPER:
            yield from limits(each_size, sizes.subscriptions)
    yield from rates(seed)
    for name in (PAPER, HIERARCHIES):
        yield from changes(name, seed, sizes)
    yield from reading(seed, sizes.rounds)
    model = ConceptModel()
    for each in hard():
        index = new_index()
        index.add(0, each.query)
        index.match(each.event, model)
        began = thread_time_ns()
        found = index.match(each.event, model)
        took = (thread_time_ns() - began) / 1e6
        assert len(found.undecided) or bool(len(found.atoms)) == each.holds
        note = f"undecided after {found.steps:,} steps" if len(found.undecided) else "right"
        yield alone(each.case, took, "ms", sizes={"vertexes": len(each.event.vertexes)}, note=note)
    yield large_event(seed, sizes)
    yield from start(sizes.cold)


def growth(each_size: Sequence[Growth]) -> Iterator[Result]:
    for each in each_size:
        case = f"{each.workload}, {each.subscriptions:,} subscriptions"
        details = {"subscriptions": each.subscriptions, "nodes": each.nodes, "matches": round(each.matches)}
        yield alone(f"{case}, an event", each.timing.median, "µs", sizes=details, timing=each.timing)
        yield alone(f"{case}, insert at the start", each.build, "µs", sizes=details)
        for what, size in (("memory", each.index_bytes), ("notes of a search", each.notes)):
            yield alone(f"{case}, {what}", size / each.subscriptions, "bytes a subscription", sizes=details)
    if len(each_size) > 1:
        slope = exponent([each.point for each in each_size])
        yield alone(f"{each_size[0].workload}, growth", slope, "exponent", note="linear would be 1")


def limits(each_size: Sequence[Growth], subscriptions: int) -> Iterator[Result]:
    few = next((each for each in each_size if each.subscriptions == subscriptions), each_size[0])
    many = each_size[-1]
    case, details = f"{many.workload}, {many.subscriptions:,} subscriptions", {"subscriptions": many.subscriptions}
    yield against_floor(
        f"{case}, an event", many.timing.median, "µs", f"ours with {few.subscriptions:,}", few.timing.median,
        target=at_most(GROWTH), sizes=details, timing=many.timing,
    )  # fmt: skip
    yield against_floor(
        f"{case}, memory", many.bytes_each, "bytes a subscription", "at most", MOST_BYTES,
        target=1.0, sizes=details, note=MEMORY_NOTE,
    )  # fmt: skip


def rates(seed: int) -> Iterator[Result]:
    for classes in RATES:
        drawn = GraphWorkload(Vocabulary(classes=classes), seed)
        index, _ = filled(drawn.queries(RATED))
        events = list(drawn.events(100))
        matches = sum(len(index.match(each, drawn.model).atoms) for each in events) / len(events)
        details = {"subscriptions": RATED, "classes": classes}
        yield alone(f"{classes} classes, matches", 100 * matches / RATED, "%", sizes=details, note=PAPER_RATES)


def changes(name: str, seed: int, sizes: Sizes) -> Iterator[Result]:
    """New ones come, one by one, and then go; an event is matched between every two."""
    drawn = WORKLOADS[name](seed)
    index, _ = filled(drawn.queries(sizes.changed))
    coming, event = list(drawn.queries(sizes.changes)), next(drawn.events(1))
    took: dict[str, list[int]] = {"insert": [], "remove": []}
    for what, change in (("insert", index.add), ("remove", index.remove)):
        for atom, query in enumerate(coming, sizes.changed):
            began = thread_time_ns()
            change(atom, query)
            took[what].append(thread_time_ns() - began)
            index.match(event, drawn.model)
    details = {"subscriptions": sizes.changed, "changes": sizes.changes}
    for what, each in took.items():
        found, note = timing(each), f"p99; the slowest took {max(each) / 1000:,.0f} µs"
        yield alone(f"{name}, {what} at {sizes.changed:,}", found.p99, "µs", sizes=details, timing=found, note=note)


def reading(seed: int, rounds: int) -> Iterator[Result]:
    drawn = WORKLOADS[HIERARCHIES](seed)
    events = list(drawn.events(READ))
    of_a_graph = {"vertexes": len(events[0].vertexes), "arcs": len(events[0].arcs)}
    of_an_order = {"vertexes": ORDER_VERTEXES, "arcs": ORDER_VERTEXES - 1}
    for works, details in (
        (readings(events, drawn.model), of_a_graph),
        (liftings(Random(seed), READ), of_an_order),
    ):
        for name, each in race_by_cpu(works, rounds=rounds).items():
            yield alone(f"reading, {name}", each.median, "µs", sizes=details, timing=each)
    for name, each in race_by_cpu(bulk_readings(events, drawn.model), rounds=rounds).items():
        yield alone(f"reading, {name}", each.median / READ, "µs", sizes=of_a_graph, note=BULK_NOTE)


def large_event(seed: int, sizes: Sizes) -> Result:
    """As the others, but it went on growing; some answers are compared with those of a search one by one."""
    drawn = GraphWorkload(Vocabulary(), seed)
    queries, event = list(drawn.queries(sizes.subscriptions)), drawn.large_event(sizes.vertexes)
    index, _ = filled(iter(queries))
    atoms = set(found_by(index, event, drawn.model))
    checked = {*sorted(atoms)[:CHECKED], *range(CHECKED)} & set(range(len(queries)))
    assert all((find(queries[atom], event, drawn.model) is not None) == (atom in atoms) for atom in checked)
    began = thread_time_ns()
    index.match(event, drawn.model)
    took = (thread_time_ns() - began) / 1e6
    details = {"vertexes": sizes.vertexes, "subscriptions": sizes.subscriptions, "matches": len(atoms)}
    return alone(f"an event of {sizes.vertexes:,} vertexes", took, "ms", sizes=details, note="right")


def start(cold: bool) -> Iterator[Result]:
    """In time of the processor, as all the rest."""
    warm = warm_start()
    note = "after the import, in a process of its own, with kernels that were compiled before"
    yield against_floor("start, first match", warm.first, "s", "at most", MOST_SECONDS, target=1.0, note=note)
    note = f"the import and all before it too; {warm.wall:.1f} s by the clock"
    yield alone("start, whole process", warm.cpu, "s", note=note)
    if cold:
        first = cold_start()
        note = f"once for each installation; {first.wall:.1f} s by the clock"
        yield alone("start, nothing compiled yet", first.cpu, "s", note=note)
