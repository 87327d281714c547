"""Notifications in SOAP: the two halves of the engine for the messages that count, both driven by a dialect's tables.

Reading walks the holders of a message once. Writing goes by a template, compiled from the table once a subscription:
bytes that never change, and between them a function for each entry whose value is the notification's.
"""

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation import addressing, soap
from tocsin.mediation.actions import action_of, attributes_for
from tocsin.mediation.entries import children, uri_in
from tocsin.mediation.payloads import as_element, payload_of
from tocsin.mediation.rules import Dialect, Entry, Message, Name
from tocsin.mediation.soap import Envelope
from tocsin.mediation.topics import topic_element, topic_of
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription

SUBSCRIPTIONS = "/broker/subscriptions/"
PULL_POINTS = "/broker/pullpoints/"


# Normalise


def message_of(dialect: Dialect, envelope: Envelope) -> Message:
    """Wrapped or raw, by the first element of the body."""
    wrapped, raw = dialect.wrapped, dialect.raw
    if wrapped is not None and wrapped.element is not None and envelope.operation == wrapped.element.clark:
        return wrapped
    if raw is None:
        raise Refusal("malformed", f"{envelope.operation or 'an empty Body'} is no notification in {dialect.title}")
    return raw


def notifications(
    dialect: Dialect, record: Accepted, envelope: Envelope, tail: Topic | None
) -> tuple[Notification, ...]:
    """Of an event without a topic of its own it is the tail of the address it was sent to, else the reserved one."""
    message = message_of(dialect, envelope)
    plan, holders = _plan(message), _holders(message, envelope)
    stem = envelope.header("message_id") or f"urn:uuid:{record.cause}"
    sender = addressing.address_of(envelope.headers.get("from"))
    if len(holders) == 1:
        return (_notification(dialect, plan, record, 0, stem, sender, holders[0], envelope, tail),)
    return tuple(
        _notification(dialect, plan, record, at, f"{stem}/{at}", sender, each, envelope, tail)
        for at, each in enumerate(holders)
    )


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
    clark = message.holder.clark
    found = [child for child in envelope.content if child.tag == clark]
    if not found:
        raise Refusal("malformed", f"{message.element.local} holds no {message.holder.local}")
    return found


def _notification(
    dialect: Dialect,
    plan: _Plan,
    record: Accepted,
    index: int,
    name: str,
    sender: str,
    holder: Element,
    envelope: Envelope,
    tail: Topic | None,
) -> Notification:
    found = children(holder, plan.names)
    parent, what = (
        (found.get("payload"), f"the Message of {plan.what} {index + 1}") if plan.in_child else (holder, plan.what)
    )
    if parent is None:
        raise Refusal("malformed", f"{plan.what} {index + 1} has no Message")
    payload, kind = payload_of(envelope.data, parent, what)
    topic = found.get("topic")
    if topic is None and plan.topic_in_header:
        topic = envelope.headers.get("topic")
    action = _event_action(plan, holder, envelope)
    return Notification(
        MessageId(name),
        record.at,
        index,
        record.when,
        dialect.name,
        record.cause,
        addressing.address_of(found.get("producer")) or sender,
        topic_of(topic) if topic is not None else tail or NO_TOPIC,
        kind,
        attributes_for(action, kind) if action else (),
        payload,
    )


def payload_parent(dialect: Dialect, envelope: Envelope) -> Element:
    """The parent of the payload in a message that was read without complaint and holds one."""
    message = message_of(dialect, envelope)
    holder, plan = _holders(message, envelope)[0], _plan(message)
    return children(holder, plan.names)["payload"] if plan.in_child else holder


def keeps_action(dialect: Dialect, envelope: Envelope) -> str:
    """The action that became part of the notification."""
    message = message_of(dialect, envelope)
    return _event_action(_plan(message), _holders(message, envelope)[0], envelope)


def _event_action(plan: _Plan, holder: Element, envelope: Envelope) -> str:
    if plan.action_attribute:
        return uri_in(str(holder.get(plan.action_attribute) or ""), plan.action_attribute)
    return envelope.header("action") if plan.has_own_action else ""


# Customise


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
    parts += [slots.part(entry) for entry in message.entries if entry.header]
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
            return [self.part(entry) for entry in message.entries if not entry.header]
        name = message.element
        attributes = [e for e in message.entries if not e.header and e.path and e.path[-1].local.startswith("@")]
        opening: list[Part] = [b"<%b%b" % (_tag(name), _declaration(name))]
        for each in attributes:
            opening += [b" %b=" % each.path[-1].local[1:].encode(), _action_attribute]
        return [*opening, b">", *self.holder(declare=False), b"</%b>" % _tag(name)]

    def holder(self, *, declare: bool) -> list[Part]:
        message, name = self._message, self._message.holder
        inner = [e for e in message.entries if not e.header and not (e.path and e.path[-1].local.startswith("@"))]
        parts = [self.part(entry) for entry in inner]
        if name is None:
            return parts
        return [b"<%b%b>" % (_tag(name), _declaration(name) if declare else b""), *parts, b"</%b>" % _tag(name)]

    def part(self, entry: Entry) -> Part:
        opening, closing = self._tags(entry)
        match entry.name:
            case "message_id":
                return lambda notification: b"%b%b%b" % (opening, xml.text(notification.id), closing)
            case "action" if self._message.action:
                return opening + xml.text(self._message.action) + closing
            case "action":
                return lambda notification: b"%b%b%b" % (opening, xml.text(action_of(notification)), closing)
            case "consumer":
                consumer = self._subscription.consumer
                return opening + xml.text("" if consumer is None else consumer.address) + closing
            case "subscription":  # a publisher has none
                return opening + self._manager() + closing if self._subscription.id else b""
            case "topic":
                return self._topic(entry)
            case "producer":
                return self._producer(opening, closing)
            case "payload" if entry.path:
                return lambda notification: b"%b%b%b" % (opening, as_element(notification), closing)
            case "payload":
                return as_element
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


def _action_attribute(notification: Notification) -> bytes:
    return _quoted(action_of(notification))


_quoted = lru_cache(maxsize=1024)(xml.attribute)


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
