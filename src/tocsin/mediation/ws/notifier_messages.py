"""Publish(T, D) and Notify(T, D) of a notifier (paper 000, s3.2) in SOAP, HIN's header (s4.3) as SOAP headers.

XML is `Data`, as the element it is; any other media type is `Text`, in base64 where it is no text that XML can hold.
"""

import base64
import contextlib
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError, children, text_in, text_of
from tocsin.mediation import times
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.rules import Dialect, Faults, Names
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import NOTIFIER, SOAP_NAMESPACES
from tocsin.mediation.soap.payloads import NOT_XML, XML_TYPE, as_text, checked_media_type, is_xml
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.notification import Copy, Message, Payload
from tocsin.model.refusal import Reason, Refusal

NAME = "notifier"
TEXT_TYPE = "text/plain"
LONGEST_NUMBER = 9  # digits of a hop, a bound or a limit
# Besides Root and Notified, which the paper has: what a copy needs so that it can be told again and believed.
HEADERS = (
    *("Root", "Notified", "Message", "Copy", "Protocol", "Sender", "For", "Hop", "Most"),
    *("When", "Reports", "Attributes", "Proof"),
)
_REASONS: tuple[Reason, ...] = ("malformed", "unknown-name", "unknown-operation", "not-proven", "not-here", "too-large")
_n = Names("n", NOTIFIER)
DIALECT = Dialect(
    NAME, "Tocsin notifier", faults=Faults({each: _n.one(each.title().replace("-", "")) for each in _REASONS})
)
_KNOWN: soap.Headers = {**soap.HEADERS, **{f"{{{NOTIFIER}}}{each}": (f"n:{each}", None) for each in HEADERS}}
Parts = dict[str, Element]
_PARTS = {f"{{{NOTIFIER}}}{each}": each for each in ("Topic", "Data", "Text", "Protocol", "Limit")}


class PublishRequest(Struct, frozen=True):
    """`protocol` and `limit` are the notifier's own choice where nothing is said."""

    topic: str
    data: Payload
    protocol: str | None = None
    limit: int | None = None


class NotifyRequest(Struct, frozen=True):
    """`copy` is what its headers make of it; None of a message without any, which is a message of its own."""

    topic: str
    data: Payload
    copy: Copy | None = None
    proof: str = ""


NotifierRequest = PublishRequest | NotifyRequest


def open_notifier_message(body: bytes) -> Envelope:
    return soap.open_envelope(body, _KNOWN)


def read_notifier_message(body: bytes) -> NotifierRequest:
    return asked_in(open_notifier_message(body))


def asked_in(envelope: Envelope) -> NotifierRequest:
    """By the body element alone: real clients send other actions, or none."""
    read = _OPERATIONS.get(envelope.operation)
    if read is None or envelope.content is None:
        shown = envelope.operation or "an empty Body"
        raise Refusal("unknown-operation", f"{shown} is not an operation of a notifier; Publish and Notify are")
    return read(envelope, children(envelope.content, _PARTS))


def notify_request(copy: Copy, proof: str, version: str = "1.2") -> tuple[Pairs, bytes]:
    """HTTP headers and body of Notify."""
    headers, message = b"".join(_headers(copy, proof)), copy.message
    said = partial(_envelope, version, headers, "Notify", _element("Topic", message.topic))
    return soap.http_headers(version, action_of("Notify")), _with_data(said, message.data)


def publish_request(asked: PublishRequest, version: str = "1.2") -> tuple[Pairs, bytes]:
    choices = b"" if asked.protocol is None else _element("Protocol", asked.protocol)
    if asked.limit is not None:
        choices += _element("Limit", str(asked.limit))
    said = partial(_envelope, version, b"", "Publish", _element("Topic", asked.topic), after=choices)
    return soap.http_headers(version, action_of("Publish")), _with_data(said, asked.data)


def published_reply(context: Context, message: MessageId) -> Reply:
    content = b'<n:PublishResponse xmlns:n="%b">%b</n:PublishResponse>'
    said = content % (NOTIFIER.encode(), _element("MessageID", message))
    return soap.reply(context, action_of("PublishResponse"), said)


def notified_reply(context: Context) -> Reply:
    return soap.reply(context, action_of("NotifyResponse"), b'<n:NotifyResponse xmlns:n="%b"/>' % NOTIFIER.encode())


def action_of(operation: str) -> str:
    return f"{NOTIFIER}:{operation}"


def _publish_asked(envelope: Envelope, parts: Parts) -> PublishRequest:
    protocol = text_of(parts.get("Protocol")) or None
    limit = _number("Limit", text_of(parts["Limit"]), 1) if "Limit" in parts else None
    return PublishRequest(_topic(parts), _data(envelope, parts), protocol, limit)


def _notify_asked(envelope: Envelope, parts: Parts) -> NotifyRequest:
    topic, data = _topic(parts), _data(envelope, parts)
    said = {name: envelope.headers[f"n:{name}"] for name in HEADERS if f"n:{name}" in envelope.headers}
    if "Root" not in said:
        if said:
            raise _malformed(f"the header {next(iter(said))} says nothing without Root; send Root too, or none of them")
        return NotifyRequest(topic, data)
    return NotifyRequest(topic, data, _copy(said, topic, data), text_of(said.get("Proof")))


_OPERATIONS: dict[str, Callable[[Envelope, Parts], NotifierRequest]] = {
    f"{{{NOTIFIER}}}Publish": _publish_asked,
    f"{{{NOTIFIER}}}Notify": _notify_asked,
}


