"""The index of graph patterns: what comes and goes, and what lies on disk, is found as one by one."""

from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.matching.graphs.oracle import matches_pattern
from tests.matching.graphs.strategies import random_case, random_event, random_query, randoms

from tocsin.markup.graphs.graph_pattern import (
    All,
    Compared,
    GraphPattern,
    GraphQuery,
    Like,
    Opposite,
    PatternArc,
    PatternVertex,
    Test,
)
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.matching.graphs.index import GraphHeader, GraphIndex
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

STRING = "http://www.w3.org/2001/XMLSchema#string"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
EMPTY = ConceptModel()


def expected(asked: dict[int, GraphQuery], event: EventGraph, model: ConceptModel) -> list[int]:
    return sorted(
        number
        for number, query in asked.items()
        if any(matches_pattern(each, event, model, query.injective) for each in query.alternatives)
    )


def found(index: GraphIndex, event: EventGraph, model: ConceptModel) -> list[int]:
    result = index.match(event, model)
    assert not len(result.undecided)
    return sorted(result.atoms.tolist())


@given(randoms())
@settings(max_examples=examples(60), deadline=None)
def test_subscriptions_come_and_go(random: Random) -> None:
    model, event, queries = random_case(random)
    index, asked = GraphIndex(), dict[int, GraphQuery]()
    for _ in range(4):
        for query in (*queries, random_query(random, event, model)):
            number = random.choice([each for each in range(40) if each not in asked])
            asked[number] = query
            index.add(number, query)
        for number in random.sample(sorted(asked), len(asked) // 3):
            index.remove(number, asked.pop(number))
        if random.random() < 0.5:
            index.pack()
        for each in (event, random_event(random)):
            assert found(index, each, model) == expected(asked, each, model)
    for number, query in asked.items():
        index.remove(number, query)
    assert len(index) == 0
    assert index.is_empty()


@given(randoms())
@settings(max_examples=examples(60), deadline=None)
def test_what_lies_on_disk_finds_the_same(random: Random) -> None:
    model, event, queries = random_case(random)
    index = GraphIndex()
    for number, query in enumerate(queries):
        index.add(number, query)
    header, arrays = index.arrays()
    written = msgspec.msgpack.encode(header)
    mapped = GraphIndex.from_arrays(msgspec.msgpack.decode(written, type=GraphHeader), arrays)
    for each in (event, random_event(random)):
        assert found(mapped, each, model) == found(index, each, model)


def test_the_same_patterns_give_the_same_bytes() -> None:
    model, _, queries = random_case(Random(7))
    del model
    made = []
    for _ in range(2):
        index = GraphIndex()
        for number, query in enumerate(queries):
            index.add(number, query)
        header, arrays = index.arrays()
        made.append((msgspec.msgpack.encode(header), {name: each.tobytes() for name, each in arrays.items()}))
    assert made[0] == made[1]


def test_events_of_more_than_a_word() -> None:
    random = Random(3)
    for _ in range(5):
        model, event, queries = random_case(random)
        large = random_event(random, things=100, literals=40, more_arcs=30)
        queries += [random_query(random, large, model) for _ in range(10)]
        index, asked = GraphIndex(), dict(enumerate(queries))
        for number, query in asked.items():
            index.add(number, query)
        assert found(index, large, model) == expected(asked, large, model)
        assert found(index, event, model) == expected(asked, event, model)


def told(text: str, datatype: str = STRING) -> EventGraph:
    literal = Vertex(f'"{text}"', (datatype,), text)
    return EventGraph((Vertex("_:H", ()), literal), (Arc(0, "urn:p", 1),))


def asking(test: Test) -> GraphQuery:
    vertexes = (PatternVertex("_:H"), PatternVertex("?1", tests=(test,)))
    return GraphQuery((GraphPattern(vertexes, (PatternArc(0, "urn:p", 1),)),))


def test_many_regular_expressions_are_asked_at_once() -> None:
    """Enough that they are put into sets, then some are taken away, and others come."""
    index = GraphIndex()
    for number in range(200):
        index.add(number, asking(Like(f"x{number}y")))
    assert found(index, told("x7y x77y x177y"), EMPTY) == [7, 77, 177]
    index.remove(77, asking(Like("x77y")))
    index.add(200, asking(Like("x7.y")))
    index.add(201, asking(Opposite(Like("x"))))
    assert found(index, told("x7y x77y"), EMPTY) == [7, 200]
    assert found(index, told("y"), EMPTY) == [201]
    assert found(index, told("7", INTEGER), EMPTY) == []  # neither it nor its opposite


def test_regular_expressions_come_and_go_in_thousands() -> None:
    """Over several sets, with some that are too large for any."""
    index, asked = GraphIndex(), {number: Like(f"x{number}-[0-9a-f]+y") for number in range(3_000)}
    asked |= {3_000 + number: Like(rf"{number}\pL{{3}}z") for number in range(3)}
    for number, like in asked.items():
        index.add(number, asking(like))
        if number % 500 == 0 and number < 3_000:
            assert found(index, told(f"x{number}-ay"), EMPTY) == [number]
    assert found(index, told("x2-ay x2999-ay 1aaaz"), EMPTY) == [2, 2999, 3001]
    for number in range(2, 3_000):
        index.remove(number, asking(asked[number]))
    assert found(index, told("x1-ay x2-ay 2aaaz"), EMPTY) == [1, 3002]


def test_tests_that_are_nested_deeply() -> None:
    test: Test = Compared(">", Value(Kind.NUMBER, 5.0))
    for _ in range(100):
        test = All((Compared("!=", Value(Kind.NUMBER, 7.0)), test))
    index = GraphIndex()
    index.add(0, asking(test))
    assert found(index, told("6", INTEGER), EMPTY) == [0]
    assert found(index, told("7", INTEGER), EMPTY) == []


@pytest.mark.parametrize("injective", [True, False])
def test_an_atom_with_alternatives_is_found_once(injective: bool) -> None:
    vertexes = (PatternVertex("_:H"), PatternVertex("?1"))
    alternatives = tuple(GraphPattern(vertexes, (PatternArc(0, name, 1),)) for name in ("urn:p", "urn:q"))
    index = GraphIndex()
    index.add(3, GraphQuery(alternatives, (), injective))
    event = EventGraph(
        (Vertex("_:H", ()), Vertex("_:a", ()), Vertex("_:b", ())), (Arc(0, "urn:p", 1), Arc(0, "urn:q", 2))
    )
    result = index.match(event, EMPTY)
    assert result.atoms.tolist() == [3]
    assert result.atoms.dtype == np.int32
