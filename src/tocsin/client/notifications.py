"""What a consumer is sent and what a reader pulls, normalised; which dialect it is in, the registry knows."""

import contextlib
import uuid
from collections.abc import Sequence

import msgspec

from tocsin.client import reply_messages
from tocsin.client.errors import ClientError
from tocsin.client.values import Ended
from tocsin.markup import xml
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import BY_NAME, DIALECTS, EVENT_MEDIA_TYPES, event_dialect, normalise, open_in_full
from tocsin.mediation.rules import Dialect, Message, Name
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.entries import read_entries
from tocsin.mediation.soap.notices import payload_of
from tocsin.mediation.soap.soap import Envelope
from tocsin.model import paths
from tocsin.model.identity import Instant, MessageId, Node, Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position

NOWHERE = Position(Node(""), 0)
_PLAIN = tuple(each.name for each in DIALECTS if not each.is_soap and each.write is not None and each.read is not None)
# Where two dialects share a message, the first has it.
_ENDS = {
    each.end.element.clark: (each, each.end)
    for each in reversed(DIALECTS)
    if each.end is not None and each.end.element is not None
}
_NOTIFIED_ENDS = frozenset(name for name, (_, end) in _ENDS.items() if end.fact("as") == "notification")


def received(headers: Pairs, body: bytes, when: Instant) -> tuple[Notification, ...]:
    """Refused when it is no notification in any dialect."""
    if is_soap(headers):
        envelope = open_in_full(body)
        found = normalise(_record(event_dialect(envelope), headers, body, when))
        return reply_messages.told(found, envelope) if reply_messages.is_told(body) else found
    kind = dict(headers).get("content-type", "").partition(";")[0].strip().lower()
    dialects: Sequence[str] = (EVENT_MEDIA_TYPES[kind],) if kind in EVENT_MEDIA_TYPES else _PLAIN
    problem = Refusal("malformed", "it is no notification in any dialect")
    for dialect in dialects:
        try:
            return normalise(_record(dialect, headers, body, when))
        except Refusal as refusal:
            problem = refusal
    raise problem


def is_soap(headers: Pairs) -> bool:
    """A CloudEvent in binary mode has the content type of its data, which may be that of SOAP 1.1."""
    found = dict(headers)
    kind = found.get("content-type", "")
    return "ce-id" not in found and ("soap" in kind or "text/xml" in kind)


def end_of(headers: Pairs, body: bytes) -> Ended | None:
    """What tells that a subscription ended: a message of its own, or a notification like any other."""
    if not is_soap(headers) or not any(name.rpartition("}")[2].encode() in body for name in _ENDS):
        return None
    with contextlib.suppress(Refusal):
        envelope = open_in_full(body)
        told = envelope.content
        subscription = ""
        if told is not None and envelope.operation not in _ENDS:
            dialect = BY_NAME[event_dialect(envelope)]
            subscription, told = _referred(dialect, envelope), _notified(dialect, told)
        if told is not None:
            return _ended(*_ENDS[str(told.tag)], told, subscription)
    return None


def end_in(notification: Notification) -> Ended | None:
    """Of a notification that was pulled: whether it tells that what filled the pull point ended."""
    data = notification.payload.data
    if not any(name.rpartition("}")[2].encode() in data for name in _NOTIFIED_ENDS):
        return None
    with contextlib.suppress(Refusal, xml.MarkupError):
        told = xml.parse(data)
        if told.tag in _NOTIFIED_ENDS:
            return _ended(*_ENDS[str(told.tag)], told, "")
    return None


def _ended(dialect: Dialect, end: Message, told: xml.Element, subscription: str) -> Ended:
    values = read_entries(told, end.entries)
    status = (values.text("status") or "").removeprefix(end.fact("statuses"))
    address = soap.address_of(values.element("subscription")) or subscription
    return Ended(dialect.name, address, status, values.text("reason") or "")


def _notified(dialect: Dialect, content: xml.Element) -> xml.Element | None:
    """The payload of a wrapped notification, if it tells of an end."""
    place = _place(dialect, "payload")
    found = ((each, each.getparent()) for each in content.iter(*_NOTIFIED_ENDS))
    return next((each for each, above in found if above is not None and above.tag == place), None)


def _place(dialect: Dialect, entry: str) -> str:
    entries = () if dialect.wrapped is None else dialect.wrapped.entries
    path = next((each.path for each in entries if each.name == entry), ())
    return path[-1].clark if path else ""


def _referred(dialect: Dialect, envelope: Envelope) -> str:
    """The SubscriptionReference of a wrapped notification, where the dialect has a place for it."""
    place = _place(dialect, "subscription")
    found = None if envelope.content is None or not place else next(envelope.content.iter(place), None)
    return soap.address_of(found)


def pulled(dialect: Dialect, content: xml.Element | None, when: Instant) -> tuple[Notification, ...]:
    """The notifications in an answer, each read as the Notify that it would be."""
    wrapped = dialect.wrapped
    if content is None or wrapped is None or wrapped.holder is None or wrapped.element is None:
        return ()
    opening = soap.opening("1.2", dialect.addressing) + soap.BETWEEN
    holders = (xml.serialise(each) for each in content if each.tag == wrapped.holder.clark)
    bodies = (b"".join((opening, _inside(wrapped.element, each), soap.CLOSING)) for each in holders)
    return tuple(found for body in bodies for found in _read(_record(dialect.name, (), body, when)))


def _inside(name: Name, part: bytes) -> bytes:
    tag = str(name).encode()
    return b'<%b xmlns:%b="%b">%b</%b>' % (tag, name.prefix.encode(), name.namespace.encode(), part, tag)


def events(found: Sequence[msgspec.Raw], when: Instant) -> tuple[Notification, ...]:
    """Structured CloudEvents as the API gives them."""
    if not found:
        return ()
    headers = (("content-type", cloudevents.BATCHED),)
    return _read(_record(cloudevents.NAME, headers, b"[%b]" % b",".join(map(bytes, found)), when))


def current(dialect: Dialect, body: bytes, content: xml.Element | None, topic: Topic, when: Instant) -> Notification:
    """The payload alone is told; everything else is what was asked for, or made up."""
    if content is None:
        raise ClientError("the answer holds no message")
    try:
        payload, kind = payload_of(body, content, "the answer")
    except Refusal as refusal:
        raise ClientError(refusal.text) from None
    name = MessageId(f"urn:uuid:{uuid.uuid4()}")
    return Notification(name, NOWHERE, 0, when, dialect.name, "", "", topic, kind, (), payload)


def _read(record: Accepted) -> tuple[Notification, ...]:
    try:
        return normalise(record)
    except Refusal as refusal:
        raise ClientError(f"what was pulled cannot be read: {refusal.text}") from None


def _record(dialect: str, headers: Pairs, body: bytes, when: Instant) -> Accepted:
    """Where a message has no id, one is made up from this cause."""
    return Accepted(NOWHERE, when, paths.PUBLISH, dialect, headers, None, str(uuid.uuid4()), body)
