"""Definition 1, the paper's algorithm (repaired), the decomposition, the search and the kernel say the same."""

from hypothesis import event as seen
from hypothesis import given, settings
from tests.effort import examples
from tests.matching.graphs.oracle import matches_pattern
from tests.matching.graphs.strategies import Case, cases

from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.matching.graphs.index import GraphIndex
from tocsin.matching.graphs.partial_match import furthest_match
from tocsin.matching.graphs.search import find
from tocsin.matching.ops.algorithm import Ops
from tocsin.matching.ops.decomposition import Decomposition
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph


def by_definition(query: GraphQuery, event: EventGraph, model: ConceptModel) -> bool:
    return any(matches_pattern(each, event, model, query.injective) for each in query.alternatives)


@given(cases())
@settings(max_examples=examples(600), deadline=None)
def test_all_agree_with_definition_1(case: Case) -> None:
    model, event, asked = case
    expected = frozenset(number for number, query in enumerate(asked) if by_definition(query, event, model))
    seen(f"{len(expected)} of {len(asked)} match")
    assert by_kernel(asked, event, model) == expected
    assert by_ops(asked, event, model) == expected
    assert by_search(asked, event, model) == expected
    assert by_furthest(asked, event, model) == expected
    injective = frozenset(number for number, query in enumerate(asked) if query.injective)
    assert by_decomposition(asked, event, model) == expected & injective


def by_kernel(asked: list[GraphQuery], event: EventGraph, model: ConceptModel) -> frozenset[int]:
    index = GraphIndex()
    for number, query in enumerate(asked):
        index.add(number, query)
    found = index.match(event, model)
    assert not len(found.undecided)
    return frozenset(map(int, found.atoms))


def by_ops(asked: list[GraphQuery], event: EventGraph, model: ConceptModel) -> frozenset[int]:
    ops: Ops[int] = Ops(model)
    for number, query in enumerate(asked):
        for pattern in query.alternatives:
            ops.add(number, pattern, query.injective)
    return ops.match(event).matched


def by_decomposition(asked: list[GraphQuery], event: EventGraph, model: ConceptModel) -> frozenset[int]:
    network: Decomposition[int] = Decomposition(model)
    for number, query in enumerate(asked):
        for pattern in query.alternatives if query.injective else ():
            network.add(number, pattern)
    return network.match(event).matched


def by_search(asked: list[GraphQuery], event: EventGraph, model: ConceptModel) -> frozenset[int]:
    return frozenset(number for number, query in enumerate(asked) if find(query, event, model) is not None)


def by_furthest(asked: list[GraphQuery], event: EventGraph, model: ConceptModel) -> frozenset[int]:
    return frozenset(number for number, query in enumerate(asked) if furthest_match(query, event, model).failed is None)
