import pytest

from tocsin.markup.graphs.graph_pattern import All, Any, Compared, Like, Opposite, Spoken, Test
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.matching.explain.wording import filter_text, value_text, vertex_text
from tocsin.matching.explain.wording import test_text as words_of
from tocsin.model.filters import Graph
from tocsin.semantics.events.event_graph import Vertex

CHEAP = Compared("<", Value(Kind.NUMBER, 400.0))


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (CHEAP, "< 400"),
        (Like("^a", "i"), "like /^a/i"),
        (Spoken("en"), "in the language en"),
        (Any((All((CHEAP, CHEAP)), Opposite(Spoken("en")))), "(< 400 and < 400) or not (in the language en)"),
    ],
)
def test_tests_in_words(test: Test, words: str) -> None:
    assert words_of(test) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Value(Kind.NUMBER, 0.5), "0.5"),
        (Value(Kind.BOOLEAN, 1.0), "true"),
        (Value(Kind.STRING, text="a"), "'a'"),
        (Value(Kind.TIME, 1704067200.0), "2024-01-01T00:00:00Z"),
        (Value(Kind.TIME, 1e15), "1000000000000000 s"),
        (Value(Kind.OTHER, text='"x"^^<urn:d>'), '"x"^^<urn:d>'),
    ],
)
def test_values_in_words(value: Value, words: str) -> None:
    assert value_text(value) == words


def test_vertexes_in_words() -> None:
    def short(iri: str) -> str:
        return iri.removeprefix("urn:")

    assert vertex_text(Vertex("_:b", ("urn:A", "urn:B")), short) == "_:b (A and B)"
    assert vertex_text(Vertex("<urn:x>", ("urn:A",)), short) == "x"
    assert vertex_text(Vertex('"1"', ("urn:s",), "1"), short) == "'1'"


def test_filters_in_words_are_one_line() -> None:
    assert filter_text(Graph("pattern", "(_:H,\n  ?1, (A, b, C))")) == "graph pattern (_:H, ?1, (A, b, C))"
    assert filter_text(Graph("sparql", "ASK { _:H a :A }")) == "graph in SPARQL ASK { _:H a :A }"
