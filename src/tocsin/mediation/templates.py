"""Notifications in SOAP, written: the customisation half of the engine for the messages that count.

A template is compiled from a dialect's table once a subscription: bytes that never change, and between them a function
for each entry whose value is the notification's.
"""

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from tocsin.markup import xml
from tocsin.mediation import addressing, soap
from tocsin.mediation.actions import action_of
from tocsin.mediation.payloads import as_element
from tocsin.mediation.rules import Dialect, Entry, Message, Name
from tocsin.mediation.topics import topic_element
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Subscription

SUBSCRIPTIONS = "/broker/subscriptions/"
PULL_POINTS = "/broker/pullpoints/"

Part = bytes | Callable[[Notification], bytes]


class Template(Struct, frozen=True, eq=False):
    """`headers` are those of HTTP, None where they go with the event's action."""

    soap: str
    parts: tuple[Part, ...]
    headers: Pairs | None


def customise(
    dialect: Dialect, notification: Notification, subscription: Subscription, base_url: str
) -> tuple[Pairs, bytes]:
    template = _template(dialect, subscription, base_url)
    body = b"".join([part if part.__class__ is bytes else part(notification) for part in template.parts])  # type: ignore[operator]
    return template.headers or http_headers(template.soap, action_of(notification)), body


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
    parts += [slots.echoed(), soap.BETWEEN, *slots.body(), soap.CLOSING]
    headers = soap.http_headers(version, message.action) if message.action else None
    return Template(version, tuple(_joined(parts)), headers)


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
    return b"".join([part if isinstance(part, bytes) else part(notification) for part in parts])


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
            opening += [b" %b=" % each.path[-1].local[1:].encode(), _action_attribute]
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
                return opening, _message_id, closing
            case "action" if self._message.action:
                return opening, xml.text(self._message.action), closing
            case "action":
                return opening, _action, closing
            case "consumer":
                consumer = self._subscription.consumer
                return opening, xml.text("" if consumer is None else consumer.address), closing
            case "subscription":  # a publisher has none
                return (opening, self._manager(), closing) if self._subscription.id else ()
            case "topic":
                return (self._topic(entry),)
            case "producer":
                return (self._producer(opening, closing),)
            case "payload":
                return opening, as_element, closing
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

    def _topic(self, entry: Entry) -> Part:
        name, uris, attribute = entry.path[-1], self._dialect.topic_dialects, self._dialect.topic_attribute
        tag, declared, shown = str(name), self._needed(entry, name), entry.default is not None

        def part(notification: Notification) -> bytes:
            topic = notification.topic
            return topic_element(topic, tag, declared, uris, attribute) if shown or topic != NO_TOPIC else b""

        return part

    def _producer(self, opening: bytes, closing: bytes) -> Part:
        wsa = self._wsa

        def part(notification: Notification) -> bytes:
            producer = notification.producer
            if not producer:
                return b""
            return b"%b%b%b" % (opening, addressing.reference_content(producer, b"", wsa), closing)

        return part


def _message_id(notification: Notification) -> bytes:
    return xml.text(notification.id)


def _action(notification: Notification) -> bytes:
    return _escaped(action_of(notification))


def _action_attribute(notification: Notification) -> bytes:
    return _quoted(action_of(notification))


_quoted = lru_cache(maxsize=1024)(xml.attribute)
_escaped = lru_cache(maxsize=1024)(xml.text)


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