def _copy(said: Parts, topic: str, data: Payload) -> Copy:
    message = Message(
        MessageId(_needed(said, "Message")),
        _needed(said, "Protocol"),
        _needed(said, "Root"),
        topic,
        data,
        _when(_needed(said, "When")),
        text_of(said.get("Reports")),
        tuple((each.get("Name") or "", text_in(each)) for each in _under(said.get("Attributes"), "Attribute")),
    )
    return Copy(
        _needed(said, "Copy"),
        message,
        _needed(said, "Sender"),
        _needed(said, "For"),
        _number("Hop", text_of(said.get("Hop")), 1),
        tuple(map(text_of, _under(said.get("Notified"), "Notifier"))),
        _number("Most", text_of(said["Most"]), 0) if "Most" in said else None,
    )


def _needed(said: Parts, name: str) -> str:
    if not (text := text_of(said.get(name))):
        raise _malformed(f"a Notify with the header Root needs the header {name} too, or send it without any of them")
    return text


def _under(element: Element | None, local: str) -> list[Element]:
    return [] if element is None else element.findall(f"{{{NOTIFIER}}}{local}")


def _when(text: str) -> Instant:
    """One that can be written down, which the years from 1970 to 2261 can."""
    with contextlib.suppress(Refusal):
        if 0 <= (when := times.instant(text)) <= times.LAST:
            return when
    raise _malformed(f"the header When, {text[:80]!r}, is not a time such as 2030-01-31T12:00:00Z")


def _number(name: str, text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER) or int(text) < least:
        raise _malformed(f"{name} is {text[:80]!r}, not a whole number of {least} or more")
    return int(text)


def _topic(parts: Parts) -> str:
    if not (topic := text_of(parts.get("Topic"))):
        raise _malformed("there is no Topic; name a topic of the world")
    return topic


def _data(envelope: Envelope, parts: Parts) -> Payload:
    holder = parts.get("Data", parts.get("Text"))
    if holder is None:
        raise _malformed("there is neither Data, with an element in it, nor Text with its MediaType")
    is_element = len(holder) > 0 and parts.get("Data") is holder
    media_type = checked_media_type(holder.get("MediaType", XML_TYPE if is_element else TEXT_TYPE))
    if not is_element:
        return Payload(media_type, _decoded(holder))
    elements = list(holder.iterchildren("*"))
    if len(elements) != 1 or (holder.text or "").strip():
        raise _malformed("Data holds one element and nothing else; text goes into Text")
    try:
        return Payload(media_type, xml.child_bytes(envelope.data, holder, elements[0]))
    except MarkupError as problem:
        raise _malformed(str(problem)) from None


def _decoded(holder: Element) -> bytes:
    text, encoding = text_in(holder), holder.get("Encoding") or ""
    if not encoding:
        return text.encode()
    if encoding != "base64":
        raise _malformed(f"the Encoding {encoding[:80]!r} is not known; base64 is")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise _malformed("the base64 content of Text cannot be decoded") from None


def _headers(copy: Copy, proof: str) -> Iterator[bytes]:
    message = copy.message
    yield _element("Root", message.root)
    if copy.notified:
        yield b"<n:Notified>%b</n:Notified>" % b"".join(_element("Notifier", each) for each in copy.notified)
    yield _element("Message", message.id)
    yield _element("Copy", copy.id)
    yield _element("Protocol", message.protocol)
    yield _element("Sender", copy.sender)
    yield _element("For", copy.to)
    yield _element("Hop", str(copy.hop))
    if copy.most is not None:
        yield _element("Most", str(copy.most))
    yield _element("When", times.timestamp(message.when))
    if message.reports:
        yield _element("Reports", message.reports)
    if message.attributes:
        pairs = ((xml.attribute(_writable(name)), xml.text(_writable(value))) for name, value in message.attributes)
        inner = b"".join(b"<n:Attribute Name=%b>%b</n:Attribute>" % each for each in pairs)
        yield b"<n:Attributes>%b</n:Attributes>" % inner
    yield _element("Proof", proof)


def _element(name: str, value: str) -> bytes:
    return b"<n:%b>%b</n:%b>" % (name.encode(), xml.text(_writable(value)), name.encode())


def _writable(value: str) -> str:
    if NOT_XML.search(value.replace("\r", "")):
        raise _malformed(f"{value[:80]!r} holds characters that XML has no way to write")
    return value


def _with_data(said: Callable[[bytes], bytes], data: Payload) -> bytes:
    """XML stands there as an element if that gives the same bytes again: a proof is made over them."""
    kind = b" MediaType=" + xml.attribute(_writable(data.media_type))
    if is_xml(data.media_type) and xml.is_elements_and_text(data.data):
        with_element = said(b"<n:Data%b>%b</n:Data>" % (b"" if data.media_type == XML_TYPE else kind, data.data))
        with contextlib.suppress(Refusal):
            if read_notifier_message(with_element).data == data:
                return with_element
    text, encoding = as_text(data.data), b""
    if text is None:
        text, encoding = base64.b64encode(data.data), b' Encoding="base64"'
    return said(b"<n:Text%b%b>%b</n:Text>" % (kind, encoding, text))


def _envelope(version: str, headers: bytes, operation: str, before: bytes, data: bytes, after: bytes = b"") -> bytes:
    name = operation.encode()
    return b'<s:Envelope xmlns:s="%b" xmlns:n="%b"><s:Header>%b%b<n:%b>%b%b%b</n:%b>%b' % (
        SOAP_NAMESPACES[version].encode(),
        NOTIFIER.encode(),
        headers,
        soap.BETWEEN,
        name,
        before,
        data,
        after,
        name,
        soap.CLOSING,
    )


def _malformed(text: str) -> Refusal:
    return Refusal("malformed", text)
