"""One pattern after the other: as the search finds them, and with a bound on what they take."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.graph_events import CHEAP, SELLING, known, turtle
from tests.matching.graphs.strategies import event_graphs, models, patterns
from tests.matching.test_explain_graphs import told

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.matching.evidence import ARC, Evidence
from tocsin.matching.graphs.search import WORK, VertexSets, find, has_pattern
from tocsin.matching.judge import Undecided
from tocsin.model.filters import Content
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

EVENT = told(turtle("Selling", [("target", "Desktop")], "399.5"))


@given(st.data(), models(), st.booleans())
@settings(max_examples=examples(50), deadline=None)
def test_it_is_what_the_search_finds(data: st.DataObject, model: ConceptModel, injective: bool) -> None:
    event = data.draw(event_graphs())
    query = GraphQuery(tuple(data.draw(st.lists(patterns(event, model), min_size=1, max_size=2))), injective=injective)
    spent = list[int]()
    found = has_pattern(VertexSets(event, model), query, spent.append)
    assert found == (find(query, event, model) is not None)
    assert 0 < len(spent) <= len(query.alternatives)


def crowd(size: int, chance: Random) -> EventGraph:
    """Many arcs that all look alike."""
    vertexes = (Vertex("_:H", ("urn:A",)), *(Vertex(f"_:b{at}", ("urn:A",)) for at in range(1, size)))
    pairs = (pair for pair in permutations(range(size), 2) if not pair[0] or chance.random() < 0.8)
    return EventGraph(vertexes, tuple(Arc(source, "urn:p", target) for source, target in pairs))


def clique(size: int) -> GraphPattern:
    vertexes = (PatternVertex("_:H"), *(PatternVertex(f"?{at}") for at in range(1, size)))
    return GraphPattern(vertexes, tuple(PatternArc(*pair) for pair in _ordered(size)))


def _ordered(size: int) -> list[tuple[int, str, int]]:
    return [(one, "urn:p", other) for other in range(size) for one in range(other)]


@pytest.mark.parametrize("alternatives", [1, 8])
def test_what_takes_long_is_given_up_after_so_much_work(alternatives: int) -> None:
    event, spent = crowd(40, Random(1)), list[int]()
    query = GraphQuery(tuple(clique(24 + more) for more in range(alternatives)))
    with pytest.raises(Undecided, match="too many steps"):
        has_pattern(VertexSets(event, ConceptModel()), query, spent.append)
    assert WORK / 2 < sum(spent) < 2 * WORK


class Clock:
    """Time for so many bytes."""

    def __init__(self, room: int) -> None:
        self.room, self.asked = room, 0

    def begin(self) -> None:
        raise AssertionError

    def judge(self, asked: Content, document: bytes) -> bool:
        raise AssertionError((asked, document))

    def written(self, size: int) -> None:
        self.asked += not size
        if self.room <= 0:
            raise Undecided("no time")
        self.room -= size


def test_who_waits_does_not_wait_for_ever_more() -> None:
    evidence = Evidence(EVENT, known(), Clock(ARC))
    assert evidence.has(SELLING)
    with pytest.raises(Undecided, match="no time"):
        evidence.has(CHEAP)


def test_the_same_is_looked_for_once() -> None:
    clock = Clock(1 << 30)
    evidence = Evidence(EVENT, known(), clock)
    assert all(evidence.has(SELLING) for _ in range(3)) and clock.asked == 1


def test_what_has_no_graph_costs_nothing() -> None:
    assert not Evidence(told(b"x", "text/plain"), known(), Clock(0)).has(SELLING)
