import pytest
from msgspec.structs import replace
from tests.matching.graphs import drawn
from tests.matching.graphs.literals import XSD, literal

from tocsin.markup.graphs.graph_pattern import Compared, GraphPattern, GraphQuery
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.matching.graphs.partial_match import (
    FailedTest,
    NoArc,
    NoClass,
    OtherTerm,
    Reason,
    Unequal,
    Used,
    furthest_match,
)
from tocsin.semantics.events.event_graph import Arc, EventGraph

BELOW_400 = Compared("<", Value(Kind.NUMBER, 400.0))
THINGS = drawn.event("H:Selling-target->a:Desktop", "H-price->m:Money")
EVENT = EventGraph(
    (*THINGS.vertexes, literal("450", XSD + "decimal"), literal("1", XSD + "integer")),
    (*THINGS.arcs, Arc(2, "value", 3), Arc(2, "tax", 4)),
)
MODEL = drawn.model((("Desktop", ("Computer",)), ("Computer", ()), ("Selling", ()), ("Money", ())))
PRICED = drawn.pattern("H-price->?1:Money", "?1-value->?2")


def asking(pattern: GraphPattern, at: int, **what: object) -> GraphPattern:
    changed = replace(pattern.vertexes[at], **what)
    return replace(pattern, vertexes=(*pattern.vertexes[:at], changed, *pattern.vertexes[at + 1 :]))


@pytest.mark.parametrize(
    ("pattern", "mapped", "failed", "reason"),
    [
        (drawn.pattern("H:Buying-target->?1"), {}, "_:H", NoClass("_:H", "Buying", ("Selling",))),
        (drawn.pattern("H-seller->?1"), {"_:H": 0}, "?1", NoArc("_:H", "seller")),
        (drawn.pattern("H-target->?1:Money"), {"_:H": 0}, "?1", NoClass("_:a", "Money", ("Desktop",))),
        (
            asking(PRICED, 2, tests=(BELOW_400,)),
            {"_:H": 0, "?1": 2},
            "?2",
            FailedTest(EVENT.vertexes[3].term, BELOW_400),
        ),
        (asking(PRICED, 1, constant="<urn:m>"), {"_:H": 0}, "?1", OtherTerm("_:m", "<urn:m>")),
        (drawn.pattern("H-price->?1", "H-price->?2"), {"_:H": 0, "?1": 2}, "?2", Used("_:m", "?1")),
        (
            drawn.pattern("H-target->?1:Computer", "H-price->?2", "?1-costs->?2"),
            {"_:H": 0, "?1": 1},
            "?2",
            NoArc("?1", "costs", "?2"),
        ),
        (
            replace(drawn.pattern("H-price->?1", "?1-value->?2", "?1-tax->?3"), equal=((2, 3),)),
            {"_:H": 0, "?1": 2, "?2": 3},
            "?3",
            Unequal(EVENT.vertexes[4].term, "?2"),
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Reason) else None,
)
def test_what_failed_and_why(pattern: GraphPattern, mapped: dict[str, int], failed: str, reason: Reason) -> None:
    found = furthest_match(GraphQuery((pattern,)), EVENT, MODEL)
    assert {pattern.vertexes[asked].name: at for asked, at in found.mapping.items()} == mapped
    assert found.failed is not None
    assert pattern.vertexes[found.failed].name == failed
    assert found.reasons == (reason,)
    assert found.complete


def test_of_several_ways_the_one_that_gets_furthest_is_told() -> None:
    event = drawn.event("H-p->a", "H-p->b", "b-q->c", "H-p->d")
    found = furthest_match(GraphQuery((drawn.pattern("H-p->?1", "?1-q->?2", "?2-r->?3"),)), event, drawn.model())
    assert found.mapping == {0: 0, 1: 2, 2: 3}
    assert found.reasons == (NoArc("?2", "r"),)


def test_of_several_alternatives_the_one_that_gets_furthest_is_told() -> None:
    far, near = drawn.pattern("H-price->?1", "?1-worth->?2"), drawn.pattern("H-cost->?1", "?1-worth->?2")
    assert furthest_match(GraphQuery((near, far)), EVENT, MODEL).pattern == far
    assert furthest_match(GraphQuery((near, PRICED)), EVENT, MODEL).failed is None


def test_there_is_a_reason_for_each_vertex_that_was_looked_at() -> None:
    event = drawn.event("H-p->a:A", "H-p->b:B")
    found = furthest_match(GraphQuery((drawn.pattern("H-p->?1:C"),)), event, drawn.model())
    assert found.reasons == (NoClass("_:a", "C", ("A",)), NoClass("_:b", "C", ("B",)))


def test_a_star_is_not_looked_through_for_ever() -> None:
    event = drawn.event(*(f"H-p->a{at}" for at in range(40)))
    found = furthest_match(
        GraphQuery((drawn.pattern(*(f"H-p->?{at}" for at in range(41))),)), event, drawn.model(), 5_000
    )
    assert len(found.mapping) == 41
    assert not found.complete
    assert found.reasons[0] == Used("_:a0", "?0")
