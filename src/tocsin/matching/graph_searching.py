"""Graph patterns looked for in one event graph one by one: what no index decides."""

from collections.abc import Callable

from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.matching.graphs.search import Search
from tocsin.matching.graphs.vertex_sets import VertexSets
from tocsin.matching.judging import Undecided

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
