"""Which subscriptions a change of the ontologies breaks; and what the door refuses."""

import pytest
from msgspec.structs import replace
from tests.flow.test_graphs import asking, event
from tests.matching.graph_events import AUCTION, CHEAP, LIFTINGS, SELLING, pattern
from tests.pace import within

from tocsin.broker.declarations.semantics import broken_by
from tocsin.broker.publishing.event_checks import check_event_graph
from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Ontology
from tocsin.model.filters import AnyOf, Not
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel

ALL = ConceptModel((AUCTION,))
CHAIRS = pattern("(_:H, ?1, (Selling, target, Chair))")


def without(*names: str) -> ConceptModel:
    kept = tuple(each for each in AUCTION.classes if each[0].rpartition("#")[2] not in names)
    return ConceptModel((replace(AUCTION, classes=kept),))


def standing(name: str, *filters: object, **more: object) -> Subscription:
    return replace(asking("cloudevents", "", False, *filters), id=SubscriptionId(name), **more)  # type: ignore[arg-type]


def test_those_that_ask_for_what_is_no_more() -> None:
    subscriptions = [
        standing("whole", CHEAP),
        standing("chairs", SELLING, CHAIRS),
        standing("inside", AnyOf((SELLING, Not(CHAIRS)))),
        standing("paused", CHAIRS, state="paused"),
        standing("suspended", CHAIRS, state="suspended"),
        standing("nothing"),
    ]
    assert list(broken_by(ALL, subscriptions)) == []
    broken = dict(broken_by(without("Chair"), subscriptions))
    assert list(broken) == ["chairs", "inside", "paused"]
    assert all("Chair" in reason and "ontologies changed" in reason for reason in broken.values())


def test_each_filter_is_looked_at_once() -> None:
    many = [standing(str(number), CHAIRS) for number in range(20_000)]
    with within(5_000):
        assert len(list(broken_by(without("Chair"), many))) == 20_000


def known(strict: bool = False, *ontologies: Ontology) -> Catalogue:
    return Catalogue((*ontologies, *(replace(each, strict=strict) for each in LIFTINGS)))


@pytest.mark.parametrize(
    ("media_type", "data", "words"),
    [
        ("text/turtle", b"<urn:x> a <urn:auction#Nothing> .", "Nothing"),
        ("application/xml", b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "empty"),
        ("text/turtle", b"<", "not readable"),
    ],
)
def test_rdf_is_checked_while_there_is_an_ontology(media_type: str, data: bytes, words: str) -> None:
    told = event(payload=Payload(media_type, data))
    check_event_graph(told, known())
    with pytest.raises(Refusal, match=words):
        check_event_graph(told, known(False, AUCTION))


def test_unknown_properties_pass_when_told_so() -> None:
    told = event(payload=Payload("text/turtle", b"_:H a <urn:auction#Deal> ; <urn:more> 1 ."))
    check_event_graph(told, known(False, AUCTION), unknown_properties=True)
    with pytest.raises(Refusal, match="urn:more"):
        check_event_graph(told, known(False, AUCTION))


def test_what_is_right_or_no_rdf_passes() -> None:
    for told in (event(), event(payload=Payload("application/xml", b"<RDF/>")), event(payload=Payload("", b""))):
        check_event_graph(told, known(False, AUCTION))


@pytest.mark.parametrize("data", [b"<offer><price><amount>soon</amount></price></offer>", b"<offer>"])
def test_only_a_strict_lifting_refuses(data: bytes) -> None:
    told = event("wsn-1.3", Payload("application/xml", data))
    check_event_graph(told, known(False, AUCTION))
    with pytest.raises(Refusal, match="the lifting 'xml' is strict"):
        check_event_graph(told, known(True, AUCTION))
    check_event_graph(event("wsn-1.3", Payload("application/xml", b"<offer/>")), known(True, AUCTION))
