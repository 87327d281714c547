"""Searches one event graph for one query: an event as bit sets of vertexes, backtracking, bindings."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternVertex
from tocsin.matching.graphs.definition import classes_of, equal, passes
from tocsin.matching.judge import Undecided
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph


class VertexSets:
    """An event graph as sets of its vertexes: integers of any length, in which bit i is vertex i.

    Classes and properties are closed upwards once, so that subsumption costs nothing in a search.
    """

    def __init__(self, event: EventGraph, model: ConceptModel) -> None:
        self.event = event
        self.everything = (1 << len(event.vertexes)) - 1
        self._of_class: defaultdict[str, int] = defaultdict(int)
        self._behind: defaultdict[tuple[int, str], int] = defaultdict(int)
        self._before: defaultdict[tuple[int, str], int] = defaultdict(int)
        for at, vertex in enumerate(event.vertexes):
            for each in classes_of(vertex, model):
                self._of_class[each] |= 1 << at
        for source, stated, target in ((arc.source, arc.property, arc.target) for arc in event.arcs):
            for each in model.properties_above(stated):
                self._behind[source, each] |= 1 << target
                self._before[target, each] |= 1 << source

    def behind(self, vertex: int, name: str) -> int:
        """Where arcs of that property, or one below it, lead from there."""
        return self._behind.get((vertex, name), 0)

    def before(self, vertex: int, name: str) -> int:
        return self._before.get((vertex, name), 0)

    def fitting(self, asked: PatternVertex, among: int) -> int:
        """Those that the pattern's vertex can stand for by itself (Definition 1, condition 1)."""
        for name in asked.classes:
            among &= self._of_class.get(name, 0)
        if asked.constant is None and not asked.tests:
            return among
        return sum(1 << at for at in members(among) if self._passes(asked, at))

    def _passes(self, asked: PatternVertex, at: int) -> bool:
        vertex = self.event.vertexes[at]
        return asked.constant in (None, vertex.term) and all(passes(test, vertex) for test in asked.tests)

    def equal_to(self, vertex: int, among: int, by_value: bool) -> int:
        here = self.event.vertexes[vertex]
        return sum(1 << at for at in members(among) if equal(here, self.event.vertexes[at], by_value))


@lru_cache(maxsize=4)
def sets_of(event: EventGraph, model: ConceptModel) -> VertexSets:
    """Remembered, for one event is searched for one subscriber after the other."""
    return VertexSets(event, model)


def members(vertexes: int) -> Iterator[int]:
    while vertexes:
        lowest = vertexes & -vertexes
        yield lowest.bit_length() - 1
        vertexes ^= lowest


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
    """Backtracking that places the vertex with the fewest choices first, and stops at once where one has none."""

    def __init__(self, sets: VertexSets, injective: bool, budget: int = BUDGET) -> None:
        self._sets, self._injective, self.left = sets, injective, budget

    def mapping(self, pattern: GraphPattern) -> tuple[int, ...] | None:
        everything = self._sets.everything
        domains = tuple(self._sets.fitting(asked, everything if at else 1) for at, asked in enumerate(pattern.vertexes))
        start = domains if all(domains) else None
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

    def _choices(
        self, pattern: GraphPattern, domains: _Domains, placed: frozenset[int]
    ) -> Iterator[tuple[_Domains, frozenset[int]]]:
        free = (at for at in range(len(domains)) if at not in placed)
        chosen = min(free, key=lambda at: domains[at].bit_count())
        for vertex in members(domains[chosen]):
            self.left -= 1
            if self.left < 0:
                raise Undecided("the graph pattern took too many steps to find in this event")
            narrowed = self._narrowed(pattern, domains, chosen, vertex)
            if all(narrowed):
                yield narrowed, placed | {chosen}

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


WORK = 300_000  # arcs of a pattern looked at, about a tenth of a second, before a query is given up
_STEP = 20  # a step looks at all arcs of its pattern, and costs as much as so many more


def budget_for(query: GraphQuery) -> int:
    """So many steps."""
    return WORK // (_STEP + max(len(each.arcs) for each in query.alternatives))


def has_pattern(sets: VertexSets, query: GraphQuery, spend: Callable[[int], None]) -> bool:
    """`spend` is told of the work that was done. Raises `Undecided` when that is too much."""
    given_up: Undecided | None = None
    left = budget_for(query)
    for pattern in query.alternatives:
        search = Search(sets, query.injective, left)
        try:
            if search.mapping(pattern) is not None:
                return True
        except Undecided as problem:
            given_up = problem
        finally:
            spend((left - search.left) * (_STEP + len(pattern.arcs)))
            left = max(0, search.left)
    if given_up is not None:
        raise given_up
    return False
