import pytest

from tocsin.markup import sparql
from tocsin.markup.conditions import ExpressionError


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?s ?p ?o }",
        "ASK {} LIMIT 1",
        'PREFIX a: <urn:a#>\nASK WHERE { ?s a:b "{" FILTER(?s > 1) }\n',
        "# SERVICE\nBASE <http://x/> PREFIX : <y#> ASK { ?a :x 'SERVICE' } # }",
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
