import pytest

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.resolution import as_said, check_envelopes, resolve
from tocsin.matching.rights import may_subscribe
from tocsin.mediation.expressions import BoxAsSaid
from tocsin.model.access import Principal, Right
from tocsin.model.filters import AllOf, AnyOf, Content, Filter, InBox, Not, ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.space import Dimension, InformationSpace, Interval, Like
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

KNOWN = Catalogue(
    [
        InformationSpace("weather", (Dimension("place", "string"), Dimension("heat", "number", -90, 60))),
        InformationSpace("since", (Dimension("when", "time"),)),
    ]
)
SAID = BoxAsSaid("weather", (), "weather:*,NJ/>25")
BOX = InBox("weather", (Like(suffix=",NJ"), Interval(low=25.0, low_open=True)))


def test_boxes_are_looked_up_wherever_they_stand() -> None:
    asked = (SAID, AllOf((SAID, TypeIs(("a",)))), AnyOf((Not(SAID),)))
    assert resolve(asked, KNOWN) == (BOX, AllOf((BOX, TypeIs(("a",)))), AnyOf((Not(BOX),)))


def test_what_names_nothing_is_left_alone() -> None:
    asked: tuple[Filter, ...] = (TypeIs(("a",)), ProducerIs(("b",)), Content("xpath", "a"), BOX)
    assert resolve(asked, KNOWN) == asked


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("ocean:*", "unknown-topic", "no information space 'ocean'; declared are since, weather; declare it with"),
        ("weather:*", "bad-topic-expression", "a dimension is missing"),
        ("weather:*/*/*", "bad-topic-expression", "no such dimension"),
        ("weather:*/>70", "bad-topic-expression", "no point lies in it"),
    ],
)
def test_what_is_no_box_of_a_declared_space_is_refused(text: str, reason: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        resolve((Not(BoxAsSaid(text.partition(":")[0], (), text)),), KNOWN)
    assert caught.value.reason == reason and words in caught.value.text


@pytest.mark.parametrize("text", ["weather:*,NJ/>25", "weather:a%2Fb/*", "since:>=2030-01-31T12:00:00Z"])
def test_the_way_back_needs_the_space_too(text: str) -> None:
    (box,) = resolve((BoxAsSaid(text.partition(":")[0], (), text),), KNOWN)
    standing = Subscription(
        SubscriptionId("s"), None, None, None, Form("wsn-1.3"), (AllOf((box,)),), Position(Node("n"), 0), None
    )
    (said,) = as_said(standing, KNOWN).filters
    assert isinstance(said, AllOf) and isinstance(said.filters[0], BoxAsSaid) and said.filters[0].text == text


def test_who_may_hear_of_some_topics_must_name_them() -> None:
    """Whatever else a filter says, its messages may be about any topic."""
    rights = TopicIs(parse_topic_expression("a//.", "full", {}).alternatives)
    someone = Principal("someone", (Right("subscribe", rights),))
    named = parse_topic_expression("a/b", "concrete", {})
    for each in (
        SAID,
        BOX,
        TypeIs(("a",)),
        ProducerIs(("b",)),
        Content("xpath", "a"),
        Content("cesql", "a", "attributes"),
    ):
        assert not may_subscribe(someone, (each,))
        assert not may_subscribe(someone, (AnyOf((each, named)),))
        assert not may_subscribe(someone, (Not(each),))
        assert may_subscribe(someone, (each, named))


ENVELOPE = Content("xpath", "//a", "envelope")


@pytest.mark.parametrize("asked", [ENVELOPE, AllOf((TypeIs(("a",)), ENVELOPE)), AnyOf((Not(ENVELOPE),))])
def test_an_envelope_is_asked_for_only_where_one_is_sent(asked: Filter) -> None:
    check_envelopes((asked,), Form("wse-2004-08", "1.2"))
    with pytest.raises(Refusal, match="only SOAP subscribers are sent an envelope; ask of the payload") as refused:
        check_envelopes((asked,), Form("cloudevents"))
    assert refused.value.reason == "bad-filter"


def test_a_payload_is_asked_for_wherever() -> None:
    check_envelopes((Content("xpath", "//a"), Not(TypeIs(("a",)))), Form("cloudevents"))
