"""The auction of the paper (OPS Fig. 1 to 3) as it is shipped: which of its events its subscriptions want."""

from importlib.resources import files

import msgspec
import pytest
from tests.matching.graphs.oracle import matches_pattern

from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.markup.graphs.queries import parse_pattern
from tocsin.markup.graphs.sparql import parse_sparql
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.ontology_documents import read_ontology
from tocsin.semantics.concepts.pattern_checks import check_query
from tocsin.semantics.events.event_documents import read_events_nquads

DEMO = files("tocsin.semantics") / "demo"
MODEL = ConceptModel([read_ontology((DEMO / "auction.ttl").read_bytes(), "text/turtle", "auction")])
SUBSCRIPTIONS = [msgspec.json.decode(line) for line in (DEMO / "auction-subscriptions.jsonl").read_bytes().splitlines()]
WANTED = {
    "figure-3": ["notebook-350", "notebook-380"],
    "figure-3-sparql": ["notebook-350", "notebook-380"],
    "telephone": ["notebook-350"],
    "disk-of-the-same-maker": ["figure-1"],
    "something-cheap": ["book-20", "bid-300"],
}


def query_of(subscription: dict[str, str]) -> GraphQuery:
    if "pattern" in subscription:
        return parse_pattern(subscription["pattern"], MODEL.prefixes)
    return parse_sparql(subscription["sparql"], MODEL.prefixes, True)


@pytest.mark.parametrize("subscription", SUBSCRIPTIONS, ids=lambda each: each["id"])
def test_the_demo_finds_what_it_says(subscription: dict[str, str]) -> None:
    query = query_of(subscription)
    check_query(query, MODEL)
    events = read_events_nquads((DEMO / "auction-events.nq").read_bytes(), MODEL)
    found = [
        name.rpartition(":")[2]
        for name, event in events
        if any(matches_pattern(each, event, MODEL) for each in query.alternatives)
    ]
    assert found == WANTED[subscription["id"]]


def test_the_subscription_of_the_paper_comes_first() -> None:
    assert [each["id"] for each in SUBSCRIPTIONS] == list(WANTED)
