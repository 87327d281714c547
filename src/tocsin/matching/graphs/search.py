"""One query against one event: the mapping that a subscriber is told of."""

from collections.abc import Iterator

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery
from tocsin.matching.graphs.vertex_sets import VertexSets, members, sets_of
from tocsin.matching.judging import Undecided
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

BUDGET = 100_000  # vertexes placed, before a search is given up

_Domains = tuple[int, ...]  # what each vertex of the pattern may still stand for


class Bindings(Struct, frozen=True):
    """`mapping` has a vertex of the event for each vertex of `pattern`, which is the alternative that matched together
    with the optional parts that are there; `terms` are those of the query's variables that are bound."""

    pattern: GraphPattern
    mapping: tuple[int, ...]
    terms: dict[str, str]


def find(query: GraphQuery, event: EventGraph, model: ConceptModel, budget: int = BUDGET) -> Bindings | None:
    """Raises `Undecided` when no alternative matches within the budget and one of them might."""
    sets, given_up = sets_of(event, model), None
    for pattern in query.alternatives:
        search = Search(sets, query.injective, budget)
        try:
            mapping = search.mapping(pattern)
        except Undecided as reason:
            given_up = reason
            continue
        if mapping is not None:
            return _bindings(query, *_with_optional(search, pattern, mapping), event)
    if given_up:
        raise given_up
    return None


def _bindings(query: GraphQuery, pattern: GraphPattern, mapping: tuple[int, ...], event: EventGraph) -> Bindings:
    terms = {asked.name: event.vertexes[at].term for asked, at in zip(pattern.vertexes, mapping, strict=True)}
    return Bindings(pattern, mapping, {name: terms[name] for name in query.variables if name in terms})


def _with_optional(
    search: "Search", pattern: GraphPattern, mapping: tuple[int, ...]
) -> tuple[GraphPattern, tuple[int, ...]]:
    """One optional part after the other is asked for, together with all that was found before it."""
    whole, base = pattern, len(pattern.vertexes)
    for optional in pattern.optional:
        larger = _joined(whole, optional, base)
        try:
            found = search.mapping(larger)
        except Undecided:
            continue
        if found is not None:
            whole, mapping = _with_optional(search, larger, found)
    return whole, mapping


def _joined(whole: GraphPattern, optional: GraphPattern, base: int) -> GraphPattern:
    """`optional` begins with the same `base` vertexes as `whole`; its others come behind."""
    behind = len(whole.vertexes) - base

    def moved(at: int) -> int:
        return at if at < base else at + behind

    arcs = [type(arc)(moved(arc.source), arc.property, moved(arc.target)) for arc in optional.arcs]
    equal = [(moved(left), moved(right)) for left, right in optional.equal]
    return GraphPattern(
        (*whole.vertexes, *optional.vertexes[base:]),
        tuple(dict.fromkeys((*whole.arcs, *arcs))),
        tuple(dict.fromkeys((*whole.equal, *equal))),
        tuple(_joined(whole, each, base) for each in optional.optional),
    )


class Search:
    """Backtracking that always places the vertex with the fewest choices left, and sees at once when one has none."""

    def __init__(self, sets: VertexSets, injective: bool, budget: int = BUDGET) -> None:
        self._sets, self._injective, self.left = sets, injective, budget

    def mapping(self, pattern: GraphPattern) -> tuple[int, ...] | None:
        start = self._start(pattern)
        untried = [] if start is None else [self._choices(pattern, start, frozenset())]
        while untried:
            found = next(untried[-1], None)
            if found is None:
                untried.pop()
            elif len(found[1]) == len(pattern.vertexes):
                return tuple(next(members(domain)) for domain in found[0])
            else:
                untried.append(self._choices(pattern, *found))
        return None

    def _start(self, pattern: GraphPattern) -> _Domains | None:
        everything = self._sets.everything
        domains = tuple(self._sets.fitting(asked, everything if at else 1) for at, asked in enumerate(pattern.vertexes))
        return domains if all(domains) else None

    def _choices(
        self, pattern: GraphPattern, domains: _Domains, placed: frozenset[int]
    ) -> Iterator[tuple[_Domains, frozenset[int]]]:
        free = (at for at in range(len(domains)) if at not in placed)
        chosen = min(free, key=lambda at: domains[at].bit_count())
        for vertex in members(domains[chosen]):
            self._spend()
            narrowed = self._narrowed(pattern, domains, chosen, vertex)
            if all(narrowed):
                yield narrowed, placed | {chosen}

    def _spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Undecided("the graph pattern took too many steps to find in this event")

    def _narrowed(self, pattern: GraphPattern, domains: _Domains, chosen: int, vertex: int) -> _Domains:
        """What is left to each when the chosen one stands for that vertex."""
        only, sets = 1 << vertex, self._sets
        left = [domain & ~only for domain in domains] if self._injective else list(domains)
        left[chosen] = only
        for arc in pattern.arcs:
            if arc.source == chosen:
                left[arc.target] &= sets.behind(vertex, arc.property)
            if arc.target == chosen:
                left[arc.source] &= sets.before(vertex, arc.property)
        for one, other in pattern.equal:
            if chosen in (one, other):
                peer = other if chosen == one else one
                left[peer] &= sets.equal_to(vertex, left[peer], self._injective)
        return tuple(left)
