"""Thin notices: they say that a notification can be fetched, without its payload (paper 000 s2.1)."""

from msgspec.structs import replace

from tocsin.markup import xml
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import BY_NAME
from tocsin.model.names import QName
from tocsin.model.notification import Notification, Payload
from tocsin.model.paths import NOTIFICATIONS

REFERENCE = "dataref"  # the extension attribute of CloudEvents by that name
_PLACED = ("specversion", "id", "source", "datacontenttype")
NOTICE = QName("urn:tocsin:notice", "Available")


def address_of(notification: Notification, base_url: str) -> str:
    """Where the whole of it can be fetched for as long as the log is kept."""
    return f"{base_url}{NOTIFICATIONS}/{notification.at.offset}/{notification.index}"


def thinned(notification: Notification, dialect: str, base_url: str) -> Notification:
    """Without its payload. SOAP has no place for the address but the payload, so there it is an element of ours."""
    address, rules = address_of(notification, base_url), BY_NAME.get(dialect)
    if rules is not None and rules.is_soap:
        return replace(notification, payload=Payload("application/xml", _element(notification, address)))
    told = as_event(notification) if dialect == cloudevents.NAME else notification
    attributes = dict(told.attributes) | {REFERENCE: address}
    bare = Payload(notification.payload.media_type, b"")
    return replace(told, attributes=tuple(sorted(attributes.items())), payload=bare)


def as_event(notification: Notification) -> Notification:
    """As its subscriber would be told it: only an event has a place for attributes of any name."""
    told = {name: value for name, value in cloudevents.context_of(notification).items() if name not in _PLACED}
    return replace(notification, dialect=cloudevents.NAME, type=told.pop("type"), attributes=tuple(told.items()))


def _element(notification: Notification, address: str) -> bytes:
    payload = notification.payload
    return b'<n:%b xmlns:n="%b" address=%b mediaType=%b length="%d"/>' % (
        NOTICE.local.encode(),
        NOTICE.namespace.encode(),
        xml.attribute(address),
        xml.attribute(payload.media_type),
        len(payload.data),
    )
