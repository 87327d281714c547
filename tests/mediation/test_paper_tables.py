"""The rows of tables 5 and 6 of WS-Messenger: samples of its rules, which are rows of ours too."""

import pytest

from tocsin.mediation.dialects import BY_NAME
from tocsin.mediation.explain import message_for, place
from tocsin.mediation.rules import Entry, Message


def request(dialect: str, operation: str) -> Message:
    return next(each for each in BY_NAME[dialect].requests if each.operation == operation)


def entry(message: Message | None, name: str) -> Entry:
    assert message is not None
    return next(each for each in message.entries if each.name == name)


def steps(message: Message, name: str) -> list[str]:
    assert message.element is not None
    return [message.element.local, *(step.local for step in entry(message, name).path)]


def test_table_5_wse_subscribe_request() -> None:
    """/Envelope/body/Subscribe/Delivery/NotifyTo/Address is the consumer's address"""
    assert steps(request("wse-2004-08", "Subscribe"), "consumer") == ["Subscribe", "Delivery", "NotifyTo"]


def test_table_5_wse_notification() -> None:
    """/Envelope/body is the notification message"""
    dialect = BY_NAME["wse-2004-08"]
    assert place(dialect, entry(message_for(dialect, wrapped=False), "payload"), wrapped=False) == "Body"


@pytest.mark.parametrize("element", ["Subscribe", "SubscribeRequest"])
def test_table_5_wsbn_1_2_subscribe_request(element: str) -> None:
    """/Envelope/body/SubscribeRequest/ConsumerReference/Address; its schema has Subscribe, so both are understood"""
    known = [each for each in BY_NAME["wsn-1.2"].requests if each.operation == "Subscribe"]
    assert [element, "ConsumerReference"] in [steps(each, "consumer") for each in known]


@pytest.mark.parametrize("dialect", ["wsn-1.2", "wsn-1.3"])
def test_table_5_and_6_wrapped_notification(dialect: str) -> None:
    """/Envelope/body/Notify/NotificationMessage/Message is the notification message, in and out"""
    rules = BY_NAME[dialect]
    where = place(rules, entry(rules.wrapped, "payload"))
    assert [step.rpartition(":")[2] for step in where.split("/")] == [
        "Body",
        "Notify",
        "NotificationMessage",
        "Message",
    ]


def test_table_6_wse_subscribe_response() -> None:
    """subId goes to /Envelope/body/SubscribeResponse/SubscriptionManager/ReferenceParameters"""
    dialect = BY_NAME["wse-2004-08"]
    answer = request("wse-2004-08", "Subscribe").answer
    assert answer is not None
    assert steps(answer, "subscription") == ["SubscribeResponse", "SubscriptionManager"]
    assert dialect.identifier is not None
    assert dialect.identifier.local == "Identifier"


def test_table_6_wsbn_1_2_subscribe_response() -> None:
    """subId goes to /Envelope/body/SubscribeResponse/SubscriptionReference/ReferenceProperties"""
    dialect = BY_NAME["wsn-1.2"]
    answer = request("wsn-1.2", "Subscribe").answer
    assert answer is not None
    assert steps(answer, "subscription") == ["SubscribeResponse", "SubscriptionReference"]
    assert dialect.identifier is not None
    assert dialect.addressing in dialect.identifier_for
