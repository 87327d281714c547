"""The central property: what a dialect can say arrives in any other as the loss table tells, no less and no more."""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from itertools import product
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import msgspec
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.effort import examples

from tocsin.markup import xml
from tocsin.mediation.dialects import DIALECTS, NAMES, customise, normalise
from tocsin.mediation.losses import LOSSES, arriving, room_of, table
from tocsin.mediation.rules import Dialect
from tocsin.mediation.soap.namespaces import SOAP_11, SOAP_12, TOCSIN, WSA_NAMESPACES, WSA_VERSIONS
from tocsin.mediation.soap.payloads import is_xml
from tocsin.model.identity import Instant, Node, Pairs, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

BROKER, READER = Position(Node("broker"), 7), Position(Node("reader"), 3)
ACCEPTED, READ = Instant(1_700_000_000_123_456_789), Instant(1_800_000_000_000_000_000)

CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
WORDS = st.text(CHARACTERS, min_size=1, max_size=12).filter(lambda text: text.strip() != "")
URIS = st.sampled_from(["urn:a", "http://x.example/a?b=1&c=2", "urn:ü", "x<y>", "a'b\"c", "{urn:x}y"]) | WORDS
LOCALS = st.sampled_from(["a", "Alert", "b.c-d", "日本"])
TOPIC_NAMESPACES = st.sampled_from(["", "urn:t", "http://t.example/'&?a=#b"])
TOPICS_ = st.lists(st.builds(QName, TOPIC_NAMESPACES, LOCALS), min_size=1, max_size=4).map(
    lambda steps: Topic(tuple(steps))
)

CONTENT_TOPICS = st.sampled_from(["weather:Troy,NY/29", "w:a&b/<\"'/é", "w:%2F"])
ELEMENTS = st.sampled_from(
    [
        '<c:alert xmlns:c="urn:cap"><c:x>1</c:x></c:alert>',
        '<alert xmlns="urn:cap" k="v"/>',
        "<plain>no namespace</plain>",
        "<w:own>declared outside</w:own>",
        "<a>w:qname s:x wsnt:y</a>",
        '<s:a xmlns:s="urn:own" s:k="x > y">&amp;&#13;</s:a>',
        "<a><!-- c --><![CDATA[<&>]]></a>",
        "<a>\r\n\t é 日本</a>",
        '<a xmlns:p="urn:p"><b xmlns:p="urn:q">p:x</b>p:y</a>',
        f'<t:Other xmlns:t="{TOCSIN}"/>',
    ]
)
MEDIA_TYPES = st.sampled_from(
    ["application/json", "text/plain", "application/octet-stream", "", "application/x+json; a=1", "TEXT/HTML"]
)
XML_TYPES = st.sampled_from(["application/xml", "text/xml; charset=utf-8", "image/svg+xml"])
DATA = st.binary(max_size=20) | st.sampled_from(
    [b'{"a": [1,\r\n2]}', b"null", b"plain", b" x ", b"<not/>really", "é".encode()]
)
LOOSE_XML = ELEMENTS.filter(lambda text: "w:" not in text).map(str.encode) | st.sampled_from(
    [b"<broken", b"", '<?xml version="1.0" encoding="iso-8859-1"?>\n<a>ü</a>'.encode("latin-1"), b"<!DOCTYPE a><a/>"]
)


def wrapper(media_type: str, data: bytes, kind: str) -> str:
    named = f" Type={quoteattr(kind)}" if kind else ""
    content = b64encode(data).decode()
    return f'<z:Data xmlns:z="{TOCSIN}" MediaType={quoteattr(media_type)}{named} Encoding="base64">{content}</z:Data>'


CONTENT = ELEMENTS | st.builds(wrapper, MEDIA_TYPES | XML_TYPES, DATA, st.just("") | URIS)


def accepted(dialect: str, door: str, headers: Pairs, body: bytes) -> Accepted:
    return Accepted(BROKER, ACCEPTED, door, dialect, headers, None, "00000000-cause", body)


def topic_element(topic: Topic | str | None, dialect: Dialect) -> str:
    """A text is a content topic."""
    if topic is None:
        return ""
    if isinstance(topic, str):
        return f'<wsnt:Topic {dialect.topic_attribute}="urn:tocsin:dialect:content-topic">{escape(topic)}</wsnt:Topic>'
    spaces = list(dict.fromkeys(step.namespace for step in topic.steps if step.namespace))
    declared = "".join(f" xmlns:n{at}={quoteattr(uri)}" for at, uri in enumerate(spaces))
    steps = (f"n{spaces.index(s.namespace)}:{s.local}" if s.namespace else s.local for s in topic.steps)
    uri = dialect.topic_dialects[1]
    return f'<wsnt:Topic{declared} {dialect.topic_attribute}="{uri}">{"/".join(steps)}</wsnt:Topic>'


