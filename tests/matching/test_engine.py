from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.matching.engine import Engine, matches
from tocsin.model.filters import ForNotifier, TopicIs
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

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
    filters=st.lists(FILTERS | st.sampled_from("xy").map(ForNotifier), max_size=3).map(tuple),
    since=st.integers(0, 9).map(lambda offset: Position(Node("n"), offset)),
    expires=st.none() | st.integers(90, 110).map(Instant),
    state=STATES,
)


def notification(topic: Topic, offset: int, when: int, addressee: str = "") -> Notification:
    at = Position(Node("n"), offset)
    payload = Payload("application/xml", b"<x/>")
    name = MessageId("m")
    return Notification(name, at, 0, Instant(when), "raw", "", "", topic, None, (), payload, addressee=addressee)


@given(st.lists(st.tuples(SUBSCRIPTIONS, TOPICS, st.integers(0, 12), st.integers(90, 110)), max_size=12))
@settings(max_examples=examples(150))
def test_the_engine_gives_what_one_by_one_gives(steps: list[tuple[Subscription, list[QName], int, int]]) -> None:
    engine, latest = Engine(), dict[SubscriptionId, Subscription]()
    topics = [Topic(tuple(names)) for _, names, _, _ in steps]
    for change, _, offset, when in steps:
        engine.apply(change)
        latest[change.id] = change
        for topic, addressee in product(topics, ("", "x", "y")):
            told = notification(topic, offset, when, addressee)
            expected = [each for _, each in sorted(latest.items()) if each.state != "ended" and matches(each, told)]
            assert engine.match(told) == (expected, [])
        assert len(engine) == sum(each.state != "ended" for each in latest.values())


def test_what_a_notifier_says_is_for_its_service_alone() -> None:
    engine, at, topic = Engine(), Position(Node("n"), 0), Topic((QName("", "a"),))
    for name, filters in {"all": (), "care": (ForNotifier("CARE"),), "usgs": (ForNotifier("USGS"),)}.items():
        consumer = Endpoint(f"http://{name}/")
        engine.apply(Subscription(SubscriptionId(name), None, consumer, None, Form("raw"), filters, at, None))
    assert [each.id for each in engine.match(notification(topic, 1, 1, "CARE")).wanted] == ["care"]
    assert [each.id for each in engine.match(notification(topic, 1, 1)).wanted] == ["all"]
    assert engine.match(notification(topic, 1, 1, "nobody")) == ([], [])


def test_a_conjunction_wants_all_of_its_filters() -> None:
    filters: tuple[TopicIs, ...] = tuple(parse_topic_expression(text, "full", {}) for text in ("a//.", "//b"))
    at = Position(Node("n"), 0)
    each = Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, Form("wsn-1.3"), filters, at, None)
    engine = Engine()
    engine.apply(each)
    assert engine.match(notification(Topic((QName("", "a"), QName("", "b"))), 1, 1)).wanted == [each]
    assert engine.match(notification(Topic((QName("", "a"),)), 1, 1)).wanted == []
