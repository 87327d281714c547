"""Event graphs and graph patterns by a seed."""

from collections.abc import Sequence

import pytest

from tocsin.lab.benches._growth import HIERARCHIES, PAPER, WORKLOADS, filled
from tocsin.lab.workloads.graphs import (
    INTEGER,
    STRING,
    GraphWorkload,
    HierarchicalWorkload,
    Hierarchies,
    Shape,
    Vocabulary,
)
from tocsin.markup.graphs.graph_pattern import Compared, Like, PatternArc
from tocsin.matching.graphs.search import find
from tocsin.semantics.concepts.pattern_checks import check_query
from tocsin.semantics.events.event_graph import Arc, check_event


def reached(arcs: Sequence[Arc] | Sequence[PatternArc]) -> set[int]:
    found, before = {0}, set[int]()
    while found != before:
        before = set(found)
        found |= {each.target for each in arcs if each.source in found}
    return found


@pytest.mark.parametrize("name", [PAPER, HIERARCHIES])
def test_a_seed_draws_the_same_again(name: str) -> None:
    one, other, third = WORKLOADS[name](7), WORKLOADS[name](7), WORKLOADS[name](8)
    queries = list(one.queries(20))
    assert queries == list(other.queries(20)) != list(third.queries(20))
    assert list(one.events(5)) == list(other.events(5))


@pytest.mark.parametrize("name", [PAPER, HIERARCHIES])
def test_events_and_patterns_are_as_large_as_in_the_paper_and_hang_together(name: str) -> None:
    drawn = WORKLOADS[name](3)
    for event in drawn.events(10):
        assert (len(event.vertexes), len(event.arcs)) == (50, 55)
        assert reached(event.arcs) == set(range(50))
        assert len({(each.source, each.target) for each in event.arcs}) == 55
        check_event(event, drawn.model, unknown_properties=name == PAPER)
    for query in drawn.queries(50):
        (pattern,) = query.alternatives
        assert (len(pattern.vertexes), len(pattern.arcs)) == (10, 11)
        assert reached(pattern.arcs) == set(range(10))


@pytest.mark.parametrize(("classes", "least", "most"), [(2, 12, 24), (5, 4, 9), (10, 2, 4), (20, 1, 2)])
def test_about_as_many_match_as_the_paper_reports(classes: int, least: float, most: float) -> None:
    drawn = GraphWorkload(Vocabulary(classes=classes), 1)
    index, _ = filled(drawn.queries(400))
    events = list(drawn.events(200))
    matches = sum(len(index.match(each, drawn.model).atoms) for each in events)
    assert least < 100 * matches / 400 / len(events) < most


def test_without_vertexes_that_moved_a_type_of_events_has_all_its_parts() -> None:
    drawn = GraphWorkload(Vocabulary(classes=1), 1, Shape(types=1, regrown=0))
    (event,) = drawn.events(1)
    assert all(find(query, event, drawn.model) for query in drawn.queries(50))


def test_a_large_event_has_what_smaller_ones_have() -> None:
    drawn = GraphWorkload(Vocabulary(classes=1), 1, Shape(types=1, regrown=0))
    event = drawn.large_event(300)
    assert len(event.vertexes) == 300 and reached(event.arcs) == set(range(300))
    assert all(find(query, event, drawn.model) for query in drawn.queries(10))


def test_subscriptions_ask_for_more_than_events_state_and_the_model_knows_all_of_it() -> None:
    drawn = HierarchicalWorkload(Hierarchies(), 2)
    assert len([each for each in drawn.model.classes if each.startswith("urn:example:")]) == 200
    assert len([each for each in drawn.model.properties if each.startswith("urn:example:")]) == 100
    stated = {name for event in drawn.events(20) for vertex in event.vertexes for name in vertex.classes}
    assert {INTEGER, STRING} < stated
    assert all(drawn.model.classes_below(each) == {each} for each in stated - {INTEGER, STRING})
    asked = list(drawn.queries(200))
    for query in asked:
        check_query(query, drawn.model)
    vertexes = [vertex for query in asked for vertex in query.alternatives[0].vertexes]
    assert any(len(drawn.model.classes_below(name)) > 1 for vertex in vertexes for name in vertex.classes)
    tests = [test for vertex in vertexes for test in vertex.tests]
    assert {test.how for test in tests if isinstance(test, Compared)} == {"<", ">", "="}
    assert any(isinstance(test, Like) for test in tests)


def test_the_index_finds_in_hierarchies_what_a_search_one_by_one_finds() -> None:
    drawn = HierarchicalWorkload(Hierarchies(classes=12, properties=24, literal_properties=8), 5)
    queries, events = list(drawn.queries(150)), list(drawn.events(12))
    index, _ = filled(iter(queries))
    there = 0
    for event in events:
        found = [atom for atom, query in enumerate(queries) if find(query, event, drawn.model)]
        assert sorted(index.match(event, drawn.model).atoms.tolist()) == found
        there += len(found)
    assert there
