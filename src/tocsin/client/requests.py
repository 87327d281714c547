"""What a client says to a broker: the same tables the broker reads by, written."""

from tocsin.markup import xml
from tocsin.mediation import notices, soap
from tocsin.mediation.dialects import BY_NAME
from tocsin.mediation.namespaces import TOPICS, WSN
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.topics import PUBLISH_DOOR
from tocsin.mediation.writing import Expression, Markup, Value, write
from tocsin.model.identity import Node, Pairs, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

NOWHERE = Position(Node(""), 0)
Said = tuple[Pairs, bytes]


def operation(dialect: Dialect, name: str) -> Message | None:
    """The message that asks for that operation of the normalised information set."""
    return next((each for each in dialect.requests if each.operation == name), None)


def request(dialect: Dialect, message: Message, to: str, values: dict[str, Value], version: str = "1.2") -> Said:
    content = write(message, values, dialect.addressing)
    return soap.one_way(version, dialect.addressing, message.action, Endpoint(to), content)


def publication(dialect: Dialect, notification: Notification, broker: str) -> tuple[str, Said]:
    """Where a notification goes, and how it is said."""
    if not dialect.is_soap:
        return f"{broker}/events", notice(dialect, notification, f"{broker}/events")
    url = f"{broker}/broker" if dialect.wrapped is not None else f"{broker}{PUBLISH_DOOR}"
    return url, notice(dialect, notification, url)


def notice(dialect: Dialect, notification: Notification, to: str) -> Said:
    recipient = Subscription(
        SubscriptionId(""), None, Endpoint(to), None, Form(dialect.name, "1.2", dialect.addressing), (), NOWHERE, None
    )
    if dialect.write is not None:
        return dialect.write(notification, recipient, "")
    return notices.customise(dialect, notification, recipient, "")


def topic_filter(topic: str, grammar: str, namespaces: Pairs) -> dict[str, Value]:
    """One topic expression at each place a table may have for it."""
    if not topic:
        return {}
    asked = Expression(topic, f"{TOPICS}/{grammar.capitalize()}", namespaces)
    return {"filter": Markup(_topic_expression(asked)), "event_filter": asked, "topic_expression": asked}


def _topic_expression(asked: Expression) -> bytes:
    declared = b"".join(b" xmlns:%b=%b" % (prefix.encode(), xml.attribute(uri)) for prefix, uri in asked.namespaces)
    return b'<wsnt:TopicExpression xmlns:wsnt="%b"%b Dialect=%b>%b</wsnt:TopicExpression>' % (
        WSN.encode(),
        declared,
        xml.attribute(asked.dialect),
        xml.text(asked.text),
    )


def dialect_named(name: str) -> Dialect | None:
    return BY_NAME.get(name)
