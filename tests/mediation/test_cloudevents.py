import json
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.mediation.requests import NOW, accepted

from tocsin.mediation import cloudevents
from tocsin.mediation.dialects import normalise
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position

STRUCTURED = (("content-type", "application/cloudevents+json"),)
LEAST = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
HEADERS = tuple((f"ce-{name}", value) for name, value in LEAST.items())


def structured(**changes: object) -> Notification:
    event = {name: value for name, value in (LEAST | changes).items() if value != "absent"}
    (read,) = normalise(accepted(json.dumps(event).encode(), "cloudevents", "/events", STRUCTURED))
    return read


def binary(*headers: tuple[str, str], body: bytes = b"") -> Notification:
    (read,) = normalise(accepted(body, "cloudevents", "/events", tuple(dict((*HEADERS, *headers)).items())))
    return read


def test_what_each_attribute_becomes() -> None:
    event = structured(source="http://p/", subject="a/b", time="2026-01-01T00:00:00Z", ext=7, flag=True, data={"a": 1})
    assert (event.id, event.producer, event.type) == ("1", "http://p/", "t")
    assert event.topic == Topic((QName("", "a"), QName("", "b")))
    assert event.attributes == (("ext", "7"), ("flag", "true"), ("subject", "a/b"), ("time", "2026-01-01T00:00:00Z"))
    assert event.payload == Payload("application/json", b'{"a": 1}')


def test_the_topic_is_the_extension_else_a_subject_that_reads_as_one() -> None:
    assert structured(subject="a/b", topic="{urn:x}c").topic == Topic((QName("urn:x", "c"),))
    assert structured(subject="not a topic").topic == NO_TOPIC
    assert structured().topic == NO_TOPIC
    with pytest.raises(Refusal, match="the attribute topic, 'no topic', is not a path such as a/b"):
        structured(topic="no topic")


def test_a_qualified_name_in_clarks_form_is_one_again() -> None:
    assert structured(type="{urn:x}alert").type == QName("urn:x", "alert")
    assert structured(type="com.example.alert").type == "com.example.alert"


@pytest.mark.parametrize(
    ("changes", "payload"),
    [
        ({}, Payload("", b"")),
        ({"data": None}, Payload("application/json", b"null")),
        ({"data": "text"}, Payload("application/json", b'"text"')),
        ({"data": "text", "datacontenttype": "text/plain"}, Payload("text/plain", b"text")),
        ({"data": {"a": 1}, "datacontenttype": "text/plain"}, Payload("text/plain", b'{"a": 1}')),
        ({"data": "<a/>", "datacontenttype": "application/xml"}, Payload("application/xml", b"<a/>")),
        ({"data_base64": "/wA="}, Payload("", b"\xff\0")),
        ({"data": [1], "datacontenttype": "application/x+json"}, Payload("application/x+json", b"[1]")),
    ],
)
def test_json_format_s3_1_data(changes: dict[str, object], payload: Payload) -> None:
    assert structured(**changes).payload == payload


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": "absent"}, "'id' is missing or empty"),
        ({"source": ""}, "'source' is missing or empty"),
        ({"type": None}, "'type' is missing or empty"),
        ({"type": "  "}, "'type' is missing or empty"),
        ({"specversion": "0.3"}, "'0.3' is not supported; 1.0 is"),
        ({"Ext": "x"}, "'Ext' is no attribute name"),
        ({"ext": 1.5}, "'ext' is neither a string, an integer nor a boolean"),
        ({"ext": ["x"]}, "'ext' is neither"),
        ({"id": "a\x00b"}, "'id' holds control characters"),
        ({"ext": "a\r\nb"}, "'ext' holds control characters"),
        ({"id": "x" * 5000}, "'id' has more than 4096 characters"),
        ({"data_base64": "?"}, "data_base64 cannot be decoded"),
        ({"data_base64": "aaaa", "data": 1}, "data or data_base64, not both"),
        ({"datacontenttype": "text/plain\r\nEvil: 1"}, "'datacontenttype' holds control characters"),
        ({"datacontenttype": "text/plain; a=é"}, "is not a media type"),
    ],
)
def test_an_event_that_is_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        structured(**changes)
    assert caught.value.reason == "malformed"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"id": }', b"\xff", b'"x"', b'{"id": "\\ud800"}'])
def test_a_body_that_is_no_json_object(body: bytes) -> None:
    with pytest.raises(Refusal, match="the event is not a JSON object"):
        normalise(accepted(body, "cloudevents", "/events", STRUCTURED))


def test_batches_are_not_taken_yet() -> None:
    with pytest.raises(Refusal, match=r"application/cloudevents-batch\+json is not supported"):
        normalise(accepted(b"[]", "cloudevents", "/events", (("content-type", "application/cloudevents-batch+json"),)))


def test_http_binding_s3_1_3_2_header_values_are_decoded() -> None:
    event = binary(
        ("ce-subject", "%C3%A9%20%22%25"), ("ce-quoted", '"a \\"b\\" %21"'), ("content-type", "text/plain"), body=b"x"
    )
    assert dict(event.attributes) == {"subject": 'é "%', "quoted": 'a "b" !'}
    assert event.payload == Payload("text/plain", b"x")


