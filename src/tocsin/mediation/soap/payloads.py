"""Media types, and payloads inside SOAP that are not XML: one wrapper element of ours that carries the media type."""

import base64
import re
from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import TOCSIN
from tocsin.model.names import QName, qname_in
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal

XML_TYPE = "application/xml"
WRAPPER = f"{{{TOCSIN}}}Data"
_MEDIA_TYPE = re.compile(r"[\x20-\x7e]{0,1024}")
# No XML characters (XML 1.0 s2.2), but for the carriage return, which would come back as a line feed (s2.11).
NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@lru_cache(maxsize=256)
def is_xml(media_type: str) -> bool:
    kind = media_type.split(";", 1)[0].strip().lower()
    return kind in (XML_TYPE, "text/xml") or kind.endswith("+xml")


def unwrapped(element: Element) -> tuple[Payload, QName | str | None]:
    """What our wrapper element holds, and its type."""
    data = xml.text_in(element).encode()
    if element.get("Encoding") == "base64":
        try:
            data = base64.b64decode(data.translate(None, b" \t\r\n"), validate=True)
        except ValueError:
            raise Refusal("malformed", "the base64 content of Data cannot be decoded") from None
    media_type, kind = checked_media_type(element.get("MediaType") or ""), element.get("Type") or ""
    if not soap.is_uri(kind):
        raise Refusal("malformed", "the Type of Data is too long, or holds control characters")
    if media_type == XML_TYPE:  # a qualified name would vouch for XML that was never parsed
        return Payload(media_type, data), kind or None
    return Payload(media_type, data), type_name(kind) or None


def checked_media_type(text: str) -> str:
    """It goes out as an HTTP header again."""
    if _MEDIA_TYPE.fullmatch(text) is None:
        raise Refusal("malformed", f"{text[:80]!r} is not a media type such as application/json")
    return text.strip()


def type_name(text: str) -> QName | str:
    """A type written as text: a qualified name in Clark's form is one again."""
    return qname_in(text) or text


def embedded(payload: Payload, kind: QName | str | None) -> bytes:
    """The payload as one element: XML as it is, where it can stand in another document, anything else wrapped.

    The last XML is remembered by identity: a notification goes to many, and a hash costs a tenth of the parsing.
    """
    global _last
    if payload.media_type != XML_TYPE and not is_xml(payload.media_type):
        return _wrapped(payload, kind)
    known, element = _last
    if known is not payload.data:
        element = _embeddable(payload.data)
        _last = payload.data, element
    return element or _wrapped(payload, kind)


_last: tuple[bytes, bytes | None] = b"", None


def _embeddable(data: bytes) -> bytes | None:
    """A document in UTF-8 that is nothing but elements and text can stand in another as it is."""
    if xml.is_elements_and_text(data):
        return None if xml.element_of(data) is None else data
    try:
        return xml.serialise(xml.parse(data))
    except MarkupError:
        return None


def _wrapped(payload: Payload, kind: QName | str | None) -> bytes:
    encoding, content = b"", as_text(payload.data)
    if content is None:
        encoding, content = b' Encoding="base64"', base64.b64encode(payload.data)
    attributes = b" MediaType=" + xml.attribute(payload.media_type)
    attributes += b"" if kind is None else b" Type=" + xml.attribute(str(kind))
    return b'<t:Data xmlns:t="%b"%b%b>%b</t:Data>' % (TOCSIN.encode(), attributes, encoding, content)


def as_text(data: bytes) -> bytes | None:
    """None where it is no text, or one that XML cannot hold."""
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        return None
    return None if NOT_XML.search(decoded) else xml.text(decoded)
