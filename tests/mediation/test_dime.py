"""DIME frames; clauses are those of draft-nielsen-dime-02."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.mediation.soap import dime
from tocsin.mediation.soap.dime import DimeError, Message, Reader, TooLong

LIMIT = 1 << 16
SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
TEXTS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=40)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    kind = draw(st.sampled_from(["media type", "uri", "unknown", "none"]))
    named = kind in ("media type", "uri")
    data = b"" if kind == "none" else draw(st.binary(max_size=200))
    return Message(data, draw(TEXTS) if named else "", kind, draw(TEXTS))  # type: ignore[arg-type]


@given(st.lists(st.tuples(messages(), st.none() | st.integers(1, 50)), max_size=4), st.integers(1, 64))
@settings(max_examples=examples(150), deadline=None)
def test_what_is_written_is_read_however_it_arrives(sent: list[tuple[Message, int | None]], step: int) -> None:
    octets = b"".join(dime.write(message, chunk=chunk) for message, chunk in sent)
    assert len(octets) % 4 == 0
    reader = Reader(LIMIT)
    found = [each for at in range(0, len(octets), step) for each in reader.feed(octets[at : at + step])]
    assert found == [message for message, _ in sent]
    assert not reader.under_way


@given(st.binary(max_size=400), st.integers(1, 64))
@settings(max_examples=examples(300), deadline=None)
def test_whatever_comes_is_read_or_refused(octets: bytes, step: int) -> None:
    reader = Reader(256)
    try:
        for at in range(0, len(octets), step):
            reader.feed(octets[at : at + step])
    except DimeError as problem:
        assert str(problem.args[0])


@given(messages(), st.none() | st.integers(1, 50), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_one_octet_changed_is_read_or_refused(message: Message, chunk: int | None, data: st.DataObject) -> None:
    octets = bytearray(dime.write(message, chunk=chunk))
    octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    try:
        Reader(LIMIT).feed(bytes(octets))
    except DimeError as problem:
        assert str(problem.args[0])


def test_s3_1_the_layout_of_a_record() -> None:
    octets = dime.write(Message(b"<e/>!", SOAP_11, "uri", "urn:1"))
    assert octets[:12] == bytes([0b00001_110, 0x20, 0, 0, 0, 5, 0, len(SOAP_11), 0, 0, 0, 5])
    assert octets[12:20] == b"urn:1\0\0\0"
    assert octets[20 : 20 + len(SOAP_11)] == SOAP_11.encode()
    assert octets[-8:] == b"<e/>!\0\0\0"


def record(
    flags: int = dime.BEGIN | dime.END,
    kind: int = 2,
    *,
    version: int = 1,
    reserved: int = 0,
    name: bytes = b"",
    type_: bytes = b"",
    options: bytes = b"",
    data: bytes = b"",
) -> bytes:
    header = struct.pack(
        ">BBHHHI", version << 3 | flags, kind << 4 | reserved, len(options), len(name), len(type_), len(data)
    )
    return header + b"".join(each + bytes(-len(each) % 4) for each in (options, name, type_, data))


def test_options_are_passed_over() -> None:
    (read,) = Reader(LIMIT).feed(record(type_=b"urn:x", options=b"\0\1\0\3abc", data=b"d"))
    assert read == Message(b"d", "urn:x", "uri")


FIRST_CHUNK = record(dime.BEGIN | dime.CHUNK, 1, type_=b"text/xml", data=b"<a")


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"POST /broker HTTP/1.1\r\n", "HTTP is served at another port"),
        (record(version=2), "its version would be 2"),
        (record(reserved=1), "reserved bits"),
        (record(dime.END), "must say so"),
        (record(dime.BEGIN | dime.END | dime.CHUNK), "cannot both end"),
        (record(dime.BEGIN, type_=b"urn:x"), "attachments, which are not supported"),
        (record(kind=0), "type format 0"),
        (record(kind=9), "type format 9"),
        (record(kind=3, type_=b"urn:x"), "must not name a type"),
        (record(kind=4, data=b"x"), "must not hold data"),
        (record(type_=b"\xff"), "not in ASCII"),
        (FIRST_CHUNK + FIRST_CHUNK, "begins .* before the one before it has ended"),
        (FIRST_CHUNK + record(dime.END, 1, data=b"/>"), "must not give its own"),
        (FIRST_CHUNK + record(dime.END, 0, name=b"urn:1"), "must not give its own"),
        (FIRST_CHUNK + record(0, 0, data=b"/>"), "attachments, which are not supported"),
    ],
)
def test_frames_that_are_refused(octets: bytes, why: str) -> None:
    with pytest.raises(DimeError, match=why):
        Reader(LIMIT).feed(octets)


def test_what_was_whole_before_a_bad_frame_is_told() -> None:
    good = Message(b"<a/>", "text/xml", "media type")
    with pytest.raises(DimeError) as caught:
        Reader(LIMIT).feed(dime.write(good) + b"GET / HTTP/1.1\r\n")
    assert caught.value.args[1] == [good]


def test_too_much_is_refused_before_it_has_come() -> None:
    header = record(data=b"")[:8] + struct.pack(">I", 0xFFFFFFFF)
    with pytest.raises(TooLong, match="more than the 65536 bytes"):
        Reader(LIMIT).feed(header)


def test_too_much_in_chunks_is_refused() -> None:
    reader = Reader(100)
    reader.feed(record(dime.BEGIN | dime.CHUNK, 3, data=b"x" * 60))
    with pytest.raises(TooLong, match="more than the 100 bytes"):
        reader.feed(record(dime.CHUNK, 0, data=b"x" * 60))


def test_chunks_without_data_come_to_an_end() -> None:
    reader = Reader(100)
    reader.feed(record(dime.BEGIN | dime.CHUNK, 3))
    with pytest.raises(TooLong, match="too many small chunks"):
        reader.feed(record(dime.CHUNK, 0) * 30_000)


@pytest.mark.parametrize(
    ("media_type", "message"),
    [
        ("application/soap+xml; action=x", Message(b"x", SOAP_12, "uri")),
        ("text/xml; charset=utf-8", Message(b"x", SOAP_11, "uri")),
        ("application/problem+json", Message(b"x", "application/problem+json", "media type")),
        ("", Message(b"x")),
    ],
)
def test_soap_is_named_by_its_namespace(media_type: str, message: Message) -> None:
    assert dime.of_soap(b"x", media_type) == message
    kind = media_type.partition(";")[0]
    assert dime.content_type(message).partition(";")[0] == kind
