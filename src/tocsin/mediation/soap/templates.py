"""Notifications in SOAP, written: the customisation half of the engine for the messages that count.

A template is compiled from a dialect's table once a subscription: bytes that never change, and between them a place
for each entry whose value is the notification's.
"""

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from tocsin.markup import xml
from tocsin.mediation.graph_forms import BINDINGS, bindings_block
from tocsin.mediation.rules import Dialect, Entry, Message, Name
from tocsin.mediation.soap import addressing, soap
from tocsin.mediation.soap.actions import action_of
from tocsin.mediation.soap.payloads import as_element
from tocsin.mediation.topics import sayable_content_topic, topic_element
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Subscription

SUBSCRIPTIONS = "/broker/subscriptions/"
PULL_POINTS = "/broker/pullpoints/"

# What counts of a notification, and how that is written: two functions and not one, for each can then be one of C.
Value = tuple[Callable[[Notification], Any], Callable[[Any], bytes]]
Part = bytes | Value


class Template(Struct, frozen=True, eq=False):
    """`pieces` are bytes that never change, and empty ones where the `values` go, each of which has its place.

    `headers` are those of HTTP, None where they go with the event's action.
    """

    soap: str
    pieces: list[bytes]
    values: tuple[tuple[int, Callable[[Notification], Any], Callable[[Any], bytes]], ...]
    headers: Pairs | None


def customise(
    dialect: Dialect, notification: Notification, subscription: Subscription, base_url: str
) -> tuple[Pairs, bytes]:
    template = _template(dialect, subscription, base_url)
    pieces = template.pieces.copy()
    for place, read, write in template.values:
        pieces[place] = write(read(notification))
    return template.headers or http_headers(template.soap, action_of(notification)), b"".join(pieces)


http_headers = lru_cache(maxsize=1024)(soap.http_headers)


@lru_cache(maxsize=65_536)
def _template(dialect: Dialect, subscription: Subscription, base_url: str) -> Template:
    form = subscription.form
    message = (dialect.wrapped if form.wrapped else dialect.raw) or dialect.raw or dialect.wrapped
    assert message is not None
    version, wsa = form.soap or "1.2", form.addressing or dialect.addressing
    slots = _Slots(dialect, message, subscription, wsa, base_url)
    parts: list[Part] = [soap.opening(version, wsa)]
    parts += [part for entry in message.entries if entry.header for part in slots.parts(entry)]
    parts += [_BINDINGS] if form.bindings else []
    parts += [slots.echoed(), soap.BETWEEN, *slots.body(), soap.CLOSING]
    headers = soap.http_headers(version, message.action) if message.action else None
    joined = _joined(parts)
    pieces = [part if isinstance(part, bytes) else b"" for part in joined]
    values = tuple((place, *part) for place, part in enumerate(joined) if not isinstance(part, bytes))
    return Template(version, pieces, values, headers)


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
    return tuple(_joined(_Slots(dialect, message, subscription, wsa, base_url).holder(declare=True)))


