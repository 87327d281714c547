"""SPARQL 1.1 as a language of graph patterns."""

import pytest

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.graph_pattern import Any, Compared, GraphPattern, Like, Opposite, PatternArc, PatternVertex
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.markup.graphs.queries import query_of
from tocsin.markup.graphs.sparql import parse_sparql
from tocsin.model.filters import Graph

A, XSD = "urn:a#", "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"": A}
BELOW_400 = Compared("<", Value(Kind.NUMBER, 400.0))
S = (f"{A}S",)


def patterns(text: str) -> tuple[GraphPattern, ...]:
    return parse_sparql(text, PREFIXES).alternatives


def only(text: str) -> GraphPattern:
    (pattern,) = patterns(text)
    return pattern


def test_a_query_over_an_auction() -> None:
    query = parse_sparql(
        """PREFIX a: <urn:a#>
        SELECT DISTINCT ?price ?what WHERE {
          _:H a a:Selling ; a:target ?what ; a:price [ a:currency a:dollar ; a:value ?price ] .
          ?what a a:Computer, a:New .
          FILTER (?price < 4 * 100) }""",
        {},
    )
    assert query.variables == ("?price", "?what") and query.injective
    (pattern,) = query.alternatives
    assert pattern == GraphPattern(
        (
            PatternVertex("_:H", (f"{A}Selling",)),
            PatternVertex("?what", (f"{A}Computer", f"{A}New")),
            PatternVertex("_:[1]"),
            PatternVertex(f"<{A}dollar>", (), f"<{A}dollar>"),
            PatternVertex("?price", (), None, (BELOW_400,)),
        ),
        (
            PatternArc(0, f"{A}target", 1),
            PatternArc(2, f"{A}currency", 3),
            PatternArc(2, f"{A}value", 4),
            PatternArc(0, f"{A}price", 2),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "ASK { _:H :p ?x . ?x :q ?y }",
        "ask where { _:H :p ?x . ?x :q ?y . }",
        "ASK { _:H :p ?x . { ?x :q ?y } }",
        "ASK { { _:H :p ?x } . { { ?x :q ?y } } }",
        "BASE <urn:a> ASK { _:H <#p> $x . ?x <#q> ?y ; . } # that is all",
        "ASK { _:H :p ?x . ?x :q ?y , ?y }",
    ],
)
def test_one_pattern_is_written_in_many_ways(text: str) -> None:
    assert set(only(text).arcs) == {PatternArc(0, f"{A}p", 1), PatternArc(1, f"{A}q", 2)}
    assert [vertex.name for vertex in only(text).vertexes] == ["_:H", "?x", "?y"]


def test_blank_nodes_are_variables_that_nobody_is_told_of() -> None:
    query = parse_sparql("SELECT * { _:H :p [], _:b, ?x, [ :q ?y ] }", PREFIXES)
    assert query.variables == ("?x", "?y")
    assert [each.name for each in query.alternatives[0].vertexes] == ["_:H", "_:[1]", "_:b", "?x", "_:[2]", "?y"]


def test_a_class_alone_is_a_pattern() -> None:
    assert only("ASK { _:H a :S }") == GraphPattern((PatternVertex("_:H", S),), ())


def test_unions_are_alternatives_and_groups_distribute() -> None:
    found = patterns("ASK { { _:H a :A } UNION { _:H a :B } UNION { _:H a :C } { _:H :p ?x } UNION { _:H :q ?x } }")
    assert [(each.vertexes[0].classes[0][-1], each.arcs[0].property[-1]) for each in found] == [
        (left, right) for left in "ABC" for right in "pq"
    ]


def test_at_most_32_alternatives() -> None:
    half = "{ _:H :p ?x } UNION { _:H :q ?x } "
    assert len(patterns("ASK { _:H a :A . " + half.replace("?x", "?a") + half.replace("?x", "?b") + "}")) == 4
    with pytest.raises(ExpressionError, match="more than 32 alternatives"):
        parse_sparql("ASK {" + "".join(half.replace("?x", f"?x{each}") for each in range(40)) + "}", PREFIXES)
    with pytest.raises(ExpressionError, match="more than 32 alternatives"):
        parse_sparql("ASK {" + " UNION ".join("{ _:H a :A }" for _ in range(33)) + "}", PREFIXES)


def test_filters_ask_each_variable_for_itself() -> None:
    pattern = only("ASK { _:H :p ?x ; :q ?y FILTER(?x < 400 && regex(?y, 'a')) FILTER regex(?y, 'b', 'i') }")
    assert [vertex.tests for vertex in pattern.vertexes[1:]] == [(BELOW_400,), (Like("a"), Like("b", "i"))]


def test_a_filter_that_holds_by_one_or_the_other_variable_makes_alternatives() -> None:
    found = patterns("ASK { _:H :p ?x ; :q ?y . ?y a xsd:int FILTER(!(?x >= 400 && ?y >= 400)) }")
    denied = Opposite(Compared(">=", Value(Kind.NUMBER, 400.0)))
    assert [{vertex.name: vertex.tests for vertex in each.vertexes[1:]} for each in found] == [
        {"?x": (denied,), "?y": ()},
        {"?x": (), "?y": (denied,)},
    ]


