"""The breadth-first traversal of an event graph (OPS s5.3)."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from msgspec import Struct

from tocsin.matching.ops.ems import ANY
from tocsin.model.ontology import MetaStatement
from tocsin.semantics.events.event_graph import Arc, EventGraph


class TypedStatement(Struct, frozen=True, gc=False):
    """Subject and object are vertexes of the event, by position: a literal has no identifier of its own."""

    subject: int
    object: int
    meta: MetaStatement


def traversed(event: EventGraph) -> Iterator[TypedStatement]:
    """Every arc once; a vertex of several classes makes several statements of it."""
    leaving: defaultdict[int, list[Arc]] = defaultdict(list)
    for arc in event.arcs:
        leaving[arc.source].append(arc)
    queue = [0]
    met = {0}
    for source in queue:
        for arc in leaving[source]:
            yield from _typed(arc, event)
            if arc.target not in met:
                met.add(arc.target)
                queue.append(arc.target)


def _typed(arc: Arc, event: EventGraph) -> Iterator[TypedStatement]:
    subjects = event.vertexes[arc.source].classes or (ANY,)
    objects = event.vertexes[arc.target].classes or (ANY,)
    for subject, object_ in product(subjects, objects):
        yield TypedStatement(arc.source, arc.target, MetaStatement(subject, arc.property, object_))
