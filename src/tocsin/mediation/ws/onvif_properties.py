"""ONVIF's property events: messages that say how something stands, not only that something happened (Core s9.4)."""

from msgspec.structs import replace

from tocsin.markup import xml
from tocsin.mediation.soap.namespaces import ONVIF_SCHEMA
from tocsin.model.identity import MessageId
from tocsin.model.notification import Notification, Payload

_MESSAGE = f"{{{ONVIF_SCHEMA}}}Message"
_OPERATION = "PropertyOperation"


def initialised(notification: Notification, name: str) -> Notification | None:
    """The event as it is told again at a synchronization point; None when it is not of a property, or of none now."""
    if _OPERATION.encode() not in notification.payload.data:
        return None
    try:
        message = xml.parse(notification.payload.data)
    except xml.MarkupError:
        return None
    if message.tag != _MESSAGE or message.get(_OPERATION) in (None, "Deleted"):
        return None
    message.set(_OPERATION, "Initialized")
    payload = Payload(notification.payload.media_type, xml.serialise(message))
    return replace(notification, id=MessageId(f"{notification.id}#{name}"), payload=payload)
