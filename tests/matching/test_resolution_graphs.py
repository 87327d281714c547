"""Graph patterns as they are subscribed: what they name is known, and keeps its meaning."""

import pytest
from tests.matching.graph_events import CHANGED, XSD, A, known

from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.resolution import resolve
from tocsin.matching.rights import may_subscribe
from tocsin.model.access import Principal, Right
from tocsin.model.filters import AllOf, AnyOf, Graph, Not
from tocsin.model.refusal import Refusal
from tocsin.model.topics import parse_topic_expression

KNOWN = known()
BARE = Graph("pattern", "(_:H, ?1, (Selling, target, Computer))")
SPARQL = Graph("sparql", "ASK { _:H a :Selling ; :price ?p . ?p :amount ?a FILTER(?a < 400) }")


def resolved(asked: Graph, what: Catalogue = KNOWN) -> Graph:
    (found,) = resolve((asked,), what)
    assert isinstance(found, Graph)
    return found


@pytest.mark.parametrize("asked", [BARE, SPARQL])
def test_prefixes_of_ontologies_are_kept_with_it(asked: Graph) -> None:
    found = resolved(asked)
    assert dict(found.prefixes)[""] == A and found.text == asked.text
    assert query_of(found).alternatives[0].vertexes[0].classes == (f"{A}Selling",)
    assert resolved(found) == found


def test_only_prefixes_that_it_needs_are_kept() -> None:
    assert dict(resolved(BARE).prefixes) == {"": A}
    named = Graph(
        "pattern", "(_:H, ?1, (a:Deal, a:price, a:MoneyValue)) (?1, ?2, (a:MoneyValue, a:amount, xsd:decimal))"
    )
    found = resolved(Graph("pattern", named.text, (("a", A), ("unused", "urn:u"))))
    assert dict(found.prefixes) == {"a": A, "xsd": XSD}


def test_its_own_prefixes_come_first() -> None:
    with pytest.raises(Refusal) as refused:
        resolved(Graph("pattern", BARE.text, (("", "urn:other#"),)))
    assert refused.value.reason == "bad-filter" and "urn:other#" in refused.value.text


def test_it_is_found_wherever_it_stands() -> None:
    found = resolved(BARE)
    assert resolve((AllOf((BARE, AnyOf((Not(BARE),)))),), KNOWN) == (AllOf((found, AnyOf((Not(found),)))),)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Graph("pattern", "(_:H, ?1, (Selling, target"), "this is no graph pattern: "),
        (Graph("sparql", "ASK {"), "this is no SPARQL graph pattern: "),
        (Graph("pattern", "(_:H, ?1, (Sailing, target, Computer))"), "Sailing"),
        (Graph("pattern", "(_:H, ?1, (Selling, amount, xsd:decimal))"), "amount"),
        (Graph("pattern", "(_:H, ?1, (no:Selling, target, Computer))"), "the prefix no: is not declared"),
    ],
)
def test_what_could_never_match_is_refused(asked: Graph, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        resolved(asked)
    assert refused.value.reason == "bad-filter" and words in refused.value.text


def test_its_meaning_stays_when_prefixes_change() -> None:
    found = resolved(BARE)
    assert resolved(found, known(CHANGED)) == found


def test_who_may_hear_of_some_topics_must_name_them() -> None:
    someone = Principal("someone", (Right("subscribe", parse_topic_expression("a//.", "full", {})),))
    named = parse_topic_expression("a/b", "concrete", {})
    assert not may_subscribe(someone, (BARE,)) and not may_subscribe(someone, (AnyOf((BARE, named)),))
    assert may_subscribe(someone, (BARE, named))
