"""Why an event graph does not match a pattern: the furthest partial match, and what is missing there."""

from collections.abc import Iterator

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, Test
from tocsin.matching.graphs.definition import classes_of, equal, passes
from tocsin.matching.graphs.search import VertexSets, members, sets_of
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

BUDGET = 20_000  # vertexes looked at in each alternative
MOST_REASONS = 8


class NoArc(Struct, frozen=True, tag=True):
    """There is no such arc from the vertex of `source`; with a `target`, none to the vertex of that."""

    source: str
    property: str
    target: str | None = None


class NoClass(Struct, frozen=True, tag=True):
    """None of the classes of that vertex is the one asked for or below it."""

    term: str
    asked: str
    classes: tuple[str, ...]


class OtherTerm(Struct, frozen=True, tag=True):
    term: str
    asked: str


class FailedTest(Struct, frozen=True, tag=True):
    term: str
    test: Test


class Unequal(Struct, frozen=True, tag=True):
    """Not equal to what another vertex of the pattern stands for."""

    term: str
    to: str


class Used(Struct, frozen=True, tag=True):
    """Another vertex of the pattern already stands for it (Definition 1, condition 2)."""

    term: str
    by: str


Reason = NoArc | NoClass | OtherTerm | FailedTest | Unequal | Used


class PartialMatch(Struct, frozen=True):
    """`mapping` says for vertexes of the pattern which of the event they stand for. For vertex `failed` none was found,
    for these `reasons`: one for each vertex of the event that was looked at. Nothing failed when all are mapped.
    `complete` is false when the budget was met: there may be more."""

    pattern: GraphPattern
    mapping: dict[int, int]
    failed: int | None = None
    reasons: tuple[Reason, ...] = ()
    complete: bool = True


def furthest_match(query: GraphQuery, event: EventGraph, model: ConceptModel, budget: int = BUDGET) -> PartialMatch:
    """Of the alternative that gets furthest."""
    sets = sets_of(event, model)
    found = [_Walk(pattern, sets, model, query.injective, budget).furthest() for pattern in query.alternatives]
    return max(found, key=lambda each: (each.failed is None, len(each.mapping)))


class _Walk:
    """The vertexes of a pattern in breadth-first order, as a reader would check them."""

    def __init__(
        self, pattern: GraphPattern, sets: VertexSets, model: ConceptModel, injective: bool, budget: int
    ) -> None:
        self._pattern, self._sets, self._model, self._injective = pattern, sets, model, injective
        self._left = budget
        self._entries = _entries(pattern)
        self._best = PartialMatch(pattern, {})

    def furthest(self) -> PartialMatch:
        mapping: dict[int, int] = {}
        untried = [self._placed(mapping)]
        while untried and self._left > 0:
            if next(untried[-1], None) is None:
                untried.pop()
            elif len(mapping) == len(self._entries):
                return PartialMatch(self._pattern, mapping)
            else:
                untried.append(self._placed(mapping))
        return PartialMatch(self._pattern, self._best.mapping, self._best.failed, self._best.reasons, self._left > 0)

    def _placed(self, mapping: dict[int, int]) -> Iterator[int]:
        """Places the next vertex in each way there is."""
        asked, entry = self._entries[len(mapping)]
        candidates = 1 if entry is None else self._sets.behind(mapping[entry.source], entry.property)
        reasons: list[Reason] = [] if candidates or entry is None else [self._no_arc(entry)]
        for vertex in members(candidates):
            self._left -= 1
            reason = self._reason(asked, vertex, mapping)
            if reason is None:
                mapping[asked] = vertex
                yield vertex
                del mapping[asked]
            else:
                reasons.append(reason)
        if self._best.failed is None or len(mapping) > len(self._best.mapping):
            self._best = PartialMatch(self._pattern, dict(mapping), asked, tuple(reasons[:MOST_REASONS]))

    def _reason(self, asked: int, vertex: int, mapping: dict[int, int]) -> Reason | None:
        return (
            self._by_itself(asked, vertex) or self._beside(asked, vertex, mapping) or self._arcs(asked, vertex, mapping)
        )

    def _by_itself(self, asked: int, vertex: int) -> Reason | None:
        wanted, there = self._pattern.vertexes[asked], self._sets.event.vertexes[vertex]
        for name in wanted.classes:
            if name not in classes_of(there, self._model):
                return NoClass(there.term, name, there.classes)
        if wanted.constant not in (None, there.term):
            return OtherTerm(there.term, str(wanted.constant))
        return next((FailedTest(there.term, test) for test in wanted.tests if not passes(test, there)), None)

    def _beside(self, asked: int, vertex: int, mapping: dict[int, int]) -> Reason | None:
        vertexes, term = self._sets.event.vertexes, self._sets.event.vertexes[vertex].term
        for other, taken in mapping.items():
            if self._injective and taken == vertex:
                return Used(term, self._name(other))
            bound = (asked, other) in self._pattern.equal or (other, asked) in self._pattern.equal
            if bound and not equal(vertexes[vertex], vertexes[taken], self._injective):
                return Unequal(term, self._name(other))
        return None

    def _arcs(self, asked: int, vertex: int, mapping: dict[int, int]) -> Reason | None:
        known = {**mapping, asked: vertex}
        for arc in self._pattern.arcs:
            if asked in (arc.source, arc.target) and arc.source in known and arc.target in known:
                there = self._sets.behind(known[arc.source], arc.property) >> known[arc.target] & 1
                if not there:
                    return self._no_arc(arc, self._name(arc.target))
        return None

    def _no_arc(self, arc: PatternArc, target: str | None = None) -> Reason:
        return NoArc(self._name(arc.source), arc.property, target)

    def _name(self, asked: int) -> str:
        return self._pattern.vertexes[asked].name


def _entries(pattern: GraphPattern) -> list[tuple[int, PatternArc | None]]:
    """Each vertex with the arc that leads to it first."""
    entries: dict[int, PatternArc | None] = {0: None}
    queue = [0]
    for source in queue:
        for arc in pattern.arcs:
            if arc.source == source and arc.target not in entries:
                entries[arc.target] = arc
                queue.append(arc.target)
    return list(entries.items())