@st.composite
def envelopes(draw: st.DrawFn, dialect: Dialect, headers: Sequence[str], content: str) -> bytes:
    soap, wsa = draw(st.sampled_from([SOAP_11, SOAP_12])), draw(st.sampled_from(list(WSA_VERSIONS)))
    declared = f'xmlns:w="urn:w" xmlns:wsnt="{topic_namespace(dialect)}" xmlns:wsa="{wsa}"'
    parts = f"<e:Header>{''.join(headers)}</e:Header><e:Body>{content}</e:Body>"
    text = f'<e:Envelope xmlns:e="{soap}" {declared}>{parts}</e:Envelope>'
    prolog = draw(st.sampled_from(["", '<?xml version="1.0" encoding="UTF-8"?>\n']))
    return (prolog + text).encode()


def block(name: str, value: str | None) -> str:
    return "" if value is None else f"<wsa:{name}>{escape(value)}</wsa:{name}>"


def address(name: str, value: str | None) -> str:
    return "" if value is None else f"<{name}>{block('Address', value)}</{name}>"


def topic_namespace(dialect: Dialect) -> str:
    """Of the Topic, which events carry among their headers."""
    assert dialect.raw is not None
    return next(entry.path[-1].namespace for entry in dialect.raw.entries if entry.name == "topic")


@st.composite
def wsn_records(draw: st.DrawFn, dialect: Dialect) -> Accepted:
    messages = draw(
        st.lists(st.tuples(st.none() | TOPICS_ | CONTENT_TOPICS, st.none() | URIS, CONTENT), min_size=1, max_size=3)
    )
    inner = "".join(
        f"<wsnt:NotificationMessage>{topic_element(topic, dialect)}{address('wsnt:ProducerReference', producer)}"
        f"<wsnt:Message>{content}</wsnt:Message></wsnt:NotificationMessage>"
        for topic, producer, content in messages
    )
    headers = [block("MessageID", draw(st.none() | URIS)), address("wsa:From", draw(st.none() | URIS))]
    body = draw(envelopes(dialect, headers, f"<wsnt:Notify>{inner}</wsnt:Notify>"))
    return accepted(dialect.name, "/broker", (), body)


@st.composite
def wse_records(draw: st.DrawFn, dialect: Dialect) -> Accepted:
    action = draw(st.none() | URIS | st.sampled_from(["urn:cap/alert", "urn:plain"]))
    headers = [
        block("Action", action),
        block("MessageID", draw(st.none() | URIS)),
        address("wsa:From", draw(st.none() | URIS)),
        topic_element(draw(st.none() | TOPICS_ | CONTENT_TOPICS), dialect),
    ]
    door = draw(st.sampled_from(["/broker/publish", "/broker/publish/x/y"]))
    content = draw(CONTENT)
    if dialect.wrapped is not None and dialect.wrapped.element is not None and draw(st.booleans()):
        named = "" if action is None else f" actionURI={quoteattr(action)}"
        content = f'<q:Notify xmlns:q="{dialect.wrapped.element.namespace}"{named}>{content}</q:Notify>'
    return accepted(dialect.name, door, (), draw(envelopes(dialect, headers, content)))


TIMES = st.sampled_from(["2026-03-01T12:00:00Z", "2024-02-29t23:59:60.123456789+05:30"])
EXTENSIONS = st.fixed_dictionaries(
    {},
    optional={
        "time": TIMES,
        "dataschema": st.just("urn:schema"),
        "traceparent": WORDS,
        "ext1": WORDS,
        "contenttopic": WORDS,
    },
)


@st.composite
def cloud_attributes(draw: st.DrawFn) -> dict[str, str]:
    found = {"specversion": "1.0", "id": draw(URIS), "source": draw(URIS), "type": draw(URIS)} | draw(EXTENSIONS)
    if draw(st.booleans()):
        found["subject"] = draw(WORDS | TOPICS_.map(str))
    if draw(st.booleans()):
        found["topic"] = str(draw(TOPICS_))
    return found


JSON = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | WORDS, lambda inner: st.lists(inner, max_size=2))


@st.composite
def structured_records(draw: st.DrawFn) -> Accepted:
    event: dict[str, object] = dict(draw(cloud_attributes()))
    media_type, data = draw(MEDIA_TYPES | XML_TYPES | st.just("application/cloudevents+json")), draw(DATA | LOOSE_XML)
    if media_type:
        event["datacontenttype"] = media_type
    match draw(st.sampled_from(["none", "json", "text", "base64"])):
        case "json":
            event["data"] = draw(JSON)
        case "text":
            event["data"] = data.decode("utf-8", "replace")
        case "base64":
            event["data_base64"] = b64encode(data).decode()
    headers = (("content-type", "application/cloudevents+json; charset=UTF-8"),)
    return accepted("cloudevents", "/events", headers, json.dumps(event).encode())


