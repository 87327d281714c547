"""The readings of Definition 1, one by one."""

import pytest
from msgspec.structs import replace
from tests.matching.graphs import drawn
from tests.matching.graphs.literals import XSD, literal
from tests.matching.graphs.oracle import matches_pattern

from tocsin.markup.graphs.graph_pattern import GraphPattern, PatternArc, PatternVertex
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

MODEL = drawn.model(
    (("Product", ()), ("Computer", ("Product",)), ("Gift", ()), ("Toy", ("Product", "Gift"))),
    (("phone", ("contact",)), ("contact", ())),
)


def matches(event: EventGraph, pattern: GraphPattern, injective: bool = True) -> bool:
    return matches_pattern(pattern, event, MODEL, injective)


def test_two_vertexes_of_a_pattern_never_stand_for_one_of_the_event() -> None:
    event = drawn.event("H-p->a")
    assert not matches(event, drawn.pattern("H-p->?1", "H-p->?2"))
    assert matches(event, drawn.pattern("H-p->?1", "H-p->?2"), injective=False)
    assert matches(drawn.event("H-p->a", "H-p->b"), drawn.pattern("H-p->?1", "H-p->?2"))


def test_home_is_home() -> None:
    assert not matches(drawn.event("H:A-p->b:B", "b-q->c"), drawn.pattern("H-q->?1"), injective=False)


def test_two_arcs_of_a_pattern_may_be_served_by_one_of_the_event() -> None:
    assert matches(drawn.event("H-phone->a"), drawn.pattern("H-phone->?1", "H-contact->?1"))
    assert not matches(drawn.event("H-contact->a"), drawn.pattern("H-phone->?1", "H-contact->?1"))


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ((), True),
        (("Product",), True),
        (("Product", "Gift"), True),
        (("Computer",), False),
        (("Gift", "Computer"), False),
    ],
)
def test_a_vertex_is_of_all_classes_that_are_asked_for(asked: tuple[str, ...], fits: bool) -> None:
    pattern = drawn.pattern("H-p->?1")
    wanted = replace(pattern, vertexes=(pattern.vertexes[0], PatternVertex("?1", asked)))
    assert matches(drawn.event("H-p->a:Toy"), wanted) is fits


def test_one_of_several_classes_that_are_stated_is_enough() -> None:
    event = EventGraph((Vertex("_:H", ("Computer", "Gift")),), ())
    assert matches(event, GraphPattern((PatternVertex("_:H", ("Product",)),), ()))
    assert not matches(event, GraphPattern((PatternVertex("_:H", ("Toy",)),), ()))


@pytest.mark.parametrize(
    ("left", "right", "by_value", "by_term"),
    [
        (literal("1", XSD + "integer"), literal("1.0", XSD + "decimal"), True, False),
        (literal("1", XSD + "integer"), literal("1", XSD + "integer"), True, True),
        (literal("1", XSD + "integer"), literal("1", XSD + "string"), False, False),
        (literal("NaN", XSD + "double"), literal("NaN", XSD + "double"), False, True),
    ],
)
def test_a_variable_for_two_literals(left: Vertex, right: Vertex, by_value: bool, by_term: bool) -> None:
    event = EventGraph((Vertex("_:H", ("Toy",)), left, right), (Arc(0, "p", 1), Arc(0, "q", 2)))
    vertexes = (PatternVertex("_:H"), PatternVertex("?1"), PatternVertex("?1"))
    pattern = GraphPattern(vertexes, (PatternArc(0, "p", 1), PatternArc(0, "q", 2)), ((1, 2),))
    assert matches(event, pattern) is by_value
    assert matches(event, pattern, injective=False) is by_term


def test_a_constant_is_that_term() -> None:
    event = EventGraph((Vertex("_:H", ("Toy",)), Vertex("<urn:dollar>", ("Toy",))), (Arc(0, "p", 1),))
    for term, there in (("<urn:dollar>", True), ("<urn:euro>", False)):
        pattern = GraphPattern((PatternVertex("_:H"), PatternVertex(term, (), term)), (PatternArc(0, "p", 1),))
        assert matches(event, pattern) is there
