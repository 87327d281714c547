"""The actions are those of the paper's tables 3 and 4, and what they say is what the message shows."""

import pytest
from tests.mediation.requests import NOW, accepted, envelope

from tocsin.mediation.dialects import NAMES, customise, normalise
from tocsin.mediation.explain import SET, Action, Step, customising, incoming, normalising, outgoing
from tocsin.mediation.soap.namespaces import TOPICS
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import NO_TOPIC
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.subscription import Endpoint, Form, Subscription

TOPIC = f'<wsnt:Topic Dialect="{TOPICS}/Simple">t:fire</wsnt:Topic>'
MESSAGE = "<wsnt:Message><t:x/></wsnt:Message>"


def by_entry(steps: list[Step]) -> dict[str, Step]:
    return {step.entry: step for step in steps}


def notify(before: str = TOPIC, headers: str = "<wsa:MessageID>urn:m</wsa:MessageID>") -> Accepted:
    inner = f"<wsnt:Notify><wsnt:NotificationMessage>{before}{MESSAGE}</wsnt:NotificationMessage></wsnt:Notify>"
    return accepted(envelope(inner, headers), "wsn-1.3")


def read(record: Accepted) -> Notification:
    (found,) = normalise(record)
    return found


def recipient(dialect: str, wrapped: bool = True) -> Subscription:
    form = Form(dialect, "1.2", "2005/08", wrapped)
    return Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, form, (), read(notify()).at, None)


@pytest.mark.parametrize(
    ("defined", "available", "required", "action"),
    [
        (True, True, True, "transform"),
        (True, True, False, "transform"),
        (True, False, True, "add default"),
        (True, False, False, "no action"),
        (False, False, True, "add default"),
        (False, False, False, "no action"),
    ],
)
def test_table_3(defined: bool, available: bool, required: bool, action: Action) -> None:
    assert incoming(defined, available, required) == action


@pytest.mark.parametrize(
    ("defined", "available", "required", "action"),
    [
        (True, True, True, "transform"),
        (True, True, False, "transform"),
        (False, True, False, "ignore"),
        (True, False, True, "add default"),
        (True, False, False, "no action"),
        (False, False, False, "no action"),
    ],
)
def test_table_4(defined: bool, available: bool, required: bool, action: Action) -> None:
    assert outgoing(defined, available, required) == action


def test_what_a_notify_says_is_transformed_and_the_rest_added() -> None:
    steps = by_entry(normalising(notify(), read(notify())))
    assert steps["topic"] == Step(
        "topic", "transform", "Body/wsnt:Notify/wsnt:NotificationMessage/wsnt:Topic", "{urn:t}fire"
    )
    assert steps["message_id"] == Step("message_id", "transform", "Header/wsa:MessageID", "urn:m")
    assert steps["producer"].action == "no action"
    assert steps["when"].action == "add default"


def test_a_notify_without_id_and_topic_gets_defaults() -> None:
    record = notify(before="", headers="")
    steps = by_entry(normalising(record, read(record)))
    assert (steps["topic"].action, steps["topic"].value) == ("add default", str(NO_TOPIC))
    assert (steps["message_id"].action, steps["message_id"].value) == ("add default", "urn:uuid:the-cause")


def test_a_raw_event_has_its_topic_in_a_header() -> None:
    record = accepted(envelope("<t:x/>", TOPIC), "wse-2004-08", "/broker/publish")
    steps = by_entry(normalising(record, read(record)))
    assert (steps["topic"].action, steps["topic"].place) == ("transform", "Header/wsnt:Topic")


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("before", [TOPIC, ""])
def test_what_is_said_to_be_written_is_written(dialect: str, before: str) -> None:
    said = read(notify(before))
    _, body = customise(said, recipient(dialect), "http://b")
    for step in customising(said, recipient(dialect)):
        if step.entry in ("message_id", "producer") and step.action == "transform":
            assert step.value.encode() in body
        if step.entry == "topic":
            assert (b"fire" in body) == (step.action == "transform")
            assert (NO_TOPIC.steps[0].local.encode() in body) == (step.action == "add default")


@pytest.mark.parametrize("dialect", NAMES)
def test_every_entry_of_the_set_is_accounted_for(dialect: str) -> None:
    steps = customising(read(notify()), recipient(dialect))
    assert {step.entry for step in steps} >= set(SET)
    ignored = {step.entry for step in steps if step.action == "ignore"}
    assert all(not step.place for step in steps if step.entry in ignored)


def test_the_time_of_acceptance_is_shown() -> None:
    steps = by_entry(customising(read(notify()), recipient("cloudevents")))
    assert (steps["when"].action, steps["when"].value) == ("transform", "2023-11-14T22:13:20Z")
    assert read(notify()).when == NOW