@st.composite
def binary_records(draw: st.DrawFn) -> Accepted:
    headers = [(f"ce-{name}", quote(value)) for name, value in draw(cloud_attributes()).items()]
    media_type = draw(MEDIA_TYPES | XML_TYPES)
    if media_type:
        headers.append(("content-type", media_type))
    return accepted("cloudevents", "/events", tuple(headers), draw(DATA | LOOSE_XML))


@st.composite
def raw_records(draw: st.DrawFn) -> Accepted:
    door = draw(st.sampled_from(["/broker/publish", "/broker/publish/a/b", "/broker/publish/%7Burn:x%7Da"]))
    well_formed = ELEMENTS.filter(lambda text: "w:" not in text).map(str.encode)
    media_type, body = draw(st.tuples(MEDIA_TYPES, DATA) | st.tuples(XML_TYPES, well_formed))
    return accepted("raw", door, (("content-type", media_type),), body)


RECORDS: dict[str, st.SearchStrategy[Accepted]] = {
    **{each.name: wsn_records(each) for each in DIALECTS if room_of(each.name) == "wrapped" and each.wrapped},
    **{each.name: wse_records(each) for each in DIALECTS if room_of(each.name) == "event"},
    "cloudevents": structured_records() | binary_records(),
    "raw": raw_records(),
}
FORMS = st.builds(
    Form,
    dialect=st.just(""),
    soap=st.sampled_from(["1.1", "1.2"]),
    addressing=st.sampled_from(list(WSA_NAMESPACES)),
    wrapped=st.booleans(),
)
REFERENCES = st.sampled_from([b"", b'<r:id xmlns:r="urn:r">7</r:id>'])


def delivered(notification: Notification, dialect: str, form: Form, reference: bytes) -> Accepted:
    consumer = Endpoint("http://consumer.example/in?a=1&b=2", reference)
    form = msgspec.structs.replace(form, dialect=dialect)
    recipient = Subscription(SubscriptionId("s-1"), None, consumer, None, form, (), BROKER, None)
    headers, body = customise(notification, recipient, "http://broker.example")
    for name, value in headers:
        assert value.isascii(), name
        assert value.isprintable(), name
    lower = tuple((name.lower(), value) for name, value in headers)
    return Accepted(READER, READ, "/in", dialect, lower, None, "11111111-cause", body)


def canonical(payload: Payload) -> Payload:
    if not is_xml(payload.media_type):
        return payload
    try:
        root = xml.parse(payload.data)
        return Payload(payload.media_type, etree.tostring(root, method="c14n", exclusive=True))
    except (xml.MarkupError, etree.C14NError):
        return payload


def comparable(notification: Notification) -> Notification:
    """Where and when it was read set aside, and XML as XML."""
    payload = canonical(notification.payload)
    return msgspec.structs.replace(notification, at=BROKER, index=0, when=ACCEPTED, cause="", payload=payload)


EXAMPLE = {"wrapped": "wsn-1.3", "event": "wse-2004-08"}
PAIRS = sorted(product(RECORDS, NAMES))


def test_the_table_has_a_row_for_every_pair() -> None:
    assert {(room_of(source), room_of(target)) for source, target in PAIRS} <= set(LOSSES)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_arrives_is_what_the_loss_table_says(source: str, target: str) -> None:
    @given(RECORDS[source], FORMS, REFERENCES)
    @settings(max_examples=examples(60), deadline=None)
    def check(record: Accepted, form: Form, reference: bytes) -> None:
        for sent in normalise(record):
            (read,) = normalise(delivered(sent, target, form, reference))
            assert comparable(read) == comparable(arriving(sent, target, wrapped=form.wrapped))

    check()


@pytest.mark.parametrize("dialect", NAMES)
def test_within_a_dialect_nothing_is_lost(dialect: str) -> None:
    assert LOSSES[room_of(dialect), room_of(dialect)] == {}


def changes(source: str, target: str, field: str) -> Callable[[Accepted], bool]:
    def differs(record: Accepted) -> bool:
        sent = normalise(record)[0]
        before, after = comparable(sent), comparable(arriving(sent, target))
        return bool(getattr(before, field) != getattr(after, field))

    return differs


ROWS = [row for row in table() if EXAMPLE.get(row[0], row[0]) in RECORDS]


@pytest.mark.parametrize(("source", "target", "field", "what"), ROWS)
def test_each_row_of_the_loss_table_is_a_real_loss(source: str, target: str, field: str, what: str) -> None:
    assert what
    source, target = EXAMPLE.get(source, source), EXAMPLE.get(target, target)
    find(
        RECORDS[source],
        changes(source, target, field),
        settings=settings(max_examples=2000, deadline=None, phases=[Phase.generate]),
    )
