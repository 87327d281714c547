import json
import re
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.mediation.requests import NOW, accepted

from tocsin.mediation.ce import cloudevents
from tocsin.mediation.ce import writing as ce_writing
from tocsin.mediation.dialects import normalise
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Position, Subscription

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
        ({"data_base64": None}, Payload("", b"")),
        ({"data_base64": None, "data": 1}, Payload("application/json", b"1")),
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
        ({"data_base64": 1234}, "data_base64 cannot be decoded"),
        ({"subject": ""}, "the subject is empty"),
        ({"dataschema": "schema.json"}, "the dataschema 'schema.json' is not an absolute URI"),
        ({"ext": 2**31}, "'ext' is no integer of 32 bits; write it as a string"),
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


def test_an_event_nested_too_deeply_is_refused() -> None:
    deep = json.dumps(LEAST)[:-1].encode() + b', "data": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    with pytest.raises(Refusal, match="nested too deeply"):
        normalise(accepted(deep, "cloudevents", "/events", STRUCTURED))


BATCHED = (("content-type", "application/cloudevents-batch+json; charset=UTF-8"),)


def batch(*events: object) -> tuple[Notification, ...]:
    return normalise(accepted(json.dumps(events).encode(), "cloudevents", "/events", BATCHED))


def test_http_binding_s3_3_a_batch_is_one_record_of_many() -> None:
    first, second = batch(LEAST | {"data": [1]}, LEAST | {"id": "2", "datacontenttype": "text/plain", "data": "x"})
    assert (first.id, first.index, second.id, second.index) == ("1", 0, "2", 1)
    assert first.at == second.at and first.payload == Payload("application/json", b"[1]")
    assert second.payload == Payload("text/plain", b"x")


def test_one_bad_event_refuses_the_whole_batch() -> None:
    with pytest.raises(Refusal, match=r"event 1 of the batch .*: the CloudEvents attribute 'id' is missing"):
        batch(LEAST, LEAST | {"id": None}, LEAST)
    with pytest.raises(Refusal, match=r"event 0 of the batch .*: the event is not a JSON object"):
        batch(7)


@pytest.mark.parametrize("body", [b"{}", b"", b"[", b'"x"', b"[1,]"])
def test_a_body_that_is_no_batch(body: bytes) -> None:
    with pytest.raises(Refusal, match="the batch is not a JSON array"):
        normalise(accepted(body, "cloudevents", "/events", BATCHED))


@pytest.mark.parametrize(
    ("content_type", "body", "empty"),
    [
        ("application/cloudevents-batch+json", b"[]", True),
        ("Application/CloudEvents-Batch+JSON; charset=utf-8", b" [ \n] ", True),
        ("application/cloudevents-batch+json", b"[{}]", False),
        ("application/cloudevents-batch+json", b"", False),
        ("application/cloudevents+json", b"[]", False),
        ("application/json", b"[]", False),
    ],
)
def test_http_binding_s3_3_2_a_batch_may_be_empty(content_type: str, body: bytes, empty: bool) -> None:
    assert cloudevents.is_empty_batch(content_type, body) is empty


def test_who_takes_several_together_is_sent_a_batch() -> None:
    event = structured(data={"a": 1}, subject="a/b")
    form = Form("cloudevents", together=100)
    subscription = Subscription(SubscriptionId("s"), None, None, None, form, (), event.at, None)
    headers, body = ce_writing.customise(event, subscription, "")
    assert headers == (("Content-Type", "application/cloudevents-batch+json; charset=utf-8"),)
    assert body == b"[%b]" % cloudevents.structured(event)[1]
    assert normalise(accepted(body, "cloudevents", "/events", tuple((n.lower(), v) for n, v in headers))) == (event,)


@pytest.mark.parametrize("kind", ["application/cloudevents+xml", "application/cloudevents-batch+avro"])
def test_other_event_formats_are_refused_by_name(kind: str) -> None:
    with pytest.raises(Refusal, match=f"the event format {re.escape(kind)} is not supported; send ") as caught:
        normalise(accepted(b"", "cloudevents", "/events", (("content-type", kind),)))
    assert caught.value.reason == "unsupported-delivery"


@pytest.mark.parametrize("charset", ["utf-16", '"UTF-16LE"', "iso-8859-1", "utf-8"])
def test_the_charset_of_structured_mode_is_heard(charset: str) -> None:
    body = json.dumps(LEAST | {"subject": "é"}, ensure_ascii=False).encode(charset.strip('"'))
    kind = f"application/cloudevents+json; version=1; charset={charset}"
    (read,) = normalise(accepted(body, "cloudevents", "/events", (("content-type", kind),)))
    assert read.attribute("subject") == "é"


@pytest.mark.parametrize(("charset", "why"), [("klingon", "is not known"), ("utf-16", "is not in the charset")])
def test_a_charset_that_cannot_be(charset: str, why: str) -> None:
    kind = f"application/cloudevents+json; charset={charset}"
    with pytest.raises(Refusal, match=why):
        normalise(accepted(b"{}!", "cloudevents", "/events", (("content-type", kind),)))


@pytest.mark.parametrize(
    "time", ["2026-01-01T00:00:00Z", "2024-02-29t01:02:03.000000001z", "1990-12-31T23:59:60-08:00"]
)
def test_times_of_rfc_3339(time: str) -> None:
    assert structured(time=time).attribute("time") == time


@pytest.mark.parametrize(
    "time",
    [
        "",
        "yesterday",
        "2026-01-01",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-1-1T0:0Z",
    ],
)
def test_what_is_no_time_of_rfc_3339(time: str) -> None:
    with pytest.raises(Refusal, match="is not as RFC 3339 has it"):
        structured(time=time)


@pytest.mark.parametrize("value", ["%C0%A0", "%ff", "a%E2%82"])
def test_http_binding_s3_1_3_2_bytes_that_are_no_utf_8_are_refused(value: str) -> None:
    with pytest.raises(Refusal, match="the header ce-subject holds percent-encoded bytes that are no UTF-8"):
        binary(("ce-subject", value))


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
