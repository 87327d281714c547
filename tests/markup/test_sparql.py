import pytest
from tests.pace import within

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs import sparql


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?s ?p ?o }",
        "ASK {} LIMIT 1",
        'PREFIX a: <urn:a#>\nASK WHERE { ?s a:b "{" FILTER(?s > 1) }\n',
        "# SERVICE\nBASE <http://x/> PREFIX : <y#> ASK { ?a :x 'SERVICE' } # }",
        """PREFIX a: <urn:a:>\nASK { ?s a:b\\#c\\'d '\\'(', "\\"SERVICE" FILTER(?s < 3 && 4>?s) }""",
        'ASK { ?s <urn:p_(q)> \'\'\'it\'s "SERVICE"\n\'\'\'@en, """\\""" SERVICE \\\\""" }',
        "ASK { ?s ?p " + "(" * 63 + "1" + ")" * 63 + " }",
    ],
)
def test_an_ask_query_is_taken(text: str) -> None:
    sparql.check(text)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("SELECT * {}", 0),
        ("PREFIX a: <urn:a> DROP ALL", 18),
        ("ASK { ?s ?p", 11),
        ("ASK { { SELECT * {}", 19),
        ("ASK {} LIMIT", 12),
        ("ASK {} HAVING (1", 16),
        ("ASK { ?s x:y ?o }", 14),
        ("ASK { SERVICE <http://x> {} }", 6),
        ("ASK {} ASK {}", 13),
        ('ASK { ?s ?p """\\""" """ SERVICE <http://x> { ?s ?p """a""" } }', 24),
        ("ASK { ?s ?p '''\\''' ''' . SERVICE ?o { ?s ?p \"\"\"a\"\"\" } }", 26),
        ("ASK { ?s ?p " + "(" * 64 + "1" + ")" * 64 + " }", 75),
        ("ASK {}" + " " * sparql.LONGEST, sparql.LONGEST),
    ],
)
def test_what_is_none_is_refused_with_the_place(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        sparql.check(text)
    assert caught.value.position == position


def test_a_query_is_read_and_not_run() -> None:
    """Were it run, it would go through ten thousand million rows."""
    values = "".join(f" VALUES ?v{at} {{ {'1 ' * 100}}}" for at in range(5))
    sparql.check(f"ASK {{{values} FILTER(?v0 > 2) }}")


@pytest.mark.parametrize(
    "text",
    [
        'ASK { FILTER(1<2#>"""\n) SERVICE <urn:x> {} #""")\n}',
        "ASK { FILTER(1<" + "(" * 70 + "1" + ")" * 70 + "&&3>2) }",
    ],
)
def test_nothing_hides_behind_what_might_be_an_address(text: str) -> None:
    """The parser takes `<` for less there, and what follows is no part of an address."""
    with pytest.raises(ExpressionError):
        sparql.check(text)


def test_many_brackets_are_refused_before_they_take_time() -> None:
    with within(500):
        for _ in range(10):
            with pytest.raises(ExpressionError, match="nested more than 64"):
                sparql.check("ASK { ?s ?p " + "(" * 2035 + "1" + ")" * 2035 + " }")
