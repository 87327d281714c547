"""Envelopes as trees: what would be written, with the payload parsed once."""

import pytest
from hypothesis import given, settings
from lxml import etree
from tests.effort import examples
from tests.matching.anything import NOTIFICATIONS, SUBSCRIPTIONS, xpath

from tocsin.markup import xml
from tocsin.matching.engine import Engine, matches
from tocsin.matching.evidence import Envelopes
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

FORM = Form("wse-2004-08", "1.2", "2004/08", wrapped=False)
PAYLOAD = b"<r><a>x</a>%b</r>" % (b"<b>hello</b>" * 5000)
HOLE = b'<Hole xmlns="urn:tocsin"/>'


def subscription(number: int, text: str = "//a = 'x'", reference: bytes = b"") -> Subscription:
    name, consumer = SubscriptionId(f"s{number:03}"), Endpoint(f"http://h/{number}", reference)
    return Subscription(name, None, consumer, None, FORM, (xpath(text, "envelope"),), Position(Node("n"), 0), None)


def notification(data: bytes = PAYLOAD) -> Notification:
    at, topic = Position(Node("n"), 1), Topic((QName("", "t"),))
    payload = Payload("application/xml", data)
    return Notification(MessageId("urn:m"), at, 0, Instant(1), "raw", "", "", topic, QName("", "r"), (), payload)


@given(NOTIFICATIONS, SUBSCRIPTIONS, SUBSCRIPTIONS)
@settings(max_examples=examples(200))
def test_a_tree_is_that_of_what_is_written(said: Notification, one: Subscription, other: Subscription) -> None:
    envelopes = Envelopes(said, "http://here")
    for each in (one, other, one):
        tree = envelopes.tree(each)
        assert tree is not None
        assert etree.tostring(tree, method="c14n") == etree.tostring(xml.parse(envelopes.written(each)), method="c14n")


def test_a_consumers_own_header_is_not_taken_for_the_place_of_the_payload() -> None:
    envelopes, each = Envelopes(notification(), ""), subscription(1, reference=HOLE)
    tree = envelopes.tree(each)
    assert tree is not None
    assert etree.tostring(tree, method="c14n") == etree.tostring(xml.parse(envelopes.written(each)), method="c14n")


def test_who_would_not_be_written_xml_has_no_tree() -> None:
    asked = subscription(1)
    told = Subscription(asked.id, None, asked.consumer, None, Form("cloudevents"), asked.filters, asked.since, None)
    assert Envelopes(notification(), "").tree(told) is None


def test_a_message_is_not_parsed_once_for_each_who_asks_about_the_whole_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, parse, engine = list[int](), xml.parse, Engine()
    for number in range(50):
        engine.apply(subscription(number, f"//a = 'x' and //* = 'http://h/{number}'" if number % 2 else "//a = 'y'"))

    def counted(data: bytes) -> xml.Element:
        sizes.append(len(data))
        return parse(data)

    monkeypatch.setattr(xml, "parse", counted)
    found = engine.match(notification())
    assert [each.id for each in found.wanted] == [f"s{number:03}" for number in range(50) if number % 2]
    assert sum(sizes) < 3 * len(PAYLOAD)


def test_what_the_payload_says_is_asked_of_the_envelope_too() -> None:
    for text, wanted in [("//b = 'hello'", True), ("//r/a = 'x'", True), ("//r/b = 'x'", False), ("//c", False)]:
        assert matches(subscription(1, text), notification()) is wanted, text
