"""What a notification loses on its way from one dialect into another: all of it, as data.

Within a dialect nothing is lost. Between two, a field that is not listed arrives as it was; one that is listed arrives
as the function says. Payloads that are XML are compared as XML, whatever prefixes their start tag declares.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import msgspec

from tocsin.markup import xml
from tocsin.mediation.actions import action_for
from tocsin.mediation.payloads import XML_TYPE, is_xml, type_name, type_of
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC, QName
from tocsin.model.notification import Notification, Payload

Change = Callable[[Notification], object]
Changes = Mapping[str, Change]


def no_attributes(_: Notification) -> Pairs:
    """there is no place for attributes"""
    return ()


def subject_and_time(notification: Notification) -> Pairs:
    """they become subject, which is the topic, and time, which is when the broker accepted it"""
    subject = () if notification.topic == NO_TOPIC else (("subject", str(notification.topic)),)
    return (*subject, ("time", timestamp(notification.when)))


def type_as_action(notification: Notification) -> Pairs:
    """they are dropped; a type that is not the payload element's own name becomes the action"""
    action = action_for(notification.type)
    return () if action == action_for(element_as_type(notification)) else (("action", action),)


def element_as_type(notification: Notification) -> QName | str | None:
    """of XML, the name of its element; of what only claims to be XML, the type as text"""
    payload, kind = notification.payload, notification.type
    root = _root(payload)
    if root is not None:
        return type_of(str(root.tag))
    return str(kind) if kind is not None and payload.media_type == XML_TYPE else kind


def name_as_text(notification: Notification) -> QName | str | None:
    """a name without a namespace becomes a text"""
    return None if notification.type is None else type_name(str(notification.type))


def action_as_type(notification: Notification) -> QName | str | None:
    """the action, where it says more than the type does; a name without a namespace becomes a text"""
    action = notification.attribute("action")
    return name_as_text(notification) if action is None else type_name(action)


def lone_element(notification: Notification) -> Payload:
    """XML becomes one element in UTF-8, of type application/xml"""
    root = _root(notification.payload)
    return notification.payload if root is None else Payload(XML_TYPE, xml.serialise(root))


def collapsed_id(notification: Notification) -> str:
    """white space is collapsed"""
    return " ".join(notification.id.split())


def collapsed_producer(notification: Notification) -> str:
    """white space is collapsed"""
    return " ".join(notification.producer.split())


def _root(payload: Payload) -> xml.Element | None:
    try:
        return xml.parse(payload.data) if is_xml(payload.media_type) else None
    except xml.MarkupError:
        return None


# What a dialect has room for decides, not its version: wrapped or raw SOAP, a CloudEvent, or just the bytes.
Room = Literal["wrapped", "event", "cloudevents", "raw"]
_INTO_SOAP: Changes = {
    "id": collapsed_id,
    "producer": collapsed_producer,
    "type": element_as_type,
    "payload": lone_element,
}
LOSSES: Mapping[tuple[Room, Room], Changes] = {
    ("wrapped", "wrapped"): {},
    ("wrapped", "event"): {},
    ("wrapped", "cloudevents"): {"type": name_as_text, "attributes": subject_and_time},
    ("event", "wrapped"): {"attributes": no_attributes},
    ("event", "event"): {},
    ("event", "cloudevents"): {"type": action_as_type, "attributes": subject_and_time},
    ("cloudevents", "wrapped"): {**_INTO_SOAP, "attributes": no_attributes},
    ("cloudevents", "event"): {**_INTO_SOAP, "attributes": type_as_action},
    ("cloudevents", "cloudevents"): {},
    ("raw", "wrapped"): {"payload": lone_element},
    ("raw", "event"): {"payload": lone_element},
    ("raw", "cloudevents"): {"type": name_as_text, "attributes": subject_and_time},
}


def room_of(dialect: str, *, wrapped: bool = True) -> Room:
    if dialect.startswith(("wsn", "onvif")):
        return "wrapped" if wrapped else "event"
    if dialect.startswith("wse"):
        return "event"
    return "cloudevents" if dialect == "cloudevents" else "raw"


def arriving(notification: Notification, target: str, *, wrapped: bool = True) -> Notification:
    """The notification as a reader of the target's dialect understands it; where and when it is read is its own."""
    changes = LOSSES[room_of(notification.dialect), room_of(target, wrapped=wrapped)]
    values = {field: change(notification) for field, change in changes.items()}
    return msgspec.structs.replace(notification, dialect=target, **values)


def table() -> Iterator[tuple[str, str, str, str]]:
    """From, to, field, what becomes of it: for people."""
    for (source, target), changes in LOSSES.items():
        for field, change in changes.items():
            yield source, target, field, (change.__doc__ or "").strip()
