import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.effort import examples
from tests.matching.graphs import drawn
from tests.matching.graphs.literals import XSD, literal
from tests.matching.graphs.oracle import served
from tests.matching.graphs.strategies import Case, cases

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.matching.graphs.definition import equal, fits
from tocsin.matching.graphs.search import find
from tocsin.matching.judge import Undecided
from tocsin.semantics.events.event_graph import Arc, EventGraph

STAR = drawn.event(*(f"H-p->a{at}" for at in range(40)))


def star(size: int) -> GraphQuery:
    return GraphQuery((drawn.pattern(*(f"H-p->?{at}" for at in range(size))),), tuple(f"?{at}" for at in range(size)))


@given(cases())
@settings(max_examples=examples(150), deadline=None)
def test_what_is_found_is_a_mapping_by_definition_1(case: Case) -> None:
    model, event, queries = case
    for query in queries:
        found = find(query, event, model)
        if found is None:
            continue
        assert found.pattern in query.alternatives
        assert found.mapping[0] == 0
        assert not query.injective or len(set(found.mapping)) == len(found.mapping)
        there = [event.vertexes[at] for at in found.mapping]
        assert all(fits(asked, vertex, model) for asked, vertex in zip(found.pattern.vertexes, there, strict=True))
        assert all(served(arc, found.mapping, event, model) for arc in found.pattern.arcs)
        assert all(equal(there[left], there[right], query.injective) for left, right in found.pattern.equal)


def test_bindings_are_terms_of_the_variables_that_are_asked_for() -> None:
    event = EventGraph(
        (*drawn.event("H-p->a").vertexes, literal("450", XSD + "decimal")), (Arc(0, "p", 1), Arc(1, "price", 2))
    )
    pattern = drawn.pattern("H-p->?what", "?what-price->?much")
    found = find(GraphQuery((pattern,), ("?much", "?what", "?nowhere")), event, drawn.model())
    assert found is not None
    assert list(found.terms.items()) == [("?much", f'"450"^^<{XSD}decimal>'), ("?what", "_:a")]


def optional(base: GraphPattern, *more: tuple[int, str, str]) -> GraphPattern:
    """A larger pattern: from a vertex by a property to a new variable, again and again."""
    for source, name, variable in more:
        arc = PatternArc(source, name, len(base.vertexes))
        base = GraphPattern((*base.vertexes, PatternVertex(variable)), (*base.arcs, arc), base.equal)
    return base


def test_optional_parts_are_bound_where_they_are_there() -> None:
    base = drawn.pattern("H-p->?1")
    query = GraphQuery(
        (
            replace(
                base,
                optional=(
                    optional(base, (1, "x", "?x")),
                    optional(base, (1, "q", "?2")),
                    optional(base, (0, "r", "?3")),
                ),
            ),
        ),
        ("?1", "?x", "?2", "?3"),
    )
    found = find(query, drawn.event("H-p->a", "H-p->b", "b-q->c", "H-r->d"), drawn.model())
    assert found is not None
    assert found.terms == {"?1": "_:b", "?2": "_:c", "?3": "_:d"}  # of two ways for ?1, the one that has more
    assert [vertex.name for vertex in found.pattern.vertexes] == ["_:H", "?1", "?2", "?3"]


def test_an_optional_part_of_an_optional_part() -> None:
    base = drawn.pattern("H-p->?1")
    outer = optional(base, (1, "q", "?2"))
    nested = replace(outer, optional=(optional(outer, (2, "r", "?3")),))
    query = GraphQuery((replace(base, optional=(optional(base, (0, "s", "?4")), nested)),), ("?3", "?4"))
    arcs = ("H-p->a", "a-q->b", "H-s->d")
    with_all, without = (find(query, drawn.event(*arcs, *more), drawn.model()) for more in (("b-r->c",), ()))
    assert with_all is not None
    assert with_all.terms == {"?3": "_:c", "?4": "_:d"}
    assert without is not None
    assert without.terms == {"?4": "_:d"}


def test_an_optional_part_that_takes_too_long_is_left_out() -> None:
    base = drawn.pattern("H-p->?0")
    larger = optional(base, *((0, "p", f"?{at}") for at in range(1, 41)))
    query = GraphQuery((replace(base, optional=(larger,)),), ("?0", "?1"))
    found = find(query, drawn.event(*(f"H-p->a{at}" for at in range(40)), "H-q->b", "b-p->c"), drawn.model(), 500)
    assert found is not None
    assert found.terms == {"?0": "_:a0"}


def test_a_star_of_forty_siblings_is_found_and_one_of_forty_one_is_not_searched_for_ever() -> None:
    found = find(star(40), STAR, drawn.model())
    assert found is not None
    assert len(set(found.terms.values())) == 40
    bigger = drawn.event(*(f"H-p->a{at}" for at in range(39)), "H-q->b", "b-p->c")
    with pytest.raises(Undecided):
        find(star(40), bigger, drawn.model(), budget=2_000)


def test_an_alternative_that_matches_counts_more_than_one_that_is_undecided() -> None:
    event = drawn.event(*(f"H-p->a{at}" for at in range(12)), "H-q->b", "b-p->c")
    alternatives = (*star(13).alternatives, drawn.pattern("H-q->?b"))
    found = find(GraphQuery(alternatives, ("?b",)), event, drawn.model(), budget=500)
    assert found is not None
    assert found.terms == {"?b": "_:b"}


def test_an_event_of_five_thousand_vertexes_and_a_chain_of_five_hundred() -> None:
    event = drawn.event("H-p->v0", *(f"v{at}-p->v{at + 1}" for at in range(4_998)))
    chain = drawn.pattern("H-p->?0", *(f"?{at}-p->?{at + 1}" for at in range(500)))
    found = find(GraphQuery((chain,), ("?500",)), event, drawn.model())
    assert found is not None
    assert found.terms == {"?500": "_:v500"}