def test_a_filter_is_for_all_alternatives_of_its_group() -> None:
    found = patterns("ASK { { _:H :p ?x } UNION { _:H :q ?x } FILTER(?x < 400) }")
    assert [each.vertexes[1].tests for each in found] == [(BELOW_400,), (BELOW_400,)]


def test_a_variable_at_several_arcs_is_a_thing_or_a_literal() -> None:
    shared, split = patterns("ASK { _:H :p ?x ; :q ?x }")
    assert [vertex.name for vertex in shared.vertexes] == ["_:H", "?x"] and not shared.equal
    assert [vertex.name for vertex in split.vertexes] == ["_:H", "?x", "?x"] and split.equal == ((1, 2),)
    assert only("ASK { _:H :p ?x ; :q ?x . ?x a :S }").equal == ()
    assert only("ASK { _:H :p ?x ; :q ?x FILTER(?x < 400) }").equal == ((1, 2),)


def test_optional_parts_are_larger_patterns() -> None:
    query = parse_sparql(
        "SELECT ?x ?y ?z { _:H :p ?x OPTIONAL { ?x :q ?y FILTER(?y < 400) } OPTIONAL { _:H :r ?z } }", PREFIXES
    )
    (pattern,) = query.alternatives
    first, second = pattern.optional
    assert query.variables == ("?x", "?y", "?z") and len(pattern.vertexes) == 2
    for larger in pattern.optional:
        assert larger.vertexes[:2] == pattern.vertexes and larger.arcs[:1] == pattern.arcs
    assert first.vertexes[2:] == (PatternVertex("?y", (), None, (BELOW_400,)),)
    assert first.arcs[1:] == (PatternArc(1, f"{A}q", 2),) and second.arcs[1:] == (PatternArc(0, f"{A}r", 2),)


def test_an_optional_part_of_a_literal_is_never_there() -> None:
    thing, literal = patterns("ASK { _:H :p ?x ; :q ?x OPTIONAL { ?x :r ?y } }")
    assert len(thing.optional) == 1 and literal.optional == () and literal.equal == ((1, 2),)


def test_a_literal_that_is_optional_once_more_is_equal() -> None:
    pattern = only("ASK { _:H :p ?x FILTER(?x < 400) OPTIONAL { _:H :q ?x } }")
    assert pattern.equal == () and pattern.optional[0].equal == ((1, 2),)


def test_plain_meaning_is_asked_for() -> None:
    text = "ASK { _:H :p ?x }"
    assert query_of(Graph("sparql", text, (("", A),))).injective
    assert not query_of(Graph("sparql", text, (("", A),), plain=True)).injective


