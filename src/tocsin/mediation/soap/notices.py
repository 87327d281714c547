"""Notifications in SOAP, read: the normalisation half of the engine for the messages that count.

A dialect's table becomes a plan once, and the holders of a message are walked once. Publishers repeat everything but
the message id and the payload, byte for byte: a message is cut into head, message id, middle, payload and tail. When
head, middle and tail are those of a message that was read in full, so is all that was read from them, and only the
payload remains to be parsed. The outcome is the same as that of reading in full; what cannot be shown to be so is not
remembered, or read in full again.
"""

import re
from collections.abc import Container
from functools import lru_cache

import msgspec
from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError, Scope
from tocsin.mediation.operations import Context
from tocsin.mediation.registry import BY_NAME, HEADERS, OPERATIONS
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.payloads import WRAPPER, XML_TYPE, unwrapped
from tocsin.mediation.soap.several import ids_in
from tocsin.mediation.soap.soap import Envelope, attributes_for
from tocsin.mediation.topics import content_topic_of, topic_of, topic_of_door
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, QName
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.replies import REPLY_FOR, REPLY_TYPE

MOST_KNOWN = 8192
LONGEST_SURROUNDINGS = 4096
MOST_KINDS = 16
MOST_TAGS = 200  # libxml2 refuses a depth of 256, which the payload alone would not show
SHORTEST_DEEP = MOST_TAGS * len("<a></a>")
_ID = b"MessageID>"
_SAFE_ID = re.compile(rb"[!-%'-;=?-~]{1,512}")  # printable ASCII but for & < >


def normalise(record: Accepted, reading: "Reading | None" = None) -> tuple[Notification, ...]:
    """The notifications of an accepted request; pure, the same at the door and on Spark."""
    dialect = BY_NAME.get(record.dialect)
    if dialect is None:
        raise Refusal("malformed", f"no rules to read {record.dialect!r}")
    if dialect.read is not None:
        return dialect.read(record)
    if reading is None:
        reading = open_soap(record.door, record.body)
    if type(reading) is Recalled and reading.dialect == record.dialect:
        return (reading.notification(record),)
    envelope = reading if isinstance(reading, Envelope) else soap.open_envelope(record.body, HEADERS)
    found = notifications(dialect, record, envelope)
    if len(found) == 1:
        _MEMO.learn(dialect, record, envelope, found[0])
    return found


def open_soap(door: str, body: bytes) -> "Reading":
    return _MEMO.recall(door, body) or soap.open_envelope(body, HEADERS)


def open_in_full(body: bytes) -> Envelope:
    return soap.open_envelope(body, HEADERS)


def message_of(dialect: Dialect, envelope: Envelope) -> Message:
    """Wrapped or raw, by the first element of the body."""
    wrapped, raw = dialect.wrapped, dialect.raw
    if wrapped is not None and wrapped.element is not None and envelope.operation == wrapped.element.clark:
        return wrapped
    if raw is None:
        raise Refusal("malformed", f"{envelope.operation or 'an empty Body'} is no notification in {dialect.title}")
    return raw


