"""Envelopes seen before: publishers repeat everything but the message id and the payload, byte for byte.

A message is cut into head, message id, middle, payload and tail. When head, middle and tail are those of a message
that was read in full, so is all that was read from them, and only the payload remains to be parsed. The outcome is the
same as that of reading in full; what cannot be shown to be so is not remembered, or read in full again.
"""

import re

import msgspec
from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError, Scope
from tocsin.mediation.payloads import XML_TYPE, is_wrapper, type_of
from tocsin.mediation.soap import Envelope
from tocsin.model.identity import MessageId
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted

MOST_HEADS = 4096
MOST_MIDDLES = 4096
_ID = b"MessageID>"
_SAFE_ID = re.compile(rb"[^\s<>&]{1,512}")


class _Surroundings(Struct):
    """What was read from a head, a middle and a tail, and the namespaces they put the payload into."""

    prototype: Notification
    scope: Scope


class _Head(Struct):
    opening: bytes
    closing: bytes
    known: dict[tuple[bytes, bytes], _Surroundings]


class Recalled(Struct, frozen=True, gc=False):
    """A message whose surroundings are known."""

    surroundings: _Surroundings
    message_id: str
    own: bytes

    @property
    def dialect(self) -> str:
        return self.surroundings.prototype.dialect

    def notification(self, record: Accepted) -> Notification | None:
        """None when the payload is not one plain element: then the message must be read in full."""
        data = xml.standing_alone(self.own, self.surroundings.scope)
        if data is None:
            return None
        try:
            tag = xml.parse(data).tag
        except MarkupError:
            return None
        if is_wrapper(tag):
            return None
        like = self.surroundings.prototype
        return Notification(
            MessageId(self.message_id),
            record.at,
            0,
            record.when,
            like.dialect,
            record.cause,
            like.producer,
            like.topic,
            type_of(tag),
            like.attributes,
            Payload(XML_TYPE, data),
        )


class EnvelopeMemo:
    """A bounded cache; it is emptied when it is full, for then its senders do not repeat themselves."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, bytes], _Head] = {}

    def recall(self, door: str, data: bytes) -> Recalled | None:
        id_start = data.find(_ID) + len(_ID)
        head = self._heads.get((door, data[:id_start]))
        if head is None:
            return None
        id_end = data.find(b"<", id_start)
        start = data.find(head.opening, id_end) + len(head.opening)
        end = data.rfind(head.closing)
        around = head.known.get((data[id_end:start], data[end:]))
        message_id = data[id_start:id_end]
        if around is None or _SAFE_ID.fullmatch(message_id) is None:
            return None
        return Recalled(around, message_id.decode(), data[start:end].strip())

    def learn(self, record: Accepted, envelope: Envelope, holder: Element, read: Notification) -> None:
        """After a message with one notification was read in full; `holder` is the parent of its payload."""
        data = record.body
        cut = _cut(data, envelope, holder)
        if cut is None:
            return
        head_end, middle_start, start, end = cut
        if len(self._heads) >= MOST_HEADS:
            self._heads.clear()
        opening = data[start - len(xml.written_name(holder)) - 2 : start]
        head = self._heads.setdefault((record.door, data[:head_end]), _Head(opening, b"</" + opening[1:], {}))
        if len(head.known) >= MOST_MIDDLES:
            head.known.clear()
        prototype = msgspec.structs.replace(read, payload=Payload("", b""))
        head.known[data[middle_start:start], data[end:]] = _Surroundings(prototype, xml.scope_of(holder))


def _cut(data: bytes, envelope: Envelope, holder: Element) -> tuple[int, int, int, int] | None:
    """Where head, middle, payload and tail meet, when `<` only starts tags and these tags are the ones in the tree."""
    element = envelope.headers.get("message_id")
    if element is None or not xml.is_plain(data) or xml.inner_bytes(data, holder) is None:
        return None
    head_end = data.find(_ID) + len(_ID)
    tag = b"<%b>" % xml.written_name(element)
    opening = b"<%b>" % xml.written_name(holder)
    first = next(element.getroottree().iter(element.tag)) is element
    if not first or not data.endswith(tag, 0, head_end) or data.find(tag) + len(tag) != head_end:
        return None
    middle_start = data.find(b"<", head_end)
    start = data.find(opening, middle_start) + len(opening)
    return (head_end, middle_start, start, data.rfind(b"</" + opening[1:])) if start > middle_start else None
