"""A message without a topic, and who sees it (WS-Messenger s5.3; the reserved topic is its wseTopic)."""

import pytest
from tests.mediation.requests import accepted, envelope

from tocsin.flow.flow import Flow, normalise
from tocsin.mediation.dialects import NAMES
from tocsin.mediation.soap.content_filters import event_filter
from tocsin.mediation.soap.namespaces import DPWS_ACTIONS, TOPICS
from tocsin.model.filters import ActionIs, Filter
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import NO_TOPIC
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.model.topics import parse_topic_expression

HEADER = f'<wsnt:Topic Dialect="{TOPICS}/Simple">t:fire</wsnt:Topic>'


def event(headers: str = "", tail: str = "") -> Notification:
    (read,) = normalise(accepted(envelope("<t:alert/>", headers), "wse-2004-08", f"/broker/publish{tail}"))
    return read


def sees(said: Notification, dialect: str, *filters: Filter) -> bool:
    flow = Flow("http://b")
    form = Form(dialect, "1.2", "2005/08")
    flow.apply(Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, form, filters, said.at, None))
    return bool(flow.match(said).wanted)


def test_the_header_comes_first_then_the_tail_of_the_address_then_the_reserved_topic() -> None:
    assert str(event(HEADER, "/a/b").topic) == "{urn:t}fire"
    assert str(event("", "/a/b").topic) == "a/b"
    assert event().topic == NO_TOPIC


@pytest.mark.parametrize("dialect", NAMES)
def test_1_who_asks_for_some_topic_does_not_see_it(dialect: str) -> None:
    assert not sees(event(), dialect, parse_topic_expression("fire//.", "full", {}))


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("everything", ["*//.", "//*"])
def test_2_who_asks_for_all_topics_sees_it(dialect: str, everything: str) -> None:
    assert sees(event(), dialect, parse_topic_expression(everything, "full", {}))


@pytest.mark.parametrize("dialect", NAMES)
def test_3_who_asks_for_something_else_than_a_topic_sees_it_if_it_is_that(dialect: str) -> None:
    assert sees(event(), dialect, ActionIs(("urn:t/alert",)))
    assert not sees(event(), dialect, ActionIs(("urn:t/other",)))
    assert sees(event(), dialect)


def test_the_filter_of_a_device_is_read_as_actions() -> None:
    from lxml import etree

    element = etree.fromstring(f'<Filter Dialect="{DPWS_ACTIONS[0]}"> urn:a  urn:b </Filter>')
    assert event_filter(element) == (ActionIs(("urn:a", "urn:b")),)
