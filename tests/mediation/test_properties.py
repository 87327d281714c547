"""WS-ResourceProperties of the broker, its subscriptions and registrations."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tocsin.markup import xml
from tocsin.mediation.soap.namespaces import WSN
from tocsin.mediation.topics import filter_of
from tocsin.mediation.ws.properties import (
    BR,
    RL,
    Facts,
    broker_properties,
    broker_table,
    registration_properties,
    subscription_properties,
    topic_expression_element,
    topics_expression,
)
from tocsin.mediation.ws.topic_documents import T1, topic_namespace_document, topic_set_of
from tocsin.model.filters import ANY, DESCEND, NOTHING, TopicIs
from tocsin.model.identity import SECOND, Instant, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Registration, Subscription
from tocsin.model.topics import DeclaredTopic, TopicNamespace, TopicSet, parse_topic_expression

NOW = Instant(1_800_000_000 * SECOND)
A, B = Topic((QName("urn:x", "a"),)), Topic((QName("urn:x", "a"), QName("", "b")))
FACTS = Facts(TopicSet.of([A, B]), fixed=True)
CONSUMER = Endpoint("http://consumer/?a=1&b=2", b'<p xmlns="urn:p">7</p>')
SUBSCRIPTION = Subscription(
    SubscriptionId("s"),
    None,
    CONSUMER,
    None,
    Form("wsn-1.3", wrapped=False),
    (TopicIs(((QName("urn:x", "a"), DESCEND),)),),
    Position(Node("n"), 0),
    Instant(NOW + SECOND),
)
REGISTRATION = Registration("r", None, CONSUMER, (A, B), True, Form("wsn-1.3"), NOW, None)


def w(*names: str) -> list[QName]:
    return [QName(WSN, each) for each in names]


def br(*names: str) -> list[QName]:
    return [QName(BR, each) for each in names]


def tags(elements: tuple[bytes, ...]) -> list[str]:
    return [str(etree.fromstring(each).tag) for each in elements]


def texts(elements: tuple[bytes, ...]) -> list[str]:
    return ["".join(map(str, etree.fromstring(each).itertext())) for each in elements]


def test_the_broker_tells_its_topics() -> None:
    found = broker_properties(FACTS, w("TopicExpression"))
    assert [filter_of(etree.fromstring(each)) for each in found] == [TopicIs((A.steps,)), TopicIs((B.steps,))]


def test_the_broker_tells_all_it_has_in_the_order_asked() -> None:
    found = broker_properties(FACTS, [*br("RequiresRegistration"), *w("FixedTopicSet", "TopicExpressionDialect")])
    assert tags(found)[:2] == [f"{{{BR}}}RequiresRegistration", f"{{{WSN}}}FixedTopicSet"]
    assert texts(found)[:2] == ["false", "true"]
    assert {f"{T1}/TopicExpression/{each}" for each in ("Simple", "Concrete", "Full")} <= set(texts(found)[2:])


def test_the_topic_set_is_the_document() -> None:
    (found,) = broker_properties(FACTS, [QName(T1, "TopicSet")])
    assert topic_set_of(xml.parse(found)) == FACTS.topics


def test_a_subscription_tells_who_is_told_of_what() -> None:
    asked = w("ConsumerReference", "Filter", "SubscriptionPolicy", "CreationTime")
    found = subscription_properties(SUBSCRIPTION, asked, NOW, created=Instant(NOW - SECOND))
    assert tags(found) == [f"{{{WSN}}}{each.local}" for each in asked]
    consumer, wanted, policy, created = map(etree.fromstring, found)
    assert consumer.findtext("{*}Address") == "http://consumer/?a=1&b=2"
    assert consumer.findtext("{*}ReferenceParameters/{urn:p}p") == "7"
    assert filter_of(wanted[0]) == SUBSCRIPTION.filters[0]
    assert policy[0].tag == f"{{{WSN}}}UseRaw"
    assert created.text == "2027-01-15T07:59:59Z"


def test_what_a_subscription_has_not_is_left_out() -> None:
    mailbox = Subscription(
        SubscriptionId("m"), None, None, None, Form("wsn-1.3"), (NOTHING,), Position(Node("n"), 0), None
    )
    assert subscription_properties(mailbox, w("ConsumerReference", "Filter", "SubscriptionPolicy"), NOW) == ()


def test_times_of_a_lease() -> None:
    asked = [QName(RL, "CurrentTime"), QName(RL, "TerminationTime")]
    assert texts(subscription_properties(SUBSCRIPTION, asked, NOW)) == ["2027-01-15T08:00:00Z", "2027-01-15T08:00:01Z"]
    (never,) = registration_properties(REGISTRATION, asked[1:], NOW)
    assert etree.fromstring(never).get("{http://www.w3.org/2001/XMLSchema-instance}nil") == "true"


def test_a_registration_tells_what_was_registered() -> None:
    found = registration_properties(REGISTRATION, br("PublisherReference", "Topic", "Demand", "CreationTime"), NOW)
    assert tags(found) == [
        f"{{{BR}}}{each}" for each in ("PublisherReference", "Topic", "Topic", "Demand", "CreationTime")
    ]
    assert texts(found)[3:] == ["true", "2027-01-15T08:00:00Z"]


@pytest.mark.parametrize("name", [QName(WSN, "Colour"), QName("", "Filter"), QName(BR, "Demand")])
def test_an_unknown_property_is_refused_by_name(name: QName) -> None:
    with pytest.raises(Refusal, match="has no property") as refused:
        subscription_properties(SUBSCRIPTION, [*w("Filter"), name], NOW)
    assert (refused.value.reason, refused.value.about) == ("unknown-property", name)


@pytest.mark.parametrize(
    ("written", "dialect"),
    [
        ("x:a", "Simple"),
        ("x:a/b", "Concrete"),
        ("x:a/y:b", "Concrete"),
        ("x:a//.", "Full"),
        ("x:a/*|y:b", "Full"),
        ("x:*", "Full"),
        ("*//.", "Full"),
        ("x://a", "Full"),
        ("//a/b//c", "Full"),
        ("a/b", "Concrete"),
    ],
)
def test_an_expression_is_written_in_the_least_dialect(written: str, dialect: str) -> None:
    expression = parse_topic_expression(written, "full", {"x": "urn:x", "y": "http://y/?a&b"})
    element = etree.fromstring(topic_expression_element(expression))
    assert element.get("Dialect") == f"{T1}/TopicExpression/{dialect}"
    assert filter_of(element) == expression


STEPS = st.one_of(
    st.builds(QName, st.sampled_from(["", "urn:x", "urn:y"]), st.sampled_from(["a", "b"])),
    st.sampled_from([ANY, DESCEND]),
)


@given(st.lists(st.lists(STEPS, max_size=4), min_size=1, max_size=3))
def test_every_expression_comes_back(tails: list[list[QName | str]]) -> None:
    """After a root: that is what the grammar can say."""
    root = QName("urn:r", "root")
    paths = [
        (root, *(step for at, step in enumerate(tail) if (step, *tail[at - 1 : at]) != (DESCEND, DESCEND)))
        for tail in tails
    ]
    expression = TopicIs(tuple(dict.fromkeys(paths)))
    assert filter_of(etree.fromstring(topic_expression_element(expression))) == expression


def test_any_one_of_several_topics() -> None:
    element = etree.fromstring(topic_expression_element(topics_expression([A, B])))
    assert filter_of(element) == TopicIs((A.steps, B.steps))


def _schemas() -> Path:
    spec = find_spec("onvif")
    if spec is None or spec.origin is None:
        pytest.skip("onvif-zeep-async, which carries the schemas, is not installed")
    return Path(spec.origin).parent / "wsdl"


def test_what_is_written_validates() -> None:
    """Against the schemas of WS-BaseNotification and WS-Topics that come with onvif-zeep-async."""
    schema = etree.XMLSchema(etree.parse(_schemas() / "b-2.xsd"))
    told = [name for name in broker_table(FACTS) if name.namespace in (WSN, T1)]
    asked = w("ConsumerReference", "Filter", "SubscriptionPolicy", "CreationTime")
    for element in (*broker_properties(FACTS, told), *subscription_properties(SUBSCRIPTION, asked, NOW, NOW)):
        schema.assertValid(etree.fromstring(element))
    topics = (DeclaredTopic("a", (DeclaredTopic("b"),), True, (QName("urn:m", "m"),), parent=B, documentation="why"),)
    declared = TopicNamespace("urn:x", topics, "n", True, "said")
    schema.assertValid(etree.fromstring(topic_namespace_document(declared)))
