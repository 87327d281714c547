"""Notifications in SOAP, written: the customisation half of the engine for the messages that count.

A template is compiled from a dialect's table once a subscription: bytes that never change, and between them a place
for each entry whose value is the notification's.
"""

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, final

from msgspec import Struct

from tocsin.markup import xml
from tocsin.mediation.graph_forms import BINDINGS, bindings_block
from tocsin.mediation.registry import BY_NAME
from tocsin.mediation.rules import Dialect, Entry, Message, Write
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.payloads import XML_TYPE, embedded
from tocsin.mediation.soap.soap import action_of
from tocsin.mediation.topics import sayable_content_topic, topic_element
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription

SUBSCRIPTIONS = "/broker/subscriptions/"
PULL_POINTS = "/broker/pullpoints/"

# What counts of a notification, and how that is written: two functions and not one, for each can then be one of C.
Value = tuple[Callable[[Notification], Any], Callable[[Any], bytes]]
Part = bytes | Value


class Shared(Struct, frozen=True, eq=False):
    """What templates alike share. `headers` are those of HTTP, None where they go with the event's action."""

    soap: str
    headers: Pairs | None
    values: tuple[Value, ...]


@final
class Template(Struct, frozen=True, eq=False):
    """`pieces` are bytes that never change, and after each but the last an empty one, where one of the values goes."""

    pieces: list[bytes]
    shared: Shared


def customise(
    notification: Notification,
    subscription: Subscription,
    base_url: str,
    written: "Written | None" = None,
    header: tuple[bytes, ...] = (),
) -> tuple[Pairs, bytes]:
    """`written` is what was made of the same notification for others; without it that of the last one is at hand.
    `header` are the parts of one more of SOAP's, for this subscriber alone."""
    global _last
    template = _template(subscription, base_url)
    if type(template) is not Template:
        return template(notification, subscription, base_url)
    if written is None:
        known, written = _last
        if known is not notification:
            written = {}
            _last = notification, written
    shared = template.shared
    found = written.get(shared)
    if found is None:
        values = []
        for read, write in shared.values:  # a comprehension costs as much as two of them
            values.append(write(read(notification)))
        found = shared.headers or http_headers(shared.soap, action_of(notification)), values
        written[shared] = found
    pieces = template.pieces.copy()
    pieces[1::2] = found[1]
    if header:
        at, before, after = _ends_of_headers(template)
        pieces[at : at + 1] = (before, *header, after)
    return found[0], b"".join(pieces)


# A notification goes to many, and what is its own is the same for all that are written to alike.
Written = dict[Shared, tuple[Pairs, list[bytes]]]
_last: tuple[Notification | None, Written] = None, {}
_shared = lru_cache(maxsize=1024)(Shared)
http_headers = lru_cache(maxsize=1024)(soap.http_headers)


@lru_cache(maxsize=65_536)
def _template(subscription: Subscription, base_url: str) -> Template | Write:
    """Or the function of a dialect that brings one of its own."""
    form, consumer = subscription.form, subscription.consumer
    dialect = BY_NAME.get(form.dialect)
    if dialect is not None and dialect.write is not None:
        return dialect.write
    if dialect is None or (message := (form.wrapped and dialect.wrapped) or dialect.raw or dialect.wrapped) is None:
        raise Refusal("unsupported-delivery", f"no rules to write {form.dialect!r}")
    version, wsa = form.soap or "1.2", form.addressing or dialect.addressing
    slots = _Slots(dialect, message, subscription, wsa, base_url)
    parts: list[Part] = [soap.opening(version, wsa)]
    parts += [part for entry in message.entries if entry.header for part in slots.parts(entry)]
    parts += [_BINDINGS] if form.bindings else []
    parts += [soap.echoed(consumer.reference, wsa) if consumer and consumer.reference else b"", soap.BETWEEN]
    if message.element is None:
        parts += slots.inside(declare=False)
    else:
        tag, attributes = message.element.tag, filter(_is_attribute, message.entries)
        parts.append(b"<%b%b" % (tag, message.element.declaration))
        for each in attributes:
            parts += [b" %b=" % each.path[-1].local[1:].encode(), _ACTION_ATTRIBUTE]
        parts += [b">", *slots.inside(declare=False), b"</%b>" % tag]
    pieces, values = [b""], list[Value]()
    for part in (*parts, soap.CLOSING):
        if isinstance(part, bytes):
            pieces[-1] += part
        else:
            pieces += [b"", b""]
            values.append(part)
    headers = soap.http_headers(version, message.action) if message.action else None
    return Template(pieces, _shared(version, headers, tuple(values)))


@lru_cache(maxsize=65_536)
def _ends_of_headers(template: Template) -> tuple[int, bytes, bytes]:
    """The piece in which the headers end, and its two parts; asked for where there is one more header."""
    at = next(at for at, piece in enumerate(template.pieces) if soap.BETWEEN in piece)
    before, between, after = template.pieces[at].partition(soap.BETWEEN)
    return at, before, between + after


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbouring bytes become one."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += part
        elif part != b"":
            joined.append(part)
    return joined


def holder_of(dialect: Dialect, notification: Notification, subscription: Subscription, base_url: str) -> bytes:
    """The part of a message that is one notification's, for answers that hold several; its prefix is declared."""
    parts = _holder_template(dialect, subscription, base_url)
    return b"".join([part if isinstance(part, bytes) else part[1](part[0](notification)) for part in parts])


