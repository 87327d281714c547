"""Statement patterns (OPS s4)."""

import pytest

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.graph_pattern import (
    All,
    Any,
    Compared,
    GraphPattern,
    Like,
    Opposite,
    PatternArc,
    PatternVertex,
    Spoken,
    Test,
)
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.markup.graphs.queries import parse_pattern, query_of
from tocsin.model.filters import Graph

A, U, XSD = "urn:auction#", "urn:units#", "http://www.w3.org/2001/XMLSchema#"
RDF_VALUE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#value"
THING = "http://www.w3.org/2002/07/owl#Thing"
PREFIXES = {"": A, "units": U}
COMPUTERS = """
    (_:H, ?1, (Selling, target, Computer))
    (_:H, ?2, (Selling, price, MoneyValue))
    (?2, units:dollar, (MoneyValue, currency, daml:Thing))
    (?2, ?3, (MoneyValue, rdf:value, xsd:decimal), ?3 < 400.00)
"""


def number(value: float) -> Value:
    return Value(Kind.NUMBER, value)


def below(value: float) -> Test:
    return Compared("<", number(value))


def only(text: str) -> GraphPattern:
    (pattern,) = parse_pattern(text, PREFIXES).alternatives
    return pattern


def asked_by(filter_text: str) -> tuple[Test, ...]:
    return only(f"(_:H, ?3, (Selling, value, xsd:decimal), {filter_text})").vertexes[1].tests


def test_the_papers_own_subscription() -> None:
    """OPS s4, Fig. 3."""
    query = parse_pattern(COMPUTERS, PREFIXES)
    assert query.variables == ("?1", "?2", "?3") and query.injective
    (pattern,) = query.alternatives
    assert pattern == GraphPattern(
        (
            PatternVertex("_:H", (f"{A}Selling",)),
            PatternVertex("?1", (f"{A}Computer",)),
            PatternVertex("?2", (f"{A}MoneyValue",)),
            PatternVertex(f"<{U}dollar>", (THING,), f"<{U}dollar>"),
            PatternVertex("?3", (f"{XSD}decimal",), None, (below(400),)),
        ),
        (
            PatternArc(0, f"{A}target", 1),
            PatternArc(0, f"{A}price", 2),
            PatternArc(2, f"{A}currency", 3),
            PatternArc(2, RDF_VALUE, 4),
        ),
    )


def test_a_vertex_has_all_classes_that_are_said_of_it() -> None:
    pattern = only("(_:H, ?1, (A, p, B)) (?1, ?2, (C, q, *)) (_:H, ?1, (D, p, B))")
    assert [vertex.classes for vertex in pattern.vertexes] == [(f"{A}A", f"{A}D"), (f"{A}B", f"{A}C"), ()]
    assert pattern.arcs == (PatternArc(0, f"{A}p", 1), PatternArc(1, f"{A}q", 2))


def test_a_literal_is_a_vertex_at_each_arc_and_its_values_are_equal() -> None:
    pattern = only("(_:H, ?x, (A, p, xsd:int), ?x > 1) (_:H, ?x, (A, q, xsd:decimal)) (_:H, ?x, (A, p, xsd:int))")
    assert pattern.vertexes[1] == pattern.vertexes[2]
    assert pattern.vertexes[1].classes == (f"{XSD}int", f"{XSD}decimal")
    assert pattern.arcs == (PatternArc(0, f"{A}p", 1), PatternArc(0, f"{A}q", 2)) and pattern.equal == ((1, 2),)


def test_a_variable_that_may_be_both_is_a_thing_or_a_literal() -> None:
    shared, split = parse_pattern("(_:H, ?x, (A, p, *)) (_:H, ?x, (A, q, _))", PREFIXES).alternatives
    assert len(shared.vertexes) == 2 and not shared.equal
    assert len(split.vertexes) == 3 and split.equal == ((1, 2),)


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("450", f'"450"^^<{XSD}integer>'),
        ("-4.50", f'"-4.50"^^<{XSD}decimal>'),
        ("+1e3", f'"+1e3"^^<{XSD}double>'),
        ("true", f'"true"^^<{XSD}boolean>'),
        ('"chat"@FR', '"chat"@fr'),
        ("'it\\'s \\u00e9'", '"it\'s é"'),
        ('"""a "b"\n"""', '"a \\"b\\"\\n"'),
        ('"1"^^xsd:int', f'"1"^^<{XSD}int>'),
        (f'"1"^^<{XSD}string>', '"1"'),
    ],
)
def test_literals_are_constants(written: str, term: str) -> None:
    pattern = only(f"(_:H, {written}, (Selling, p, rdfs:Literal)) (_:H, {written}, (Selling, q, rdfs:Literal))")
    assert [vertex.constant for vertex in pattern.vertexes] == [None, term, term] and not pattern.equal


