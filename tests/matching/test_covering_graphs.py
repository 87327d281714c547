"""A query that covers another matches wherever the other does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.graph_events import CHANGED, CHEAP, GRAPHS, SELLING, known, pattern, sparql
from tests.matching.graphs.oracle import matches_pattern
from tests.matching.graphs.strategies import event_graphs, models, patterns

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.matching.covering import covers, graphs_cover
from tocsin.model.filters import AllOf, Graph
from tocsin.semantics.concepts.concept_model import ConceptModel

KNOWN = known()


@given(st.data(), models(), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_whatever_covers_matches_too(data: st.DataObject, model: ConceptModel, injective: bool) -> None:
    events = [data.draw(event_graphs()) for _ in range(2)]
    one, other = (
        GraphQuery(tuple(data.draw(patterns(event, model, 4)) for event in events), injective=injective)
        for _ in range(2)
    )
    if graphs_cover(one, other, model):
        for event in events:
            found = [
                any(matches_pattern(each, event, model, injective) for each in q.alternatives) for q in (one, other)
            ]
            assert found[0] or not found[1]


@given(st.data(), models())
@settings(max_examples=examples(50), deadline=None)
def test_a_part_of_a_pattern_covers_it(data: st.DataObject, model: ConceptModel) -> None:
    """Leaves are taken away, classes and properties put higher."""
    narrow = data.draw(patterns(data.draw(event_graphs()), model))
    arcs = {arc.target: arc for arc in narrow.arcs if arc.source < arc.target}
    last = len(narrow.vertexes) - 1
    kept = last if last and all(last not in pair for pair in narrow.equal) else last + 1
    vertexes = tuple(PatternVertex(each.name, (), each.constant, each.tests[:1]) for each in narrow.vertexes[:kept])
    wide = GraphPattern(vertexes, tuple(_higher(arc, model) for at, arc in arcs.items() if at < kept))
    if len(wide.arcs) == kept - 1:
        assert graphs_cover(GraphQuery((wide,)), GraphQuery((narrow,)), model)


def _higher(arc: PatternArc, model: ConceptModel) -> PatternArc:
    return PatternArc(arc.source, min(model.properties_above(arc.property)), arc.target)


@pytest.mark.parametrize("asked", GRAPHS)
def test_each_covers_itself_however_it_is_written(asked: Graph) -> None:
    spaced = Graph(asked.language, asked.text.replace(" ", "  "), asked.prefixes, asked.plain)
    assert covers(asked, spaced, KNOWN) and covers(spaced, AllOf((asked, SELLING)), KNOWN)


def test_fewer_statements_and_higher_classes_cover() -> None:
    assert covers(SELLING, CHEAP, KNOWN) and not covers(CHEAP, SELLING, KNOWN)
    some = pattern("(_:H, ?1, (Deal, target, Product))")
    assert covers(some, CHEAP, KNOWN) and not covers(SELLING, some, KNOWN)


def test_covering_is_of_what_is_declared_now() -> None:
    wide, narrow = pattern("(_:H, ?1, (Deal, target, Computer))"), pattern("(_:H, ?1, (Deal, target, Notebook))")
    assert covers(wide, narrow, KNOWN) and not covers(wide, narrow, known(CHANGED))


def test_two_vertexes_are_not_one() -> None:
    one, two = GRAPHS[2], pattern("(_:H, ?1, (Deal, target, Product))")
    assert covers(two, one, KNOWN) and not covers(one, two, KNOWN)


def test_meanings_are_not_mixed() -> None:
    text = "ASK { _:H a :Selling ; :target ?t }"
    assert not covers(sparql(text), sparql(text, plain=True), KNOWN)


def test_tests_must_be_the_same() -> None:
    def below(most: int) -> Graph:
        return pattern(f"(_:H, ?1, (Deal, price, MoneyValue)) (?1, ?2, (MoneyValue, amount, xsd:decimal), ?2 < {most})")

    assert covers(below(400), below(400), KNOWN) and not covers(below(400), below(300), KNOWN)


def test_what_would_take_long_is_not_shown() -> None:
    star = tuple(PatternVertex(f"?{at}") for at in range(12))
    arcs = tuple(PatternArc(0, "urn:p0", at) for at in range(1, 12))
    more = GraphPattern((*star, PatternVertex("?x", ("urn:A",))), (*arcs, PatternArc(1, "urn:p0", 12)))
    wide = GraphPattern((*star, PatternVertex("?x", ("urn:B",))), (*arcs, PatternArc(11, "urn:p0", 12)))
    assert not graphs_cover(GraphQuery((wide,)), GraphQuery((more,)), ConceptModel())
