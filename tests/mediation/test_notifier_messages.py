"""A notifier's SOAP: a copy comes back as it went, and what cannot be read is told so that it can be mended."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.effort import examples

from tocsin.mediation.faults import fault
from tocsin.mediation.soap.namespaces import NOTIFIER, SOAP_11, SOAP_12, WSA_2005
from tocsin.mediation.times import LAST
from tocsin.mediation.ws.notifier_messages import (
    DIALECT,
    NAME,
    NotifyRequest,
    PublishRequest,
    notified_reply,
    notify_request,
    open_notifier_message,
    publish_request,
    published_reply,
    read_notifier_message,
)
from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Copy, Message, Payload
from tocsin.model.refusal import Refusal

WHEN = Instant(1_700_000_000_123_456_789)
VERSIONS = pytest.mark.parametrize("version", ["1.1", "1.2"])
LEGAL = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
NAMES = st.text(LEGAL, min_size=1, max_size=12).filter(lambda text: text == text.strip())
VALUES = st.text(LEGAL | st.sampled_from("\t\n\r"), max_size=12)
MEDIA_TYPES = st.sampled_from(
    ["application/xml", "text/xml; charset=utf-8", "image/svg+xml", "application/json", "text/plain", ""]
)
MARKUP = st.sampled_from(
    [
        b"<a/>",
        b"<a>1 &lt; 2</a>",
        b'<a xmlns="urn:x"><b n="1"/></a>',
        b'<n:Data xmlns:n="urn:y"/>',
        b'<a><n:b xmlns:n="urn:z"/></a>',
        b"<a>n:b</a>",
        b"<a>\r\n</a>",
        b"<a>&#13;</a>",
        b"<a><!-- no --></a>",
        b'<?xml version="1.0"?><a/>',
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        b"<a>",
        b"<a/><b/>",
        b"\xff\xfe<\0a\0/\0>\0",
        b"  <a/>  ",
    ]
)
DATA = st.builds(Payload, MEDIA_TYPES, st.binary(max_size=40) | MARKUP | VALUES.map(str.encode))
MESSAGES = st.builds(
    Message,
    NAMES.map(MessageId),
    NAMES,
    NAMES,
    NAMES,
    DATA,
    st.integers(0, LAST).map(Instant),
    st.just("") | NAMES,
    st.lists(st.tuples(NAMES, VALUES), max_size=3).map(tuple),
)
COPIES = st.builds(
    Copy,
    NAMES,
    MESSAGES,
    NAMES,
    NAMES,
    st.integers(1, 10_000),
    st.lists(NAMES, max_size=5).map(tuple),
    st.none() | st.integers(0, 10_000),
)
MESSAGE = Message(MessageId("m"), "hin", "IDER", "Disaster Info", Payload("application/xml", b"<a/>"), WHEN)
COPY = Copy("c", MESSAGE, "IDER", "CARE", 1, ("USGS", "CARE"))


@VERSIONS
@settings(max_examples=examples(300), deadline=None)
@given(copy=COPIES, proof=NAMES)
@example(copy=COPY, proof="p")
def test_a_copy_comes_back_as_it_went(version: str, copy: Copy, proof: str) -> None:
    _, body = notify_request(copy, proof, version)
    assert read_notifier_message(body) == NotifyRequest(copy.message.topic, copy.message.data, copy, proof)


@VERSIONS
@settings(max_examples=examples(100), deadline=None)
@given(topic=NAMES, data=DATA, protocol=st.none() | NAMES, limit=st.none() | st.integers(1, 10_000))
def test_publish_comes_back_as_it_went(
    version: str, topic: str, data: Payload, protocol: str | None, limit: int | None
) -> None:
    asked = PublishRequest(topic, data, protocol, limit)
    assert read_notifier_message(publish_request(asked, version)[1]) == asked


@settings(max_examples=examples(300), deadline=None)
@given(
    st.binary(max_size=200)
    | st.builds(
        lambda body, at, put: body[:at] + put + body[at:],
        st.just(notify_request(COPY, "p")[1]),
        st.integers(0, 900),
        st.sampled_from([b"<", b">", b"&", b"\0", b"\xff", b"<x>", b"</n:Root>", b'"', b" "]),
    )
)
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    try:
        read_notifier_message(body)
    except Refusal as refusal:
        assert refusal.text


def test_the_header_of_the_paper() -> None:
    """Root and Notified are SOAP headers, one element a name; XML is data as it is."""
    headers, body = notify_request(COPY, "p", "1.1")
    assert dict(headers) == {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '"urn:tocsin:notifier:Notify"'}
    root = etree.fromstring(body)
    at = {"s": SOAP_11, "n": NOTIFIER}
    assert root.xpath("string(s:Header/n:Root)", namespaces=at) == "IDER"
    assert [each.text for each in root.findall("s:Header/n:Notified/n:Notifier", at)] == ["USGS", "CARE"]
    assert root.find("s:Body/n:Notify/n:Data/a", at) is not None


def envelope(content: str, headers: str = "", soap: str = SOAP_12) -> bytes:
    return (
        f'<s:Envelope xmlns:s="{soap}" xmlns="{NOTIFIER}" xmlns:wsa="{WSA_2005}">'
        f"<s:Header>{headers}</s:Header><s:Body>{content}</s:Body></s:Envelope>"
    ).encode()


TOPIC = "<Topic>\n  Earthquake\n</Topic>"
ROOT = "<Root>A</Root><Message>m</Message><Copy>c</Copy><Protocol>din</Protocol><Sender>A</Sender><For>B</For>"
MORE = "<Hop>1</Hop><When>2030-01-31T12:00:00Z</When>"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('<Data><p xmlns="">1</p></Data>', Payload("application/xml", b'<p xmlns="">1</p>')),
        ("<Data>strong</Data>", Payload("text/plain", b"strong")),
        ('<Data MediaType="application/json">{}</Data>', Payload("application/json", b"{}")),
        ('<Text MediaType="application/json">{"a": 1}</Text>', Payload("application/json", b'{"a": 1}')),
        ('<Text Encoding="base64"> AP8= </Text>', Payload("text/plain", b"\0\xff")),
        ("<Text><![CDATA[a < b]]></Text>", Payload("text/plain", b"a < b")),
        ("<Text>a<!-- b -->c<?d e?><f>g</f>h</Text>", Payload("text/plain", b"acgh")),
        ("<Data/>", Payload("text/plain", b"")),
    ],
)
def test_data(data: str, expected: Payload) -> None:
    asked = read_notifier_message(envelope(f"<Publish>{TOPIC}{data}</Publish>"))
    assert asked == PublishRequest("Earthquake", expected)


def test_the_action_decides_nothing() -> None:
    said = envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", "<wsa:Action>urn:tocsin:notifier:Publish</wsa:Action>")
    assert read_notifier_message(said) == NotifyRequest("Earthquake", Payload("text/plain", b"a"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"<a", "well-formed"),
        (b"<a/>", "Envelope"),
        (envelope(""), "an empty Body is not an operation"),
        (envelope("<Subscribe/>"), "Publish and Notify are"),
        (envelope('<Publish xmlns="urn:other"/>'), "not an operation"),
        (envelope("<Publish><Text>a</Text></Publish>"), "no Topic"),
        (envelope("<Publish><Topic> </Topic><Text>a</Text></Publish>"), "no Topic"),
        (envelope(f"<Publish>{TOPIC}</Publish>"), "neither Data"),
        (envelope(f"<Publish>{TOPIC}<Data><a/><b/></Data></Publish>"), "one element"),
        (envelope(f"<Publish>{TOPIC}<Data>a<b/></Data></Publish>"), "one element"),
        (envelope(f"<Publish>{TOPIC}<Text Encoding='rot13'>a</Text></Publish>"), "base64 is"),
        (envelope(f"<Publish>{TOPIC}<Text Encoding='base64'>a</Text></Publish>"), "decoded"),
        (envelope(f"<Publish>{TOPIC}<Text MediaType='a&#10;b'>a</Text></Publish>"), "media type"),
        (envelope(f"<Publish>{TOPIC}<Text>a</Text><Limit>0</Limit></Publish>"), "1 or more"),
        (envelope(f"<Publish>{TOPIC}<Text>a</Text><Limit>{'9' * 50}</Limit></Publish>"), "1 or more"),
        (envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", "<Notified/>"), "nothing without Root"),
        (envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", "<Root>A</Root>"), "header Message"),
        (envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", ROOT), "header When"),
        (
            envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", f"{ROOT}<Hop>0</Hop><When>2030-01-31T12:00:00Z</When>"),
            "Hop",
        ),
        (envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", f"{ROOT}<Hop>1</Hop><When>noon</When>"), "not a time"),
        (envelope(f"<Notify>{TOPIC}<Text>a</Text></Notify>", f"{ROOT}{MORE}<Most>-1</Most>"), "Most"),
        (envelope("<Notify/>", "<wsa:X s:mustUnderstand='true'/>"), "must be understood"),
    ],
)
def test_what_is_wrong_is_said(said: bytes, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        read_notifier_message(said)


def test_what_xml_cannot_write_is_not_sent() -> None:
    message = Message(MessageId("m"), "din", "A", "T", MESSAGE.data, WHEN, attributes=(("note", "\0"),))
    with pytest.raises(Refusal, match="no way to write"):
        notify_request(Copy("c", message, "A", "B", 1), "p")


@pytest.mark.parametrize(("soap", "namespace"), [("1.1", SOAP_11), ("1.2", SOAP_12)])
def test_answers_are_in_the_callers_soap(soap: str, namespace: str) -> None:
    addressed = "<wsa:Action>x</wsa:Action><wsa:MessageID>urn:1</wsa:MessageID>"
    said = envelope(f"<Publish>{TOPIC}<Text>a</Text></Publish>", addressed, namespace)
    context = open_notifier_message(said).context(NAME)
    root = etree.fromstring(published_reply(context, MessageId("m<1")).body)
    assert root.tag == f"{{{namespace}}}Envelope"
    assert root.findtext(f".//{{{NOTIFIER}}}MessageID") == "m<1"
    assert root.findtext(f".//{{{WSA_2005}}}RelatesTo") == "urn:1"
    assert root.findtext(f".//{{{WSA_2005}}}Action") == "urn:tocsin:notifier:PublishResponse"
    assert etree.fromstring(notified_reply(context).body).find(f".//{{{NOTIFIER}}}NotifyResponse") is not None
    told = fault(DIALECT, "", context, Refusal("not-proven", "show a proof"), WHEN)
    assert told.status == 403 and b"NotProven" in told.body and b"show a proof" in told.body
    assert etree.fromstring(told.body).tag == f"{{{namespace}}}Envelope"
