"""Payloads that are not XML, inside SOAP: one wrapper element of ours that carries the media type."""

import base64
import re
from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation.namespaces import TOCSIN
from tocsin.model.names import QName, qname
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal

XML_TYPE = "application/xml"
_WRAPPER = f"{{{TOCSIN}}}Data"
# A carriage return would come back as a line feed (XML 1.0 s2.11), the rest are no XML characters (s2.2).
_NOT_XML_TEXT = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_xml(media_type: str) -> bool:
    kind = media_type.split(";", 1)[0].strip().lower()
    return kind in (XML_TYPE, "text/xml") or kind.endswith("+xml")


def payload_of(message: bytes, parent: Element, element: Element) -> tuple[Payload, QName | str | None]:
    """The payload in a Body or Message element of that message, and its type."""
    tag = element.tag
    if tag != _WRAPPER:
        return Payload(XML_TYPE, xml.child_bytes(message, parent, element)), type_of(tag)
    data = (element.text or "").encode()
    if element.get("Encoding") == "base64":
        try:
            data = base64.b64decode(data, validate=True)
        except ValueError:
            raise Refusal("malformed", "the base64 content of Data cannot be decoded") from None
    kind = element.get("Type")
    return Payload(str(element.get("MediaType") or ""), data), None if kind is None else type_name(str(kind))


type_of = lru_cache(maxsize=4096)(qname)


def is_wrapper(tag: str) -> bool:
    return tag == _WRAPPER


def type_name(text: str) -> QName | str:
    """A type written as text: a qualified name in Clark's form is one again."""
    return qname(text) if text.startswith("{") and "}" in text[2:-1] else text


def as_element(notification: Notification) -> bytes:
    """The payload as one XML element that can stand in a SOAP body."""
    payload = notification.payload
    if payload.media_type == XML_TYPE and notification.dialect in ("wsn-1.3", "wse-2004-08"):
        return payload.data  # we serialised it ourselves from a parsed element
    element = _embeddable(payload) if is_xml(payload.media_type) else None
    return element or _wrapped(payload, notification.type)


@lru_cache(maxsize=64)
def _embeddable(payload: Payload) -> bytes | None:
    try:
        return xml.serialise(xml.parse(payload.data))
    except MarkupError:
        return None


def _wrapped(payload: Payload, kind: QName | str | None) -> bytes:
    encoding, content = b"", _as_text(payload.data)
    if content is None:
        encoding, content = b' Encoding="base64"', base64.b64encode(payload.data)
    named = b"" if kind is None else b" Type=" + xml.attribute(str(kind))
    return b'<t:Data xmlns:t="%b" MediaType=%b%b%b>%b</t:Data>' % (
        TOCSIN.encode(),
        xml.attribute(payload.media_type),
        named,
        encoding,
        content,
    )


def _as_text(data: bytes) -> bytes | None:
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _NOT_XML_TEXT.search(decoded) else xml.text(decoded)
