"""What can become of a part of a notification on its way into another dialect; each says it in its docstring."""

from collections.abc import Callable, Mapping

from tocsin.markup import xml
from tocsin.markup.xml import qname
from tocsin.mediation.soap.payloads import XML_TYPE, is_xml, type_name
from tocsin.mediation.soap.soap import action_for
from tocsin.mediation.times import timestamp
from tocsin.mediation.topics import sayable_content_topic
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC, QName
from tocsin.model.notification import Notification, Payload

Change = Callable[[Notification], object]


def no_attributes(notification: Notification) -> Pairs:
    """there is no place for attributes but the content topic, which goes with the topic"""
    said = sayable_content_topic(notification)
    return ((CONTENT_TOPIC, said),) if said else ()


def subject_and_time(notification: Notification) -> Pairs:
    """they become subject, which is the topic, and time, when the broker accepted it; a content topic stays"""
    subject = () if notification.topic == NO_TOPIC else (("subject", str(notification.topic)),)
    kept = tuple(pair for pair in notification.attributes if pair[0] == CONTENT_TOPIC)
    return (*kept, *subject, ("time", timestamp(notification.when)))


def type_as_action(notification: Notification) -> Pairs:
    """all but a content topic are dropped; a type that is not the payload element's own name becomes the action"""
    action = action_for(notification.type)
    known = action == action_for(element_as_type(notification))
    return (() if known else (("action", action),)) + no_attributes(notification)


def element_as_type(notification: Notification) -> QName | str | None:
    """of XML, the name of its element; of what only claims to be XML, the type as text"""
    payload, kind = notification.payload, notification.type
    root = _root(payload)
    if root is not None:
        return qname(str(root.tag))
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


INTO_SOAP: Mapping[str, Change] = {
    "id": collapsed_id,
    "producer": collapsed_producer,
    "type": element_as_type,
    "payload": lone_element,
}
