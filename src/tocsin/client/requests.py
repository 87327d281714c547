"""What a client says to a broker, in each dialect."""

from tocsin.markup import xml
from tocsin.mediation import addressing, cloudevents, soap, wse_2004_08, wsn_1_3
from tocsin.mediation.namespaces import TOPICS, WSE, WSE_PUSH, WSN, WSN_MANAGER, WSN_PRODUCER
from tocsin.mediation.payloads import as_element
from tocsin.mediation.topics import topic_element
from tocsin.model.identity import Node, Pairs, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

NOWHERE = Position(Node(""), 0)
Said = tuple[Pairs, bytes]


def wsn_notify(notification: Notification, to: str) -> Said:
    producer = notification.producer
    content = b"".join(
        (
            b'<wsnt:Notify xmlns:wsnt="%b"><wsnt:NotificationMessage>' % WSN.encode(),
            topic_element(notification.topic),
            addressing.reference("wsnt:ProducerReference", producer) if producer else b"",
            b"<wsnt:Message>",
            as_element(notification),
            b"</wsnt:Message></wsnt:NotificationMessage></wsnt:Notify>",
        )
    )
    return _said("2005/08", wsn_1_3.NOTIFY_ACTION, to, content, notification.id)


def wse_event(notification: Notification, to: str) -> Said:
    recipient = Subscription(
        SubscriptionId(""), None, Endpoint(to), None, Form(wse_2004_08.NAME, "1.2", "2004/08"), (), NOWHERE, None
    )
    return wse_2004_08.customise(notification, recipient, "")


def cloud_event(notification: Notification) -> Said:
    return cloudevents.structured(notification)


def wsn_subscribe(to: str, consumer: str, topic: str, dialect: str, namespaces: Pairs, expires: str) -> Said:
    filters = _topic_expression(topic, dialect, namespaces)
    content = b'<wsnt:Subscribe xmlns:wsnt="%b">%b%b%b</wsnt:Subscribe>' % (
        WSN.encode(),
        addressing.reference("wsnt:ConsumerReference", consumer),
        b"<wsnt:Filter>%b</wsnt:Filter>" % filters if filters else b"",
        _element("wsnt:InitialTerminationTime", expires),
    )
    return _said("2005/08", f"{WSN_PRODUCER}/SubscribeRequest", to, content)


def wsn_renew(to: str, expires: str) -> Said:
    content = b'<wsnt:Renew xmlns:wsnt="%b">%b</wsnt:Renew>' % (
        WSN.encode(),
        _element("wsnt:TerminationTime", expires or "PT1H"),
    )
    return _said("2005/08", f"{WSN_MANAGER}/RenewRequest", to, content)


def wsn_unsubscribe(to: str) -> Said:
    content = b'<wsnt:Unsubscribe xmlns:wsnt="%b"/>' % WSN.encode()
    return _said("2005/08", f"{WSN_MANAGER}/UnsubscribeRequest", to, content)


def wse_subscribe(to: str, consumer: str, topic: str, dialect: str, namespaces: Pairs, expires: str) -> Said:
    filters = b""
    if topic:
        filters = b"<wse:Filter%b Dialect=%b>%b</wse:Filter>" % (
            _declarations(namespaces),
            xml.attribute(f"{TOPICS}/{dialect.capitalize()}"),
            xml.text(topic),
        )
    content = b'<wse:Subscribe xmlns:wse="%b"><wse:Delivery Mode="%b">%b</wse:Delivery>%b%b</wse:Subscribe>' % (
        WSE.encode(),
        WSE_PUSH.encode(),
        addressing.reference("wse:NotifyTo", consumer),
        _element("wse:Expires", expires),
        filters,
    )
    return _said("2004/08", f"{WSE}/Subscribe", to, content)


def wse_renew(to: str, expires: str) -> Said:
    content = b'<wse:Renew xmlns:wse="%b">%b</wse:Renew>' % (WSE.encode(), _element("wse:Expires", expires))
    return _said("2004/08", f"{WSE}/Renew", to, content)


def wse_unsubscribe(to: str) -> Said:
    return _said("2004/08", f"{WSE}/Unsubscribe", to, b'<wse:Unsubscribe xmlns:wse="%b"/>' % WSE.encode())


def _said(wsa: str, action: str, to: str, content: bytes, message_id: str = "") -> Said:
    headers = addressing.block("Action", action) + addressing.block("To", to)
    if message_id:
        headers += addressing.block("MessageID", message_id)
    body = b"".join((soap.opening("1.2", wsa), headers, soap.BETWEEN, content, soap.CLOSING))
    return soap.http_headers("1.2", action), body


def _topic_expression(topic: str, dialect: str, namespaces: Pairs) -> bytes:
    if not topic:
        return b""
    return b"<wsnt:TopicExpression%b Dialect=%b>%b</wsnt:TopicExpression>" % (
        _declarations(namespaces),
        xml.attribute(f"{TOPICS}/{dialect.capitalize()}"),
        xml.text(topic),
    )


def _declarations(namespaces: Pairs) -> bytes:
    return b"".join(b" xmlns:%b=%b" % (prefix.encode(), xml.attribute(uri)) for prefix, uri in namespaces)


def _element(name: str, value: str) -> bytes:
    return b"<%b>%b</%b>" % (name.encode(), xml.text(value), name.encode()) if value else b""
