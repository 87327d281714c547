"""Patterns and events that a search could take for ever with: an answer in bounded time, or word that there is none."""

from itertools import permutations

import pytest

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.matching.graphs.index import MOST_STEPS, GraphIndex, Workspace
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

EMPTY = ConceptModel()
Ends = list[tuple[int, int]]


def event(count: int, ends: Ends, classes: dict[int, str] | None = None) -> EventGraph:
    named = classes or {}
    vertexes = [Vertex(f"_:b{at}" if at else "_:H", (named.get(at, "urn:C"),)) for at in range(count)]
    return EventGraph(tuple(vertexes), tuple(Arc(source, "urn:p", target) for source, target in ends))


def pattern(count: int, ends: Ends, classes: dict[int, str] | None = None, injective: bool = True) -> GraphQuery:
    named = classes or {}
    vertexes = [PatternVertex(f"?{at}" if at else "_:H", (named.get(at, "urn:C"),)) for at in range(count)]
    return GraphQuery(
        (GraphPattern(tuple(vertexes), tuple(PatternArc(source, "urn:p", target) for source, target in ends)),),
        injective=injective,
    )


def star(count: int) -> Ends:
    return [(0, at) for at in range(1, count)]


def clique(count: int) -> Ends:
    return list(permutations(range(count), 2))


def chain(count: int) -> Ends:
    return [(at, at + 1) for at in range(count - 1)]


def match(query: GraphQuery, told: EventGraph) -> tuple[list[int], list[int], int]:
    index = GraphIndex()
    index.add(0, query)
    found = index.match(told, EMPTY)
    return found.atoms.tolist(), found.undecided.tolist(), found.steps


@pytest.mark.parametrize("siblings", [40, 100])
def test_a_star_needs_no_choice(siblings: int) -> None:
    """As many leaves as there are siblings, then one more than there are."""
    told = event(siblings + 1, star(siblings + 1))
    assert match(pattern(siblings + 1, star(siblings + 1)), told)[:2] == ([0], [])
    atoms, undecided, steps = match(pattern(siblings + 2, star(siblings + 2)), told)
    assert (atoms, undecided) == ([], [])
    assert steps < 1000


def test_leaves_move_over_for_others() -> None:
    """Each leaf may be one class less than the one before; only one way gives all a place."""
    count = 12
    classes = {at: f"urn:C{at}" for at in range(1, count + 1)}
    told = EventGraph(
        (
            Vertex("_:H", ("urn:C",)),
            *(Vertex(f"_:b{at}", tuple(f"urn:C{n}" for n in range(1, at + 1))) for at in classes),
        ),
        tuple(Arc(0, "urn:p", at) for at in classes),
    )
    assert match(pattern(count + 1, star(count + 1), classes), told)[:2] == ([0], [])
    classes[1] = f"urn:C{count}"
    assert match(pattern(count + 1, star(count + 1), classes), told)[:2] == ([], [])


def test_a_clique_is_found_in_a_larger_one() -> None:
    assert match(pattern(8, clique(8)), event(60, clique(60)))[:2] == ([0], [])


def test_a_clique_that_is_not_there_is_given_up() -> None:
    """Nine in a graph of eight groups, where only those of different groups are joined."""
    joined = [(one, other) for one, other in clique(56) if one % 8 != other % 8]
    atoms, undecided, steps = match(pattern(9, clique(9)), event(56, joined))
    assert (atoms, undecided) == ([], [0])
    assert steps <= MOST_STEPS


def test_who_shares_the_beginning_with_one_that_is_given_up_is_decided() -> None:
    joined = [(one, other) for one, other in clique(56) if one % 8 != other % 8]
    index = GraphIndex()
    index.add(0, pattern(9, clique(9)))
    index.add(1, pattern(3, clique(3)))
    index.add(2, pattern(2, star(2), {1: "urn:other"}))
    found = index.match(event(56, joined), EMPTY)
    assert (found.atoms.tolist(), found.undecided.tolist()) == ([1], [0])
    found = index.match(event(3, clique(3)), EMPTY)
    assert (found.atoms.tolist(), found.undecided.tolist()) == ([1], [])


@pytest.mark.parametrize("length", [50, 200])
def test_a_long_chain(length: int) -> None:
    assert match(pattern(length, chain(length)), event(length, chain(length)))[:2] == ([0], [])
    assert match(pattern(length, chain(length)), event(length - 1, chain(length - 1)))[:2] == ([], [])


def test_an_event_of_five_thousand_vertexes() -> None:
    count = 5_000
    ends = [((at - 1) // 2, at) for at in range(1, count)]
    told = event(count, ends, {count - 1: "urn:last"})
    depth = [count - 1]
    while depth[-1]:
        depth.append((depth[-1] - 1) // 2)
    length = len(depth)
    assert match(pattern(length, chain(length), {length - 1: "urn:last"}), told)[:2] == ([0], [])
    assert match(pattern(length + 1, chain(length + 1), {length: "urn:last"}), told)[:2] == ([], [])


def test_when_the_budget_is_spent_all_that_is_left_is_undecided() -> None:
    index = GraphIndex(Workspace(most_steps=30))
    for number in range(20):
        index.add(number, pattern(2, star(2), {1: f"urn:C{number}"}))
    index.add(20, pattern(2, star(2), {1: "urn:C5"}, injective=False))
    told = event(21, star(21), {at + 1: f"urn:C{at}" for at in range(20)})
    found = index.match(told, EMPTY)
    assert sorted(found.atoms.tolist() + found.undecided.tolist()) == list(range(21))
    index = GraphIndex(Workspace(most_steps=8))
    for number in range(20):
        index.add(number, pattern(2, star(2), {1: f"urn:C{number}"}))
    index.add(20, pattern(2, star(2), {1: "urn:C5"}, injective=False))
    found = index.match(told, EMPTY)
    assert 20 in found.undecided.tolist()
    assert sorted(found.atoms.tolist() + found.undecided.tolist()) == list(range(21))