def test_an_empty_list_is_never_passed() -> None:
    assert only("ASK { _:H :p ?x FILTER(?x IN ()) }").vertexes[1].tests == (Any(()),)


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", 0, "ASK or SELECT is expected"),
        ("DESCRIBE <urn:x>", 0, "DESCRIBE is not asked"),
        ("SELECT { _:H :p ?x }", 7, "a variable or *"),
        ("SELECT (1 AS ?x) { _:H :p ?x }", 7, "nothing can be computed"),
        ("SELECT ?y { _:H :p ?x }", 7, "?y is not in the pattern"),
        ("ASK FROM <urn:g> { _:H :p ?x }", 4, "FROM"),
        ("ASK { _:H :p ?x", 15, "'}' is expected"),
        ("ASK { _:H :p ?x } }", 18, "has ended"),
        ("ASK { _:H :p ?x } LIMIT 1", 18, "LIMIT cannot be compiled"),
        ("SELECT * { _:H :p ?x } ORDER BY ?x", 23, "ORDER cannot be compiled"),
        ("SELECT * { _:H :p ?x } GROUP BY ?x", 23, "GROUP cannot be compiled"),
        ("ASK { _:H :p ?x } VALUES ?x { 1 }", 18, "VALUES cannot be compiled"),
        ("ASK {}", 0, "write it as _:H"),
        ("ASK { ?h :p ?x }", 0, "write it as _:H"),
        ("ASK { _:H :p ?x . ?y :q ?x }", 18, "no arcs lead from _:H to ?y"),
        ("ASK { [] :p _:H . _:H a :S }", 6, "no arcs lead from _:H to _:[1]"),
        ("ASK { _:H a :S . ?y a xsd:int }", 17, "no arcs lead from _:H to ?y"),
        ("ASK { _:H ?p ?x }", 10, "must be named"),
        ("ASK { _:H a ?c }", 12, "a class must be named"),
        ("ASK { _:H a [] }", 12, "a class must be named"),
        ("ASK { _:H :p/:q ?x }", 12, "property paths (/)"),
        ("ASK { _:H :p|:q ?x }", 12, "property paths (|)"),
        ("ASK { _:H :p+ ?x }", 12, "property paths (+)"),
        ("ASK { _:H :p? ?x }", 12, "property paths (?)"),
        ("ASK { _:H ^:p ?x }", 10, "property paths (^)"),
        ("ASK { _:H (:p/:q) ?x }", 10, "property paths cannot"),
        ("ASK { _:H :p (1 2) }", 13, "lists cannot be compiled"),
        ("ASK { 5 :p _:H }", 6, "a literal has no properties"),
        ("ASK { _:H :p ?x ?x :q ?y }", 16, "'.' is expected"),
        ("ASK { GRAPH ?g { _:H :p ?x } }", 6, "GRAPH cannot be compiled"),
        ("ASK { SERVICE <urn:x> { _:H :p ?x } }", 6, "SERVICE cannot be compiled"),
        ("ASK { _:H :p ?x MINUS { _:H :q ?x } }", 16, "MINUS cannot be compiled"),
        ("ASK { _:H :p ?x BIND(1 AS ?y) }", 16, "BIND cannot be compiled"),
        ("ASK { _:H :p ?x . VALUES ?x { 1 } }", 18, "VALUES cannot be compiled"),
        ("ASK { { SELECT ?x { _:H :p ?x } } }", 8, "SELECT cannot be compiled"),
        ("ASK { _:H :p ?x FILTER NOT EXISTS { ?x :q ?y } }", 23, "NOT cannot be asked"),
        ("ASK { _:H :p ?x FILTER EXISTS { ?x :q ?y } }", 23, "EXISTS cannot be asked"),
        ("ASK { _:H :p ?x FILTER(bound(?x)) }", 23, "bound cannot be asked"),
        ("ASK { _:H :p ?x FILTER(isIRI(?x)) }", 23, "isIRI cannot be asked"),
        ("ASK { _:H :p ?x FILTER(<urn:f>(?x)) }", 23, "the function urn:f"),
        ("ASK { _:H :p ?x FILTER(count(?x) > 1) }", 23, "no aggregates"),
        ("ASK { _:H :p ?x FILTER ?x < 3 }", 23, "needs brackets"),
        ("ASK { _:H :p ?x ; :q ?y FILTER(?x < ?y) }", 31, "two variables"),
        ("ASK { _:H :p ?x FILTER(?x = :y) }", 28, "a filter asks literals"),
        ("ASK { _:H :p ?x . ?x :q ?y FILTER(?x < 3) }", 13, "?x has properties"),
        ("ASK { _:H :p ?x . ?x a :S FILTER(?x < 3) }", 13, "is no datatype"),
        ("ASK { _:H a xsd:int }", 6, "is a datatype"),
        ("ASK { _:H :p ?x FILTER(?y < 3) }", 23, "?y is not in every alternative"),
        ("ASK { _:H :p ?x { _:H :q ?y FILTER(?x < 3) } }", 35, "?x is not in every alternative"),
        ("ASK { { _:H :p ?x } UNION { _:H :q ?y } FILTER(?x < 3) }", 47, "?x is not in every alternative"),
        ("ASK { _:H :p ?x OPTIONAL { _:H :q ?y } FILTER(?y < 3) }", 46, "?y is optional"),
        ("ASK { _:H :p ?x OPTIONAL { _:H :q ?y } _:H :r ?z }", 39, "OPTIONAL comes last"),
        ("ASK { _:H :p ?x OPTIONAL { _:H :q ?y OPTIONAL { _:H :r ?z } } }", 37, "OPTIONAL within OPTIONAL"),
        ("ASK { _:H :p ?x OPTIONAL { { _:H :q ?y } UNION { _:H :r ?y } } }", 16, "alternatives within OPTIONAL"),
        ("ASK { _:H :p ?x OPTIONAL { ?x a :S } }", 27, "cannot ask more of ?x"),
        ("ASK { _:H :p ?x OPTIONAL { _:H :q ?y } OPTIONAL { _:H :r ?y } }", 57, "in two OPTIONAL parts"),
        ("ASK { _:H :p ?x OPTIONAL { _:H :q ?y ; :r ?y } }", 34, "whether ?y is a literal"),
        ("ASK { _:H :p ?x FILTER(?x < 3) OPTIONAL { ?x :q ?y } }", 42, "?x is a literal"),
        ("ASK { _:H :p ?x OPTIONAL { ?z :q ?y } }", 27, "no arcs lead from _:H to ?z"),
        ("ASK { { _:H :p ?x OPTIONAL { _:H :q ?y } } _:H :r ?y }", 36, "?y is optional here"),
        ("PREFIX x <urn:x> ASK { _:H :p ?x }", 7, "a prefix with its colon"),
        ("PREFIX x: x:y ASK { _:H :p ?x }", 10, "an IRI in <>"),
        ("ASK { _:H y:p ?x }", 10, "the prefix y: is not declared"),
        ('ASK { _:H :p "x"^^5 }', 18, "datatype's name"),
        ("ASK " + "{" * 66, 69, "nested deeper"),
        ("ASK { _:H " + ":p [ " * 65, 330, "nested deeper"),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_the_place(text: str, position: int, why: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_sparql(text, PREFIXES)
    assert (caught.value.position, why in caught.value.why) == (position, True), caught.value.why