class _Slots:
    """What stands at each entry of a table, for one subscription."""

    def __init__(
        self, dialect: Dialect, message: Message, subscription: Subscription, wsa: str | None, base_url: str
    ) -> None:
        self._dialect, self._message, self._subscription = dialect, message, subscription
        self._wsa, self._base_url = wsa, base_url

    def body(self) -> list[Part]:
        message = self._message
        if message.element is None:
            return [part for entry in message.entries if not entry.header for part in self.parts(entry)]
        name = message.element
        attributes = [e for e in message.entries if not e.header and e.path and e.path[-1].local.startswith("@")]
        opening: list[Part] = [b"<%b%b" % (_tag(name), _declaration(name))]
        for each in attributes:
            opening += [b" %b=" % each.path[-1].local[1:].encode(), _ACTION_ATTRIBUTE]
        return [*opening, b">", *self.holder(declare=False), b"</%b>" % _tag(name)]

    def holder(self, *, declare: bool) -> list[Part]:
        message, name = self._message, self._message.holder
        inner = [e for e in message.entries if not e.header and not (e.path and e.path[-1].local.startswith("@"))]
        parts = [part for entry in inner for part in self.parts(entry)]
        if name is None:
            return parts
        return [b"<%b%b>" % (_tag(name), _declaration(name) if declare else b""), *parts, b"</%b>" % _tag(name)]

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        opening, closing = self._tags(entry)
        match entry.name:
            case "message_id":
                return opening, _MESSAGE_ID, closing
            case "action" if self._message.action:
                return opening, xml.text(self._message.action), closing
            case "action":
                return opening, _ACTION, closing
            case "consumer":
                consumer = self._subscription.consumer
                return opening, xml.text("" if consumer is None else consumer.address), closing
            case "subscription":  # a publisher has none
                return (opening, self._manager(), closing) if self._subscription.id else ()
            case "topic":
                return (self._topic(entry),)
            case "producer":
                return (_producer_value(opening, closing, self._wsa),)
            case "payload":
                return opening, _PAYLOAD, closing
        raise LookupError(entry.name)

    def echoed(self) -> bytes:
        consumer = self._subscription.consumer
        return b"" if consumer is None else addressing.echoed(consumer.reference, self._wsa)

    def _tags(self, entry: Entry) -> tuple[bytes, bytes]:
        if not entry.path:
            return b"", b""
        name = entry.path[-1]
        return b"<%b%b>" % (_tag(name), self._needed(entry, name)), b"</%b>" % _tag(name)

    def _needed(self, entry: Entry, name: Name) -> bytes:
        """A header stands outside the element that declares the dialect's own prefix."""
        element = self._message.element
        outside = entry.header or element is None or element.prefix != name.prefix
        return _declaration(name) if outside and name.prefix != "wsa" else b""

    def _manager(self) -> bytes:
        manager = manager_of(self._dialect, self._subscription, self._base_url, self._wsa)
        return addressing.reference_content(manager.address, manager.reference, self._wsa)

    def _topic(self, entry: Entry) -> Value:
        name, dialect, shown = entry.path[-1], self._dialect, entry.default is not None
        return _topic_value(
            str(name), self._needed(entry, name), dialect.topic_dialects, dialect.topic_attribute, shown
        )


# Publishers repeat their topics and their own address; what these come to is shared by all who are written to alike.
@lru_cache(maxsize=1024)
def _topic_value(tag: str, declared: bytes, uris: tuple[str, str, str], attribute: str, shown: bool) -> Value:
    @lru_cache(maxsize=1024)
    def written(said: tuple[Topic, str]) -> bytes:
        topic, content = said
        return topic_element(topic, tag, declared, uris, attribute, content) if shown or topic != NO_TOPIC else b""

    return _topic_said, written


def _topic_said(notification: Notification) -> tuple[Topic, str]:
    return notification.topic, sayable_content_topic(notification) if notification.attributes else ""


@lru_cache(maxsize=1024)
def _producer_value(opening: bytes, closing: bytes, wsa: str | None) -> Value:
    @lru_cache(maxsize=1024)
    def written(producer: str) -> bytes:
        return b"%b%b%b" % (opening, addressing.reference_content(producer, b"", wsa), closing) if producer else b""

    return attrgetter("producer"), written


_quoted = lru_cache(maxsize=1024)(xml.attribute)
_escaped = lru_cache(maxsize=1024)(xml.text)
# A notification goes to many, at about the same time.
_MESSAGE_ID: Value = attrgetter("id"), lru_cache(maxsize=1024)(xml.text)
_ACTION: Value = action_of, _escaped
_ACTION_ATTRIBUTE: Value = action_of, _quoted
_PAYLOAD: Value = as_element, bytes
_BINDINGS: Value = lambda told: told.attribute(BINDINGS) or "", bindings_block


def _tag(name: Name) -> bytes:
    return str(name).encode()


def _declaration(name: Name) -> bytes:
    return b' xmlns:%b="%b"' % (name.prefix.encode(), name.namespace.encode())


def manager_of(dialect: Dialect, subscription: Subscription, base_url: str, wsa: str | None) -> Endpoint:
    """Where a subscription is managed; its id is in the path, and a reference parameter where clients need one."""
    path = PULL_POINTS if subscription.consumer is None else SUBSCRIPTIONS
    return identified(dialect, subscription.id, f"{base_url}{path}{subscription.id}", wsa)


def identified(dialect: Dialect, name: str, address: str, wsa: str | None) -> Endpoint:
    identifier = dialect.identifier
    if identifier is None or wsa not in dialect.identifier_for:
        return Endpoint(address)
    tag = _tag(identifier)
    return Endpoint(address, b"<%b%b>%b</%b>" % (tag, _declaration(identifier), xml.text(name), tag))