@lru_cache(maxsize=4096)
def _holder_template(dialect: Dialect, subscription: Subscription, base_url: str) -> tuple[Part, ...]:
    message = dialect.wrapped
    assert message is not None and message.holder is not None
    wsa = subscription.form.addressing or dialect.addressing
    return tuple(_joined(_Slots(dialect, message, subscription, wsa, base_url).inside(declare=True)))


class _Slots(Struct, frozen=True, eq=False):
    """What stands at each entry of a table, for one subscription."""

    dialect: Dialect
    message: Message
    subscription: Subscription
    wsa: str | None
    base_url: str

    def inside(self, *, declare: bool) -> list[Part]:
        """What stands in the body's element, in the holder where there is one."""
        holder = self.message.holder
        inner = [each for each in self.message.entries if not each.header and not _is_attribute(each)]
        parts = [part for entry in inner for part in self.parts(entry)]
        if holder is None:
            return parts
        declared = holder.declaration if declare else b""
        return [b"<%b%b>" % (holder.tag, declared), *parts, b"</%b>" % holder.tag]

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        element, name = self.message.element, entry.path[-1] if entry.path else None
        opening = closing = declared = b""
        if name is not None:
            # A header stands outside the element that declares the dialect's own prefix.
            if name.prefix != "wsa" and (entry.header or element is None or element.prefix != name.prefix):
                declared = name.declaration
            opening, closing = b"<%b%b>" % (name.tag, declared), b"</%b>" % name.tag
        match entry.name:
            case "message_id":
                return opening, _MESSAGE_ID, closing
            case "action":
                return opening, xml.text(self.message.action) if self.message.action else _ACTION, closing
            case "consumer":
                consumer = self.subscription.consumer
                return opening, xml.text("" if consumer is None else consumer.address), closing
            case "subscription":  # a publisher has none
                return (opening, self._manager(), closing) if self.subscription.id else ()
            case "topic":
                assert name is not None
                uris, attribute = self.dialect.topic_dialects, self.dialect.topic_attribute
                return (_topic_value(name.tag, declared, uris, attribute, entry.default is not None),)
            case "producer":
                return (_producer_value(opening, closing, self.wsa),)
            case "payload":
                return opening, _PAYLOAD, closing
        raise LookupError(entry.name)

    def _manager(self) -> bytes:
        """Where it is managed; its id is in the path, and a reference parameter where clients need one."""
        name, path = self.subscription.id, SUBSCRIPTIONS if self.subscription.consumer is not None else PULL_POINTS
        manager = identified(self.dialect, name, f"{self.base_url}{path}{name}", self.wsa)
        return soap.reference_content(manager.address, manager.reference, self.wsa)


def _is_attribute(entry: Entry) -> bool:
    return bool(entry.path) and entry.path[-1].local.startswith("@")


# Publishers repeat their topics and their own address; what these come to is shared by all who are written to alike.
@lru_cache(maxsize=1024)
def _topic_value(tag: bytes, declared: bytes, uris: tuple[str, str, str], attribute: str, shown: bool) -> Value:
    @lru_cache(maxsize=1024)
    def written(said: tuple[Topic, str]) -> bytes:
        topic, content = said
        return topic_element(topic, tag, declared, uris, attribute, content) if shown or topic != NO_TOPIC else b""

    return _topic_said, written


def _topic_said(notification: Notification) -> tuple[Topic, str]:
    for name, _ in notification.attributes:
        if name == CONTENT_TOPIC:
            return notification.topic, sayable_content_topic(notification)
    return notification.topic, ""


@lru_cache(maxsize=1024)
def _producer_value(opening: bytes, closing: bytes, wsa: str | None) -> Value:
    @lru_cache(maxsize=1024)
    def written(producer: str) -> bytes:
        return b"%b%b%b" % (opening, soap.reference_content(producer, b"", wsa), closing) if producer else b""

    return attrgetter("producer"), written


def as_element(notification: Notification) -> bytes:
    """The payload as one XML element that can stand in a SOAP body."""
    payload = notification.payload
    if payload.media_type == XML_TYPE and type(notification.type) is QName and notification.dialect.startswith(_SOAP):
        return payload.data  # we took it from a parsed message ourselves
    return embedded(payload, notification.type)


_SOAP = ("wsn", "wse", "onvif")
_quoted = lru_cache(maxsize=1024)(xml.attribute)
_escaped = lru_cache(maxsize=1024)(xml.text)
# A notification goes to many, at about the same time.
_MESSAGE_ID: Value = attrgetter("id"), lru_cache(maxsize=1024)(xml.text)
_ACTION: Value = action_of, _escaped
_ACTION_ATTRIBUTE: Value = action_of, _quoted
_PAYLOAD: Value = lambda told: told, as_element
_BINDINGS: Value = lambda told: told.attribute(BINDINGS) or "", bindings_block


def identified(dialect: Dialect, name: str, address: str, wsa: str | None) -> Endpoint:
    identifier = dialect.identifier
    if identifier is None or wsa not in dialect.identifier_for:
        return Endpoint(address)
    tag = identifier.tag
    return Endpoint(address, b"<%b%b>%b</%b>" % (tag, identifier.declaration, xml.text(name), tag))
