"""What a notification loses on its way from one dialect into another: all of it, as data.

Within a dialect nothing is lost. Between two, a field that is not listed arrives as it was; one that is listed arrives
as the function says. Payloads that are XML are compared as XML, whatever prefixes their start tag declares.
"""

from collections.abc import Iterator, Mapping

import msgspec

from tocsin.mediation.changes import (
    INTO_SOAP,
    Change,
    action_as_type,
    lone_element,
    name_as_text,
    no_attributes,
    subject_and_time,
    type_as_action,
)
from tocsin.mediation.registry import BY_NAME, DIALECTS
from tocsin.model.notification import Notification

Changes = Mapping[str, Change]
# What a dialect has room for decides, not its version: wrapped or raw SOAP, a CloudEvent, just the bytes, or its own.
Rooms = tuple[str, str]
_AMONG_THE_STANDARDS: Mapping[Rooms, Changes] = {
    ("wrapped", "wrapped"): {},
    ("wrapped", "event"): {},
    ("wrapped", "cloudevents"): {"type": name_as_text, "attributes": subject_and_time},
    ("event", "wrapped"): {"attributes": no_attributes},
    ("event", "event"): {},
    ("event", "cloudevents"): {"type": action_as_type, "attributes": subject_and_time},
    ("cloudevents", "wrapped"): {**INTO_SOAP, "attributes": no_attributes},
    ("cloudevents", "event"): {**INTO_SOAP, "attributes": type_as_action},
    ("cloudevents", "cloudevents"): {},
    ("raw", "wrapped"): {"payload": lone_element},
    ("raw", "event"): {"payload": lone_element},
    ("raw", "cloudevents"): {"type": name_as_text, "attributes": subject_and_time},
}
LOSSES: Mapping[Rooms, Changes] = {
    **_AMONG_THE_STANDARDS,
    **{rooms: changes for dialect in DIALECTS for rooms, changes in dialect.losses.items()},
}


def room_of(name: str, *, wrapped: bool = True) -> str:
    """A wrapped message has an action of its own, and mostly no other place for the event's."""
    dialect = BY_NAME[name]
    if not dialect.is_soap:
        return dialect.room or name
    message = dialect.wrapped if wrapped else None
    if message is None or any(entry.name == "action" and not entry.header for entry in message.entries):
        return "event"
    return "wrapped"


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
