"""Whoever matches something of a flow is found by it, and lies where it is looked for."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tocsin.matching.engine import matches_filters
from tocsin.model.filters import ANY, DESCEND, NOTHING, TOPICS, AllOf, AnyOf, Content, Filter, ForNotifier, Not, TopicIs
from tocsin.model.filters import InBox as Box
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.routing.ring.relay_messages import Flow
from tocsin.routing.ring.wants import Wants, flow_of_space, flow_of_topic, may_want, may_want_topic, spans_of

AT = Position(Node("n"), 0)
NAMES = st.sampled_from([QName("", each) for each in "abc"])
TOPIC = st.lists(NAMES, min_size=1, max_size=4).map(lambda steps: Topic(tuple(steps)))
STEP: st.SearchStrategy[QName | str] = NAMES | st.sampled_from([ANY, DESCEND, QName("", "*")])
PATHS: st.SearchStrategy[tuple[QName | str, ...]] = st.lists(STEP, min_size=1, max_size=4).map(tuple)
BY_TOPIC = st.lists(PATHS, min_size=1, max_size=2).map(lambda paths: TopicIs(tuple(paths)))
LEAVES = BY_TOPIC | st.sampled_from([Content("xpath", "true()"), NOTHING, Box("weather", ()), Box("roads", ())])
FILTER = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, max_size=3).map(lambda some: AllOf(tuple(some))),
        st.lists(inner, max_size=3).map(lambda some: AnyOf(tuple(some))),
    ),
    max_leaves=4,
)
FILTERS = st.lists(FILTER, max_size=3).map(tuple)


def subscription(name: str, filters: tuple[Filter, ...]) -> Subscription:
    form = Form("cloudevents")
    return Subscription(SubscriptionId(name), None, Endpoint("http://127.0.0.1:9/"), None, form, filters, AT, None)


def flow_of(topic: Topic) -> Flow:
    found = flow_of_topic(topic)
    assert found is not None
    return found


def notification(topic: Topic) -> Notification:
    payload = Payload("application/xml", b"<n/>")
    return Notification(MessageId("m"), AT, 0, Instant(0), "raw", "c", "", topic, None, (), payload)


@given(FILTERS, TOPIC)
def test_whoever_matches_may_want_it_and_is_looked_for_where_it_lies(filters: tuple[Filter, ...], topic: Topic) -> None:
    flow, plain = flow_of(topic), tuple(each for each in filters if not _has_box(each))
    if matches_filters(subscription("s", plain), notification(topic)):
        assert may_want(plain, flow)
    if may_want(filters, flow):
        span = spans_of(filters)[TOPICS]
        assert span.next_key(flow.key) == flow.key


@given(st.lists(st.tuples(st.sampled_from("stuv"), st.none() | FILTERS), max_size=12), TOPIC)
def test_those_are_found_that_may_want_it(changes: list[tuple[str, tuple[Filter, ...] | None]], topic: Topic) -> None:
    wants, standing = Wants(), dict[str, tuple[Filter, ...]]()
    for name, filters in changes:
        if filters is None:
            wants.remove(name)
            standing.pop(name, None)
        else:
            wants.put(subscription(name, filters))
            standing[name] = filters
    for flow in (flow_of(topic), flow_of_space("weather", "n"), flow_of_space("roads", "n")):
        expected = {name for name, filters in standing.items() if NOTHING not in filters and may_want(filters, flow)}
        assert {each.id for each in wants.find(flow)} == expected


def _has_box(asked: Any) -> bool:
    inner = getattr(asked, "filters", None) or ([asked.filter] if isinstance(asked, Not) else [])
    return isinstance(asked, Box) or any(map(_has_box, inner))


def test_a_mailbox_and_the_service_of_a_notifier_want_nothing_that_is_published() -> None:
    wants = Wants()
    wants.put(subscription("mailbox", (NOTHING,)))
    wants.put(subscription("service", (ForNotifier("x"),)))
    assert len(wants) == 0 and wants.find(flow_of(Topic((QName("", "a"),)))) == []


def test_no_more_are_found_than_are_needed() -> None:
    wants = Wants()
    for number in range(100):
        wants.put(subscription(f"s{number}", ()))
    assert len(wants.find(flow_of(Topic((QName("", "a"),))))) == 16


def test_a_space_at_one_node_says_nothing_of_another() -> None:
    box = (Box("weather", ()),)
    assert may_want(box, flow_of_space("weather", "n")) and not may_want_topic(box, flow_of_space("weather", "m"))


def test_of_a_topic_that_cannot_be_read_again_nothing_is_said() -> None:
    assert flow_of_topic(Topic((QName("", "a b"),))) is None
    unreadable = Flow(TOPICS, 7, "a b")
    wants = Wants()
    wants.put(subscription("s", (TopicIs(((QName("", "c"),),)),)))
    assert [each.id for each in wants.find(unreadable)] == ["s"]
