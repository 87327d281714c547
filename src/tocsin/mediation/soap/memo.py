"""Envelopes seen before: publishers repeat everything but the message id and the payload, byte for byte.

A message is cut into head, message id, middle, payload and tail. When head, middle and tail are those of a message
that was read in full, so is all that was read from them, and only the payload remains to be parsed. The outcome is the
same as that of reading in full; what cannot be shown to be so is not remembered, or read in full again.
"""

import re
from collections.abc import Container

import msgspec
from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, Scope
from tocsin.mediation.operations import Context
from tocsin.mediation.soap.actions import attributes_for
from tocsin.mediation.soap.payloads import XML_TYPE, is_wrapper, type_of
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import QName
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted

MOST_KNOWN = 8192
LONGEST_SURROUNDINGS = 4096
MOST_KINDS = 16
MOST_TAGS = 200  # libxml2 refuses a depth of 256, which the payload alone would not show
SHORTEST_DEEP = MOST_TAGS * len("<a></a>")
_ID = b"MessageID>"
_SAFE_ID = re.compile(rb"[!-%'-;=?-~]{1,512}")  # printable ASCII but for & < >


class _Surroundings(Struct, frozen=True):
    """What was read from a head, a middle and a tail, and the namespaces they put the payload into."""

    prototype: Notification
    action: str
    scope: Scope
    spoken: Context
    kinds: dict[str, tuple[QName, Pairs]] = {}  # of the payloads seen inside: their type, and the attributes with it


class _Head(Struct, frozen=True):
    """`holder` is how the tags that hold a payload begin, of which there is one pair."""

    opening: bytes
    closing: bytes
    holder: bytes
    known: dict[tuple[bytes, bytes], _Surroundings]


class Recalled(Struct, frozen=True, gc=False):
    """A message whose surroundings are known."""

    prototype: Notification
    message_id: MessageId
    kind: QName
    attributes: Pairs
    payload: Payload
    spoken: Context

    @property
    def dialect(self) -> str:
        return self.prototype.dialect

    def context(self, dialect: str) -> Context:
        return msgspec.structs.replace(self.spoken, dialect=dialect, message_id=self.message_id)

    def notification(self, record: Accepted) -> Notification:
        like = self.prototype
        return Notification(
            self.message_id,
            record.at,
            0,
            record.when,
            like.dialect,
            record.cause,
            like.producer,
            like.topic,
            self.kind,
            self.attributes,
            self.payload,
        )


class EnvelopeMemo:
    """A bounded cache; it is emptied when it is full, for then its senders do not repeat themselves.

    `operations` are elements that decide about the message they stand in; one of them is never a mere payload.
    """

    def __init__(self, operations: Container[str] = ()) -> None:
        self._operations = operations
        self._heads: dict[tuple[str, bytes], _Head] = {}
        self._size = 0
        self._once: set[int] = set()

    def recall(self, door: str, data: bytes) -> Recalled | None:
        id_start = data.find(_ID) + len(_ID)
        head = self._heads.get((door, data[:id_start]))
        if head is None:
            return None
        opening, closing = head.opening, head.closing
        id_end = data.find(b"<", id_start)
        start = data.find(opening, id_end) + len(opening)
        end = data.rfind(closing)
        around = head.known.get((data[id_end:start], data[end:]))
        if around is None or _SAFE_ID.fullmatch(data, id_start, id_end) is None:
            return None
        return self._with_payload(around, data[id_start:id_end].decode(), data[start:end].strip(), head.holder)

    def _with_payload(self, around: _Surroundings, name: str, own: bytes, holder: bytes) -> Recalled | None:
        if len(own) > SHORTEST_DEEP and own.count(b"</") > MOST_TAGS:
            return None
        data = xml.standing_alone(own, around.scope)
        # What mentions no prefix from around it does not mention the holder's.
        if data is None or ((data is not own or b":" not in holder) and holder in own):
            return None
        element = xml.element_of(data)
        if element is None:
            return None
        kind = around.kinds.get(element.tag) or self._kind(around, element.tag)
        if kind is None:
            return None
        return Recalled(around.prototype, MessageId(name), kind[0], kind[1], Payload(XML_TYPE, data), around.spoken)

    def _kind(self, around: _Surroundings, tag: str) -> tuple[QName, Pairs] | None:
        if is_wrapper(tag) or tag in self._operations:
            return None
        kind = type_of(tag)
        found = kind, attributes_for(around.action, kind) if around.action else ()
        if len(around.kinds) < MOST_KINDS and len(tag) < xml.LONG_URI:
            around.kinds[tag] = found
        return found

    def is_worth_it(self, record: Accepted, read: Notification) -> bool:
        """From the second message on: who speaks once may never speak again, and should push nobody out."""
        head = record.body[: record.body.find(_ID)]
        like = hash((record.door, head, read.producer, read.topic))
        if like in self._once:
            return True
        if len(self._once) >= MOST_KNOWN:
            self._once.clear()
        self._once.add(like)
        return False

    def learn(self, record: Accepted, envelope: Envelope, holder: Element, action: str, read: Notification) -> None:
        """After a message with one notification was read in full.

        `holder` is the parent of its payload, `action` what was taken for the event's own.
        """
        cut, scope = _cut(record.body, envelope, holder), xml.scope_of(holder)
        if cut is None or scope is None:
            return
        head, middle, opening, closing, tail = cut
        known = self._heads.setdefault((record.door, head), _Head(opening, closing, b"<" + closing[2:-1], {}))
        if known.opening != opening or (middle, tail) in known.known:
            return
        if self._size >= MOST_KNOWN:
            self._heads = {(record.door, head): known}
            known.known.clear()
            self._size = 0
        self._size += 1
        prototype = msgspec.structs.replace(read, payload=Payload("", b""))
        spoken = Context(read.dialect, envelope.soap, envelope.addressing, "", envelope.operation)
        known.known[middle, tail] = _Surroundings(prototype, action, scope, spoken)


def _cut(data: bytes, envelope: Envelope, holder: Element) -> tuple[bytes, bytes, bytes, bytes, bytes] | None:
    """Head, middle, the holder's tags and tail, when `<` only starts tags and these are the ones in the tree."""
    element = envelope.headers.get("message_id")
    if element is None or len(element) or not xml.is_plain(data):
        return None
    tag, opening = b"<%b>" % xml.written_name(element), xml.start_tag(data, holder)
    if opening is None:
        return None
    closing = b"</%b>" % xml.written_name(holder)
    start, end = data.find(opening) + len(opening), data.rfind(closing)
    head_end = data.find(_ID) + len(_ID)
    alone = data.count(_ID[:-1], 0, start) == 2
    if not alone or not data.endswith(tag, 0, head_end) or end < start:
        return None
    middle_start = data.find(b"<", head_end)
    if head_end + start - middle_start + len(data) - end > LONGEST_SURROUNDINGS:
        return None
    return data[:head_end], data[middle_start:start], opening, closing, data[end:]
