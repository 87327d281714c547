"""Answers, from the normalised information set to the tables."""

from collections.abc import Mapping

from msgspec.structs import replace

from tocsin.mediation import operations, times
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.soap import soap, templates
from tocsin.mediation.soap.entries import Markup, Value, write
from tocsin.mediation.soap.payloads import XML_TYPE
from tocsin.mediation.soap.templates import PULL_POINTS, as_element
from tocsin.model.identity import Instant, MessageId, Pairs, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Subscription

Values = Mapping[str, Value]


def reply(
    dialect: Dialect, message: Message, context: operations.Context, answer: operations.Answer, base_url: str
) -> operations.Reply:
    """In the requester's own SOAP, WS-Addressing and specification."""
    said = message.answer
    assert said is not None
    wsa = context.addressing or _version(answer) or dialect.addressing
    values = {"request": context.message_id or None, **_values(dialect, message, answer, wsa, base_url)}
    content = write(said, values, wsa)
    return soap.reply(context, said.action, content, wsa=wsa)


def _version(answer: operations.Answer) -> str | None:
    match answer:
        case operations.Subscribed(subscription) | operations.Pulled(subscription):
            return subscription.form.addressing
        case operations.Registered(registration):
            return registration.form.addressing
    return None


def _values(dialect: Dialect, message: Message, answer: operations.Answer, wsa: str | None, base_url: str) -> Values:
    match answer:
        case operations.Subscribed(subscription, address, now):
            reference = templates.identified(dialect, subscription.id, address, wsa)
            expires = _lease(dialect, subscription, now)
            return {"subscription": reference, "id": subscription.id, "now": now, "expires": expires}
        case operations.Renewed(subscription, now) | operations.Status(subscription, now):
            return {"now": now, "expires": _lease(dialect, subscription, now)}
        case operations.Pulled(subscription, held, now):
            messages = (
                templates.holder_of(dialect, each.notification, _by(each, subscription), base_url) for each in held
            )
            expires = _lease(dialect, subscription, now)
            return {"messages": Markup(b"".join(messages)), "now": now, "expires": expires}
        case operations.CurrentMessage(notification):
            return {"message": Markup(as_element(notification))}
        case operations.Registered(registration, address, consumer):
            reference = templates.identified(dialect, registration.id, address, wsa)
            return {"registration": reference, "consumer": Endpoint(consumer)}
        case operations.Properties(elements):
            return {"properties": Markup(b"".join(elements))}
        case operations.Described():
            return {} if message.describe is None else message.describe(answer)
        case operations.Done():
            return {}


def _by(held: operations.Held, pull_point: Subscription) -> Subscription:
    """The subscription it came by, as far as its reference shows it."""
    if held.subscription == pull_point.id:
        return pull_point
    return replace(pull_point, id=SubscriptionId(held.subscription), consumer=Endpoint(f"{PULL_POINTS}{pull_point.id}"))


def _lease(dialect: Dialect, subscription: Subscription, now: Instant) -> Value:
    """As a duration where it was asked for as one and the dialect answers in kind."""
    expires = subscription.expires
    if expires is None or dialect.leases == "time" or subscription.form.expires_as == "time":
        return expires
    return times.lasting(expires - now)


def end_notice(dialect: Dialect, ended: operations.Ended, base_url: str) -> tuple[Endpoint, Pairs, bytes] | None:
    """What goes out when a subscription ends unasked: to EndTo where the specification has it, else to the consumer."""
    subscription, message = ended.subscription, dialect.end
    if message is None:
        return None
    if message.fact("as") == "notification":
        return _as_notification(dialect, message, ended, base_url)
    if subscription.end_to is None:
        return None
    form = subscription.form
    wsa = form.addressing or dialect.addressing
    values: Values = {
        "subscription": templates.identified(dialect, subscription.id, ended.address, wsa),
        "status": f"{message.fact('statuses')}{ended.status}",
        "reason": ended.reason,
    }
    headers, body = soap.one_way(
        form.soap or "1.2", wsa, message.action, subscription.end_to, write(message, values, wsa)
    )
    return subscription.end_to, headers, body


def _as_notification(
    dialect: Dialect, message: Message, ended: operations.Ended, base_url: str
) -> tuple[Endpoint, Pairs, bytes] | None:
    """WS-ResourceLifetime 1.2 s5.3: termination is told as a notification like any other, on a topic of its own."""
    subscription = ended.subscription
    if subscription.consumer is None or message.element is None:
        return None
    payload = Payload(XML_TYPE, write(message, {"now": ended.now, "reason": ended.reason}, None))
    name = message.element
    notification = Notification(
        MessageId(f"urn:tocsin:end:{subscription.id}"),
        subscription.since,
        0,
        ended.now,
        dialect.name,
        "",
        "",
        Topic((QName(name.namespace, name.local),)),
        QName(name.namespace, name.local),
        (),
        payload,
    )
    headers, body = templates.customise(notification, subscription, base_url)
    return subscription.consumer, headers, body
