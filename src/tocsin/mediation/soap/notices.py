"""Notifications in SOAP, read: the normalisation half of the engine for the messages that count.

A dialect's table becomes a plan once, and the holders of a message are walked once.
"""

from functools import lru_cache

from msgspec import Struct

from tocsin.markup.xml import Element
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.soap import addressing
from tocsin.mediation.soap.actions import attributes_for
from tocsin.mediation.soap.entries import Found, children, uri_in
from tocsin.mediation.soap.payloads import payload_of
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.topics import content_topic_of, topic_of
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal


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
    said = topic_of(topic) if topic is not None else tail or NO_TOPIC
    return Notification(
        MessageId(name),
        record.at,
        index,
        record.when,
        dialect.name,
        record.cause,
        addressing.address_of(found.get("producer")) or sender,
        said,
        kind,
        (attributes_for(action, kind) if action else ()) + _content_topic(topic, said),
        payload,
    )


def _content_topic(element: Element | None, topic: Topic) -> Pairs:
    said = "" if element is None or topic == NO_TOPIC else content_topic_of(element)
    return ((CONTENT_TOPIC, said),) if said else ()


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


def children_of(dialect: Dialect, envelope: Envelope, index: int) -> Found:
    """The entries that stand in the holder of one notification, as the reader finds them."""
    message = message_of(dialect, envelope)
    return children(_holders(message, envelope)[index], _plan(message).names)
