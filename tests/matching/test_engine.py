from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.matching.engine import Engine, matches
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topic_expression import parse_topic_expression

FILTERS = st.sampled_from(["a", "a/b", "a//.", "*", "//b", "a|b", "b/*"]).map(
    lambda text: parse_topic_expression(text, "full", {})
)
STATES = st.sampled_from(["active", "active", "active", "paused", "suspended", "ended"])
TOPICS = st.lists(st.sampled_from("ab").map(lambda local: QName("", local)), min_size=1, max_size=3)
SUBSCRIPTIONS = st.builds(
    Subscription,
    id=st.sampled_from("pqrstu").map(SubscriptionId),
    owner=st.none(),
    consumer=st.just(Endpoint("http://c/")),
    end_to=st.none(),
    form=st.just(Form("wsn-1.3")),
    filters=st.lists(FILTERS, max_size=3).map(tuple),
    since=st.integers(0, 9).map(lambda offset: Position(Node("n"), offset)),
    expires=st.none() | st.integers(90, 110).map(Instant),
    state=STATES,
)


def notification(topic: Topic, offset: int, when: int) -> Notification:
    at = Position(Node("n"), offset)
    payload = Payload("application/xml", b"<x/>")
    return Notification(MessageId("m"), at, 0, Instant(when), "raw", "", "", topic, None, (), payload)


@given(st.lists(st.tuples(SUBSCRIPTIONS, TOPICS, st.integers(0, 12), st.integers(90, 110)), max_size=12))
@settings(max_examples=examples(150))
def test_the_engine_gives_what_one_by_one_gives(steps: list[tuple[Subscription, list[QName], int, int]]) -> None:
    engine, latest = Engine(), dict[SubscriptionId, Subscription]()
    topics = [Topic(tuple(names)) for _, names, _, _ in steps]
    for change, _, offset, when in steps:
        engine.apply(change)
        latest[change.id] = change
        for topic in topics:
            told = notification(topic, offset, when)
            expected = [each for _, each in sorted(latest.items()) if each.state != "ended" and matches(each, told)]
            assert engine.match(told) == expected
        assert len(engine) == sum(each.state != "ended" for each in latest.values())


def test_a_conjunction_wants_all_of_its_filters() -> None:
    filters: tuple[TopicIs, ...] = tuple(parse_topic_expression(text, "full", {}) for text in ("a//.", "//b"))
    at = Position(Node("n"), 0)
    each = Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, Form("wsn-1.3"), filters, at, None)
    engine = Engine()
    engine.apply(each)
    assert engine.match(notification(Topic((QName("", "a"), QName("", "b"))), 1, 1)) == [each]
    assert engine.match(notification(Topic((QName("", "a"),)), 1, 1)) == []
