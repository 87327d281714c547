"""Both languages of graph patterns, on random patterns and on random text."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.markup.graph_texts import A, as_sparql, as_statements, patterns
from tests.pace import within

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs._names import LONGEST
from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.markup.graphs.queries import parse_pattern
from tocsin.markup.graphs.sparql import parse_sparql

PREFIXES = {"": A}
_WORDS = (
    "ASK SELECT * WHERE { } ( ) [ ] . , ; a _:H ?x ?y ?z $x _:b :p :q :C <urn:x> xsd:int daml:Thing 5 -1.5 1e9 'text'"
    " \"x\"@en '1'^^xsd:int FILTER OPTIONAL UNION GRAPH BIND MINUS VALUES PREFIX BASE x: regex( langMatches( lang( IN"
    " NOT && || ! = != < <= > >= + - * / ^ | true false bound A p _ # <"
)
WORDS = _WORDS.split()


def shape(pattern: GraphPattern) -> tuple[object, ...]:
    """Without the order of vertexes, classes, tests and arcs."""
    names = [vertex.name for vertex in pattern.vertexes]
    return (
        Counter(
            (each.name, frozenset(each.classes), each.constant, frozenset(each.tests)) for each in pattern.vertexes
        ),
        Counter((names[arc.source], arc.property, names[arc.target]) for arc in pattern.arcs),
        Counter((names[left], names[right]) for left, right in pattern.equal),
        pattern.vertexes[0].name,
    )


@settings(max_examples=examples(150))
@given(patterns())
def test_both_languages_say_the_same(pattern: GraphPattern) -> None:
    statements, sparql = parse_pattern(as_statements(pattern), PREFIXES), parse_sparql(as_sparql(pattern), PREFIXES)
    assert [shape(each) for each in statements.alternatives] == [shape(pattern)]
    assert [shape(each) for each in sparql.alternatives] == [shape(pattern)]
    told = {vertex.name for vertex in pattern.vertexes if vertex.name.startswith("?")}
    assert set(statements.variables) == set(sparql.variables) == told


def _is_read_or_refused(text: str) -> None:
    for parse in (parse_pattern, parse_sparql):
        try:
            query = parse(text, PREFIXES)
        except ExpressionError as problem:
            assert 0 <= problem.position <= len(text)
        else:
            assert all(each.vertexes[0].name == "_:H" for each in query.alternatives)


@settings(max_examples=examples(300))
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    _is_read_or_refused(text)


@settings(max_examples=examples(500))
@given(st.lists(st.sampled_from(WORDS), max_size=30), st.booleans())
def test_any_words_are_read_or_refused(words: list[str], begun: bool) -> None:
    text = " ".join(words)
    _is_read_or_refused(f"ASK {{ _:H a :C . {text} }}" if begun else text)


@settings(max_examples=examples(200))
@given(patterns(), st.data())
def test_what_is_changed_at_one_place_is_read_or_refused(pattern: GraphPattern, data: st.DataObject) -> None:
    for text in (as_statements(pattern), as_sparql(pattern)):
        at, end = sorted(data.draw(st.tuples(*(st.integers(0, len(text)),) * 2)))
        _is_read_or_refused(text[:at] + data.draw(st.sampled_from(("", *WORDS))) + text[min(end, at + 5) :])


@pytest.mark.parametrize(
    ("begin", "again", "end"),
    [
        ("", "a.", ""),
        ("", "a-", ""),
        ("", "a:b.", ""),
        ("", "_:", ""),
        ("", "(", ""),
        ("", " #", "\n%"),
        ("ASK { _:H :p '''", "''a\\'", "''"),
        ("ASK { ", "_:H :p ?x .", "}"),
        ("ASK { _:H :p ?x FILTER(", "?x < 1 ||", "?x < 2) }"),
        ("ASK { _:H :p ?x ; :q ?y FILTER(", "(?x < 1 || ?y < 2) &&", "?x < 2) }"),
        ("ASK { _:H :p ?x ; :q ?y FILTER(", "?x < 1 && ?y < 2 &&", "?x < 2) }"),
        ("ASK { _:H :p ?x FILTER(?x < 1", "000000000", ") }"),
        ("ASK { _:H :p ?x FILTER(?x < 9", " * 99999999999999999", ") }"),
        ("ASK { _:H :p ?x FILTER(?x IN (1", ",1", ")) }"),
        ("ASK { _:H :p ?x FILTER(?x < ", "- ", "1) }"),
        ("ASK { _:H :p ", "?x, ", "?x }"),
        ("ASK { _:H :p ", "[], ", "[] }"),
        ("ASK { ", "{ _:H :p ?x } UNION { _:H :q ?x } ", "}"),
        ("ASK { _:H :p ?x ", "OPTIONAL { _:H :q ?x } ", "}"),
        ("ASK { _:H :p ?x FILTER regex(?x, '", "(a*)*[", "') }"),
        ("ASK { _:H :p ?x ", "FILTER regex(?x, '\\\\PL|\\\\pN|\\\\PS') ", "}"),
        ("ASK { _:H :p ?x ", "FILTER regex(?x, '(x{10}){99}') ", "}"),
        ("ASK { " + "{ _:H :p ?x } UNION " * 31 + "{ _:H :p ?x } _:H :p ?a", " FILTER(?x = 1)", "}"),
        ("ASK { " + "{} UNION " * 31 + "{} _:H :p ?x", ", ?x", "}"),
        ("ASK { " + "{} UNION " * 31 + "{} _:H :p ?x ", "OPTIONAL { _:H :q [] } ", "}"),
        ("ASK { _:H :p ?x ; :q ?y FILTER(" + "!" * 60 + "(?x = 1", " || ?y = 1", ")) }"),
        ("ASK { _:H :p ?x ; :q ?y FILTER(" + "!(" * 30 + "?x = 1", " && ?y = 1", ")" * 30 + ") }"),
        ("ASK { _:H :p ?x FILTER(?x = 1", " + 1", ") }"),
        ("ASK { _:H :p ?x FILTER(?x = 1", f" / 0.{'7' * 90}", ") }"),
        ("ASK { _:H :p ?x ", "{} ", "}"),
    ],
)
def test_nothing_takes_long_to_read(begin: str, again: str, end: str) -> None:
    """Who subscribes is read while others wait."""
    text = begin + again * ((LONGEST - len(begin) - len(end)) // len(again)) + end
    with within(250):
        _is_read_or_refused(text)


def test_the_largest_pattern_can_be_said() -> None:
    arcs = "".join(f"(_:H, ?v{n}, (Selling, target{n}, *))(?v{n}, ?v{(n + 1) % 199}, (*, t{n}, C))" for n in range(199))
    (pattern,) = parse_pattern(arcs, PREFIXES).alternatives
    assert (len(pattern.vertexes), len(pattern.arcs)) == (200, 398)
    with pytest.raises(ExpressionError, match="asks for too much"):
        parse_pattern("(_:H,?x,(*,p,*))" * 1_000, PREFIXES)


def test_a_test_for_what_is_no_number_is_the_same_each_time() -> None:
    for filter_ in ("?x != 'NaN'^^xsd:double", "?x != 1e999 - 1e999"):
        one, other = (parse_sparql(f"ASK {{ _:H :p ?x FILTER({filter_}) }}", PREFIXES) for _ in range(2))
        assert one == other and hash(one) == hash(other)
