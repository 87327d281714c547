import pytest

from tocsin.flow.flow import Flow, normalise
from tocsin.mediation.dialects import NAMES, Written, customise
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

NODE = Node("n")


def subscription(name: str, dialect: str, topic: str | None = None) -> Subscription:
    filters = () if topic is None else (parse_topic_expression(topic, "full", {}),)
    form = Form(dialect, "1.2", "2005/08")
    consumer = Endpoint(f"http://{name}/")
    return Subscription(SubscriptionId(name), None, consumer, None, form, filters, Position(NODE, 0), None)


def record(door: str, offset: int = 5) -> Accepted:
    headers = (("content-type", "application/xml"),)
    return Accepted(Position(NODE, offset), Instant(7), door, "raw", headers, None, "c", b"<a/>")


def test_from_the_log_to_the_senders() -> None:
    flow = Flow("http://b")
    for at, dialect in enumerate(NAMES):
        flow.apply(subscription(f"s{at}", dialect, "a//."))
    flow.apply(subscription("other", NAMES[0], "b"))
    (told,) = normalise(record("/broker/publish/a/c"))
    wanted = flow.match(told).wanted
    assert [each.id for each in wanted] == [f"s{at}" for at in range(len(NAMES))]
    deliveries = [flow.deliver(told, each) for each in wanted]
    assert [each.to.address for each in deliveries] == [f"http://s{at}/" for at in range(len(NAMES))]
    assert {(each.at, each.index, each.match.notification) for each in deliveries} == {(told.at, 0, told.id)}
    bodies = [customise(told, each, "http://b")[1] for each in wanted]
    assert [each.body for each in deliveries] == bodies
    assert len(flow) == len(NAMES) + 1


def test_what_was_made_of_a_notification_is_for_others_of_it_alone() -> None:
    flow = Flow("http://b")
    for at, dialect in enumerate((*NAMES, *NAMES)):
        flow.apply(subscription(f"s{at}", dialect))
    told = [normalise(record(f"/broker/publish/a{offset}", offset))[0] for offset in (5, 6)]
    written: list[Written] = [{} for _ in told]
    for subscriber in flow.match(told[0]).wanted:
        for notification, made in zip(told, written, strict=True):
            alone = customise(notification, subscriber, "http://b", {})
            delivery = flow.deliver(notification, subscriber, None, made)
            assert (delivery.headers, delivery.body) == alone


def test_a_dialect_nobody_can_write_is_said_so() -> None:
    (told,) = normalise(record("/broker/publish"))
    with pytest.raises(Refusal, match="no rules to write 'raw'"):
        Flow("").deliver(told, subscription("s", "raw"))