def notifications(dialect: Dialect, record: Accepted, envelope: Envelope) -> tuple[Notification, ...]:
    """Of an event without a topic of its own it is the tail of the address it was sent to, else the reserved one."""
    message = message_of(dialect, envelope)
    plan, holders = _plan(message), _holders(message, envelope)
    stem = envelope.header("message_id") or f"urn:uuid:{record.cause}"
    sender = soap.address_of(envelope.headers.get("from"))
    tail, asks = topic_of_door(record.door), asked_for(envelope)
    ids = ids_in(envelope.headers.get("ids"), len(holders)) if len(holders) > 1 else [stem]
    found: list[Notification] = []
    for index, holder in enumerate(holders):
        entries = xml.children(holder, plan.names)
        parent, what = holder, plan.what
        if plan.in_child:
            if "payload" not in entries:
                raise Refusal("malformed", f"{what} {index + 1} has no Message")
            parent, what = entries["payload"], f"the Message of {what} {index + 1}"
        payload, kind = payload_of(envelope.data, parent, what)
        action = _action(plan, holder, envelope)
        attributes = attributes_for(action, kind) if action else ()
        topic, element = tail or NO_TOPIC, entries.get("topic")
        if element is None and plan.topic_in_header:
            element = envelope.headers.get("topic")
        if element is not None:
            topic = topic_of(element)
            if topic != NO_TOPIC and (content := content_topic_of(element)):
                attributes += ((CONTENT_TOPIC, content),)
        if asks:
            attributes += asks
        found.append(
            Notification(
                MessageId(f"{stem}/{index}" if ids is None else ids[index]),
                record.at,
                index,
                record.when,
                dialect.name,
                record.cause,
                soap.address_of(entries.get("producer")) or sender,
                topic,
                kind,
                attributes,
                payload,
            )
        )
    return tuple(found)


def asked_for(envelope: Envelope) -> Pairs:
    """Of replies: in a header of ours what CloudEvents have attributes for."""
    element = envelope.headers.get("reply_type")
    if element is None:
        return ()
    lasts = element.get("for")
    return ((REPLY_TYPE, (element.text or "").strip()), *(((REPLY_FOR, lasts),) if lasts else ()))


def payload_of(message: bytes, parent: Element, what: str) -> tuple[Payload, QName | str | None]:
    """The payload in a Body or Message element of that message, and its type."""
    found = list(parent.iterchildren("*"))
    if len(found) != 1:
        raise Refusal("malformed", f"{what} must hold one element, the event itself")
    element = found[0]
    if element.tag == WRAPPER:
        return unwrapped(element)
    try:
        return Payload(XML_TYPE, xml.child_bytes(message, parent, element)), xml.qname(element.tag)
    except MarkupError as problem:
        raise Refusal("malformed", str(problem)) from None


class _Plan(Struct, frozen=True, eq=False):
    """A table as the walk needs it: child elements by name, and whether the payload stands in one of them."""

    what: str
    names: dict[str, str]
    in_child: bool
    topic_in_header: bool
    has_own_action: bool
    action_attribute: str


@lru_cache(maxsize=64)
def _plan(message: Message) -> _Plan:
    inner = [entry for entry in message.entries if not entry.header and entry.path]
    attribute = next((e.path[0].local[1:] for e in inner if e.name == "action" and e.path[0].local[0] == "@"), "")
    what = "the Body" if message.element is None else (message.holder or message.element).local
    return _Plan(
        what,
        {entry.path[0].clark: entry.name for entry in inner},
        any(entry.name == "payload" for entry in inner),
        any(entry.name == "topic" and entry.header for entry in message.entries),
        not message.action,
        attribute,
    )


def _holders(message: Message, envelope: Envelope) -> list[Element]:
    if message.element is None or envelope.content is None:
        return [envelope.body]
    if message.holder is None:
        return [envelope.content]
    found = list(envelope.content.iterchildren(message.holder.clark))
    if not found:
        raise Refusal("malformed", f"{message.element.local} holds no {message.holder.local}")
    return found


def _action(plan: _Plan, holder: Element, envelope: Envelope) -> str:
    """The action that becomes part of the notification."""
    if plan.action_attribute:
        return soap.uri_in(str(holder.get(plan.action_attribute) or ""), plan.action_attribute)
    return envelope.header("action") if plan.has_own_action else ""


def children_of(dialect: Dialect, envelope: Envelope, index: int) -> dict[str, Element]:
    """The entries that stand in the holder of one notification, as the reader finds them."""
    message = message_of(dialect, envelope)
    return xml.children(_holders(message, envelope)[index], _plan(message).names)