@pytest.mark.parametrize("header", [("ce-ext", "%0D%0AEvil"), ("ce-a_b", "x"), ("content-type", "a\x00b")])
def test_a_binary_event_that_is_refused(header: tuple[str, str]) -> None:
    with pytest.raises(Refusal):
        binary(header)


SAFE = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1).filter(
    str.strip
)
EXTENSIONS = st.dictionaries(st.from_regex(r"ext[a-z0-9]{1,5}", fullmatch=True), SAFE, max_size=3)
JSON_VALUES = st.dictionaries(st.text(max_size=5).filter(str.isascii), st.integers() | st.booleans() | SAFE, max_size=3)


@st.composite
def sdk_events(draw: st.DrawFn) -> CloudEvent:
    attributes: dict[str, object] = {"id": draw(SAFE), "source": draw(SAFE), "type": draw(SAFE), "specversion": "1.0"}
    attributes["time"] = datetime(2026, 3, 1, 12, 0, draw(st.integers(0, 59)), tzinfo=UTC)
    attributes |= draw(EXTENSIONS)
    media_type, data = draw(
        st.tuples(st.just("application/json"), JSON_VALUES)
        | st.tuples(st.just("text/plain"), SAFE)
        | st.tuples(st.just("application/octet-stream"), st.binary(min_size=1))
    )
    attributes["datacontenttype"] = media_type
    return CloudEvent(attributes=attributes, data=data)


def received(message: HTTPMessage) -> Notification:
    headers = tuple((name.lower(), value) for name, value in message.headers.items())
    (read,) = normalise(accepted(message.body, "cloudevents", "/events", headers))
    return read


def sent(event: Notification, *, wrapped: bool) -> CloudEvent:
    headers, body = cloudevents.structured(event) if wrapped else cloudevents.binary(event)
    read = from_http_event(HTTPMessage(dict(headers), body))
    assert isinstance(read, CloudEvent)
    return read


def bytes_of(data: object, media_type: str) -> object:
    if isinstance(data, (bytes, bytearray)):
        data = bytes(data)
        return json.loads(data) if "json" in media_type else data
    return data.encode() if isinstance(data, str) and "json" not in media_type else data


@given(sdk_events(), st.booleans(), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_what_the_sdk_sends_the_sdk_receives(event: CloudEvent, in_wrapped: bool, out_wrapped: bool) -> None:
    message = to_structured_event(event) if in_wrapped else to_binary_event(event)
    read = sent(received(message), wrapped=out_wrapped)
    assert read.get_attributes() == event.get_attributes()
    media_type = str(event.get_datacontenttype())
    assert bytes_of(read.get_data(), media_type) == bytes_of(event.get_data(), media_type)


def soap_notification(payload: Payload) -> Notification:
    topic = Topic((QName("urn:t", "a"), QName("", "b")))
    at = Position(Node("n"), 1)
    kind = QName("urn:cap", "alert")
    when = Instant(NOW + 123_456_789)
    return Notification(MessageId("urn:é 1"), at, 0, when, "wsn-1.3", "", "http://p/", topic, kind, (), payload)


@pytest.mark.parametrize("wrapped", [True, False])
def test_the_sdk_reads_what_came_from_soap(wrapped: bool) -> None:
    event = sent(soap_notification(Payload("application/xml", "<a>é</a>".encode())), wrapped=wrapped)
    assert (event.get_id(), event.get_source(), event.get_type()) == ("urn:é 1", "http://p/", "{urn:cap}alert")
    assert event.get_subject() == "{urn:t}a/b"
    assert event.get_time() == datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)
    assert bytes_of(event.get_data(), "application/xml") == "<a>é</a>".encode()


@pytest.mark.parametrize(
    ("payload", "member", "value"),
    [
        (Payload("application/json", b'{"a": [1, 2]}'), "data", {"a": [1, 2]}),
        (Payload("application/json", b"{broken"), "data_base64", b64encode(b"{broken").decode()),
        (Payload("application/json", b"\xff"), "data_base64", b64encode(b"\xff").decode()),
        (Payload("text/plain", b"\xff"), "data_base64", b64encode(b"\xff").decode()),
        (Payload("image/png", b"text"), "data_base64", b64encode(b"text").decode()),
        (Payload("image/svg+xml", b"<svg/>"), "data", "<svg/>"),
    ],
)
def test_json_format_s3_1_1_where_data_goes(payload: Payload, member: str, value: object) -> None:
    event = json.loads(cloudevents.structured(soap_notification(payload))[1])
    assert event[member] == value
    assert len({"data", "data_base64"} & set(event)) == 1
    assert event["datacontenttype"] == payload.media_type


def test_an_event_without_data_has_no_data_member() -> None:
    event = json.loads(cloudevents.structured(soap_notification(Payload("", b"")))[1])
    assert {"data", "data_base64", "datacontenttype"} & set(event) == set()
