"""Content topics on their way: a dialect of wsnt:Topic in, an attribute of it and an extension of CloudEvents out."""

import json

import pytest
from tests.mediation.requests import accepted, envelope
from tests.mediation.test_wsn_1_3 import message, read

from tocsin.mediation.dialects import customise, normalise
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

POINT = "weather:Troy,NY/29/48.9"
SPACE = Topic((QName("urn:tocsin:spaces", "weather"),))
TOPIC = f'<wsnt:Topic Dialect="urn:tocsin:dialect:content-topic"> {POINT} </wsnt:Topic>'


def subscriber(dialect: str, *, wrapped: bool = True) -> Subscription:
    form = Form(dialect, None if dialect == "cloudevents" else "1.2", "2005/08", wrapped)
    return Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, form, (), Position(Node("n"), 0), None)


def published() -> Notification:
    (found,) = read(message("<x/>", TOPIC))
    return found


def test_a_topic_in_that_dialect_is_one_of_its_space() -> None:
    assert (published().topic, published().attributes) == (SPACE, (("contenttopic", POINT),))


def test_it_is_read_alike_however_often_its_sender_repeats_itself() -> None:
    head = "<wsa:MessageID>urn:m</wsa:MessageID>"
    for degrees in ("29", "30", "30", "30"):
        point = POINT.replace("29", degrees)
        (found,) = read(message("<x/>", TOPIC.replace(POINT, point)), head)
        assert found.attribute("contenttopic") == point


def test_an_event_has_it_among_its_headers() -> None:
    body = envelope("<x/>", TOPIC)
    (found,) = normalise(accepted(body, "wse-2004-08", "/broker/publish"))
    assert (found.topic, found.attribute("contenttopic")) == (SPACE, POINT)


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wsn-1.2", "wsn-1.0", "onvif", "wse-2004-08", "wse-2011"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_soap_tells_a_plain_topic_with_it(dialect: str, wrapped: bool) -> None:
    body = customise(published(), subscriber(dialect, wrapped=wrapped), "")[1]
    assert b">t0:weather</" in body and b"dialect:content-topic" not in body
    door = "/broker" if wrapped else "/broker/publish"
    (found,) = normalise(accepted(body, dialect if dialect != "onvif" else "wsn-1.3", door))
    assert (found.topic, found.attribute("contenttopic")) == (SPACE, POINT)


def test_cloudevents_have_an_extension() -> None:
    event = json.loads(customise(published(), subscriber("cloudevents"), "")[1])
    assert (event["contenttopic"], event["subject"]) == (POINT, str(SPACE))
    headers = dict(customise(published(), subscriber("cloudevents", wrapped=False), "")[0])
    assert headers["ce-contenttopic"] == POINT


@pytest.mark.parametrize("text", ["", "weather", ":29", "no name:29"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        read(message("<x/>", TOPIC.replace(POINT, text)))
    assert caught.value.reason == "bad-topic-expression"


def test_a_very_long_one_is_refused() -> None:
    with pytest.raises(Refusal, match="too long"):
        read(message("<x/>", TOPIC.replace(POINT, POINT + "9" * 5000)))