class _Surroundings(Struct, frozen=True):
    """What was read from a head, a middle and a tail, and the namespaces they put the payload into."""

    prototype: Notification
    action: str
    scope: Scope
    spoken: Context
    asks: Pairs
    kinds: dict[str, tuple[QName, Pairs]] = {}  # of the payloads seen inside: their type, and the attributes with it


class _Head(Struct, frozen=True):
    """`holder` is how the tags that hold a payload begin, of which there is one pair."""

    opening: bytes
    closing: bytes
    holder: bytes
    known: dict[tuple[bytes, bytes], _Surroundings]


class Recalled(Struct, frozen=True, gc=False):
    """A message whose surroundings are known."""

    dialect: str
    message_id: MessageId
    kind: QName
    attributes: Pairs
    payload: Payload
    prototype: Notification
    spoken: Context

    def context(self, dialect: str) -> Context:
        return msgspec.structs.replace(self.spoken, dialect=dialect, message_id=self.message_id)

    def notification(self, record: Accepted) -> Notification:
        return Notification(
            self.message_id,
            record.at,
            0,
            record.when,
            self.dialect,
            record.cause,
            self.prototype.producer,
            self.prototype.topic,
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
        id_end = data.find(b"<", id_start)
        start = data.find(head.opening, id_end) + len(head.opening)
        end = data.rfind(head.closing)
        around = head.known.get((data[id_end:start], data[end:]))
        if around is None or _SAFE_ID.fullmatch(data, id_start, id_end) is None:
            return None
        own = data[start:end].strip()
        if len(own) > SHORTEST_DEEP and own.count(b"</") > MOST_TAGS:
            return None
        alone = xml.standing_alone(own, around.scope)
        # What mentions no prefix from around it does not mention the holder's.
        if alone is None or ((alone is not own or b":" not in head.holder) and head.holder in own):
            return None
        element = xml.element_of(alone)
        kind = None if element is None else around.kinds.get(element.tag) or self._kind(around, element.tag)
        if kind is None:
            return None
        name, like = MessageId(data[id_start:id_end].decode()), around.prototype
        return Recalled(like.dialect, name, kind[0], kind[1], Payload(XML_TYPE, alone), like, around.spoken)

    def _kind(self, around: _Surroundings, tag: str) -> tuple[QName, Pairs] | None:
        if tag == WRAPPER or tag in self._operations:
            return None
        kind = xml.qname(tag)
        found = kind, (attributes_for(around.action, kind) if around.action else ()) + around.asks
        if len(around.kinds) < MOST_KINDS and len(tag) < xml.LONG_URI:
            around.kinds[tag] = found
        return found

    def learn(self, dialect: Dialect, record: Accepted, envelope: Envelope, read: Notification) -> None:
        """After a message with one notification was read in full.

        From the second message on: who speaks once may never speak again, and should push nobody out. Who proves who
        it is in the envelope is asked again each time; content topics are where messages differ.
        """
        if "security" in envelope.headers or CONTENT_TOPIC in dict(read.attributes):
            return
        like = hash((record.door, record.body[: record.body.find(_ID)], read.producer, read.topic))
        if like in self._once:
            self._remember(dialect, record, envelope, read)
        elif len(self._once) < MOST_KNOWN:
            self._once.add(like)
        else:
            self._once = {like}

    def _remember(self, dialect: Dialect, record: Accepted, envelope: Envelope, read: Notification) -> None:
        message = message_of(dialect, envelope)
        holder, plan = _holders(message, envelope)[0], _plan(message)
        parent = xml.children(holder, plan.names)["payload"] if plan.in_child else holder
        cut, scope = _cut(record.body, envelope, parent), xml.scope_of(parent)
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
        known.known[middle, tail] = _Surroundings(
            prototype, _action(plan, holder, envelope), scope, spoken, asked_for(envelope)
        )


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


Reading = Envelope | Recalled
_MEMO = EnvelopeMemo(OPERATIONS)