@pytest.mark.parametrize("written", ["<urn:units#us-$>", "units:us-\\$", "<urn:units#u\\u0073-$>"])
def test_names_are_written_in_many_ways(written: str) -> None:
    assert only(f"(_:H, {written}, (Selling, currency, daml:Thing))").vertexes[1].constant == f"<{U}us-$>"


def test_a_text_may_have_prefixes_of_its_own() -> None:
    text = "PREFIX : <urn:own#> BASE <http://x/y> # told\n(_:H, <z>, (A, p, owl:Thing))"
    assert only(text).vertexes[0].classes == ("urn:own#A",) and only(text).vertexes[1].constant == "<http://x/z>"


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("400 >= ?3", (Compared("<=", number(400)),)),
        ("?3<4*100&&?3>(1+2)*-3.5", (below(400), Compared(">", number(-10.5)))),
        ("?3 < 1 || ?3 != 2e0/4", (Any((below(1), Compared("!=", number(0.5)))),)),
        ("!(?3 < 1 && ?3 = 2)", (Opposite(All((below(1), Compared("=", number(2))))),)),
        ("!!(?3 < 1)", (below(1),)),
        ("?3 IN (1, 1 + 1)", (Any((Compared("=", number(1)), Compared("=", number(2)))),)),
        ("?3 not in (1)", (Opposite(Any((Compared("=", number(1)),))),)),
        ("?3 IN ()", (Any(()),)),
        ('regex(?3, "^a b$", "xi")', (Like("^a b$", "ix"),)),
        ('REGEX(?3, "a", "")', (Like("a"),)),
        (r'regex(?3, "[a\\-[]-\\[", "")', (Like(r"[a\-[]-\["),)),
        ('regex(?3, "[a-[b]]", "q")', (Like("[a-[b]]", "q"),)),
        ('langMatches(LANG(?3), "EN-gb")', (Spoken("en-gb"),)),
        ("?3 = true", (Compared("=", Value(Kind.BOOLEAN, 1.0)),)),
        ('?3 = "chat"@fr', (Compared("=", Value(Kind.STRING, text="chat")),)),
        (
            '?3 >= "2024-02-29T12:00:00.5-01:00"^^xsd:dateTime',
            (Compared(">=", Value(Kind.TIME, 1709211600.5)),),
        ),
        ('?3 = "x"^^<urn:y>', (Compared("=", Value(Kind.OTHER, text='"x"^^<urn:y>')),)),
        ("?3 < 0.1 + 0.2", (below(0.3),)),
    ],
)
def test_filters(text: str, tests: tuple[Test, ...]) -> None:
    assert asked_by(text) == tests


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", 0, "'(' is expected"),
        ("(_:H, ?1, (A, p, B)", 19, "')' is expected"),
        ("(_:H ?1, (A, p, B))", 5, "',' is expected"),
        ("(?1, ?2, (A, p, B))", 0, "begins with _:H"),
        ("(_:b, ?2, (A, p, B))", 1, "_:H is home"),
        ("(_:H, ?1, (A, p, B)) (?2, ?3, (A, p, B))", 22, "no arcs lead from _:H to ?2"),
        ("(_:H, ?1, (A, *, B))", 14, "property's name"),
        ("(_:H, ?1, (A, rdf:type, B))", 14, "property's name"),
        ("(_:H, ?1, (A, x:p, B))", 14, "the prefix x: is not declared"),
        ("(_:H, ?1, (A, <p>, B))", 14, "relative"),
        ("(_:H, ?1, (A, <urn:%zz>, B))", 14, "is no IRI"),
        ("(1, ?1, (A, p, B))", 1, "a literal has no properties"),
        ("(_:H, 1, (A, p, B))", 6, "is no datatype"),
        ("(_:H, <urn:x>, (A, p, xsd:int))", 6, "is a datatype"),
        ("(_:H, ?1, (A, p, xsd:int)) (?1, ?2, (*, p, B))", 6, "has properties"),
        ("(_:H, ?1, (A, p, B), ?1 < 3)", 6, "is no datatype"),
        ("(_:H, ?1, (A, p, xsd:int), ?2 < 3)", 27, "about the object of its statement"),
        ("(_:H, 5, (A, p, xsd:int), ?1 < 3)", 26, "about the object of its statement"),
        ("(_:H, ?1, (A, p, xsd:int), ?1 < ?1)", 27, "two variables"),
        ("(_:H, ?1, (A, p, xsd:int), ?1 * 2 < 4)", 30, "only constants"),
        ("(_:H, ?1, (A, p, xsd:int), 1 < 2)", 27, "no variable"),
        ("(_:H, ?1, (A, p, xsd:int), ?1)", 27, "must be compared"),
        ("(_:H, ?1, (A, p, xsd:int), !?1 < 2)", 27, "must be compared"),
        ("(_:H, ?1, (A, p, xsd:int), (?1 < 2) = true)", 27, "neither compared"),
        ("(_:H, ?1, (A, p, xsd:int), true)", 27, "constant is no condition"),
        ("(_:H, ?1, (A, p, xsd:int), ?1 < 1/0)", 33, "divides by zero"),
        ("(_:H, ?1, (A, p, xsd:int), ?1 < 'a' + 1)", 36, "only numbers"),
        ("(_:H, ?1, (A, p, xsd:int), ?1 = units:dollar)", 32, "a filter asks literals"),
        ("(_:H, ?1, (A, p, xsd:int), bound(?1))", 27, "bound cannot be asked"),
        ("(_:H, ?1, (A, p, xsd:int), regex(str(?1), 'a'))", 33, "str cannot be asked"),
        ("(_:H, ?1, (A, p, xsd:string), regex(?1, '(a)\\\\1'))", 40, "back references"),
        ("(_:H, ?1, (A, p, xsd:string), regex(?1, 'a', 'k'))", 40, "no flag"),
        ("(_:H, ?1, (A, p, xsd:string), regex(?1, '[a][a-z-[b]]'))", 40, "RE2 cannot take"),
        (f"(_:H, ?1, (A, p, xsd:string), regex(?1, '{'a' * 1001}'))", 40, "longer than 1000"),
        ("(_:H, ?1, (A, p, xsd:string), regex(?1, '(.{30}){30}'))", 40, "repeat less"),
        ("(_:H, ?1, (A, p, xsd:string), regex(?1, '" + r"\\pL|" * 50 + "'))", 40, "more than 49 classes of Unicode"),
        (
            "(_:H, ?1, (A, p, xsd:string), regex(?1, 'a{900}|b{900}'), regex(?1, 'c{900}|d{900}|e{900}|f{900}'))",
            68,
            "too large together",
        ),
        ("(_:H, 'a, (A, p, B))", 6, "does not end"),
        ("(_:H, ?1, (A, p, B)) %", 21, "cannot stand here"),
        ("(_:H, '\\z', (A, p, xsd:string))", 6, "means no character"),
        ("(_:H, '\\uD800', (A, p, xsd:string))", 6, "no character D800"),
        ("(_:H, '\ud800', (A, p, xsd:string))", 7, "half of a character"),
        (f"(_:H, ?1, (A, p, xsd:int), {'(' * 65}?1 < 3{')' * 65})", 92, "nested deeper"),
        (" " * 16385, 16384, "longer than"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_place(text: str, position: int, why: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_pattern(text, PREFIXES)
    assert (caught.value.position, why in caught.value.why) == (position, True), caught.value.why


def test_without_a_default_namespace_bare_names_mean_nothing() -> None:
    with pytest.raises(ExpressionError, match="names without a prefix"):
        parse_pattern(COMPUTERS, {})


def test_a_pattern_has_a_size() -> None:
    most = " ".join(f"(_:H, ?{number}, (A, p, B))" for number in range(199))
    assert len(only(most).vertexes) == 200
    with pytest.raises(ExpressionError, match="at most 200 vertexes"):
        parse_pattern(f"{most} (_:H, ?200, (A, p, B))", PREFIXES)


def test_a_filter_is_read_once() -> None:
    graph = Graph("pattern", COMPUTERS, tuple(PREFIXES.items()))
    assert query_of(graph) is query_of(Graph("pattern", COMPUTERS, tuple(PREFIXES.items())))
    assert not query_of(Graph("pattern", COMPUTERS, tuple(PREFIXES.items()), plain=True)).injective
