"""WS-Notification 1.3 (OASIS, 2006): Notify, Subscribe, Renew, Unsubscribe."""

from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation import addressing, soap, times
from tocsin.mediation.entries import Entry, children, read_entries, text_of
from tocsin.mediation.namespaces import WSN, WSN_CONSUMER, WSN_MANAGER, WSN_PRODUCER
from tocsin.mediation.operations import (
    Answer,
    Context,
    Publish,
    Renew,
    Renewed,
    Reply,
    Request,
    Status,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from tocsin.mediation.payloads import as_element, payload_of
from tocsin.mediation.soap import Envelope
from tocsin.mediation.topics import filter_of, topic_element, topic_of
from tocsin.model.filters import Filter
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import NO_TOPIC, qname
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Subscription

NAME = "wsn-1.3"
NOTIFY_ACTION = f"{WSN_CONSUMER}/Notify"


def _b(local: str) -> str:
    return f"{{{WSN}}}{local}"


OPERATIONS = {_b(name): name for name in ("Notify", "Subscribe", "Renew", "Unsubscribe")}

NOTIFICATION_MESSAGE = {_b("Topic"): "topic", _b("ProducerReference"): "producer", _b("Message"): "message"}
SUBSCRIBE = (
    Entry("consumer", (_b("ConsumerReference"),), required=True),
    Entry("filter", (_b("Filter"),)),
    Entry("expires", (_b("InitialTerminationTime"),)),
    Entry("policy", (_b("SubscriptionPolicy"),)),
)
RENEW = (Entry("expires", (_b("TerminationTime"),), required=True),)


# Normalise


def notifications(record: Accepted, envelope: Envelope) -> tuple[Notification, ...]:
    content = envelope.content
    holders = [] if content is None else [child for child in content if child.tag == _MESSAGE]
    if not holders:
        raise Refusal("malformed", "Notify holds no NotificationMessage")
    message_id = envelope.header("message_id")
    stem = message_id or f"urn:uuid:{record.cause}"
    sender = addressing.address_of(envelope.headers.get("from"))
    if len(holders) == 1:
        return (_notification(record, 0, stem, sender, holders[0], envelope.data),)
    return tuple(
        _notification(record, at, f"{stem}/{at}", sender, each, envelope.data) for at, each in enumerate(holders)
    )


_MESSAGE = _b("NotificationMessage")


def payload_holder(envelope: Envelope) -> Element:
    """The Message of a Notify that was read without complaint and holds one."""
    notify = () if envelope.content is None else envelope.content
    return next(children(each, NOTIFICATION_MESSAGE)["message"] for each in notify if each.tag == _MESSAGE)


def _notification(record: Accepted, index: int, name: str, sender: str, holder: Element, data: bytes) -> Notification:
    found = children(holder, NOTIFICATION_MESSAGE)
    message = found.get("message")
    if message is None:
        raise Refusal("malformed", f"NotificationMessage {index + 1} has no Message")
    payload, kind = payload_of(data, message, f"the Message of NotificationMessage {index + 1}")
    topic = found.get("topic")
    return Notification(
        MessageId(name),
        record.at,
        index,
        record.when,
        NAME,
        record.cause,
        addressing.address_of(found.get("producer")) or sender,
        NO_TOPIC if topic is None else topic_of(topic),
        kind,
        (),
        payload,
    )


def request(envelope: Envelope, subscription: str, now: Instant) -> Request:
    """What is asked; `subscription` is the id the address names, empty when it names none."""
    content = envelope.content
    operation = OPERATIONS.get(envelope.operation)
    if content is None or operation is None:
        raise Refusal("unknown-operation", f"WS-Notification 1.3 has no operation {envelope.operation}")
    match operation:
        case "Notify":
            return Publish()
        case "Subscribe":
            return _subscribe(envelope, content, now)
        case "Renew":
            expires = read_entries(content, RENEW).needed("expires")
            form = _form(envelope, expires)
            return Renew(subscription, _termination(expires, now), form)
        case _:
            return Unsubscribe(subscription)


def _subscribe(envelope: Envelope, content: Element, now: Instant) -> Subscribe:
    values = read_entries(content, SUBSCRIBE)
    _refuse_policies(values.element("policy"))
    consumer = values.needed("consumer")
    expires = values.element("expires")
    form = _form(envelope, expires, addressing.version_of(consumer))
    return Subscribe(
        addressing.endpoint(consumer, "ConsumerReference"),
        None,
        form,
        _filters(values.element("filter")),
        _termination(expires, now),
    )


def _form(envelope: Envelope, expires: Element | None, wsa: str | None = None) -> Form:
    version = envelope.addressing or wsa or "2005/08"
    return Form(NAME, envelope.soap, version, True, "duration" if times.is_duration(text_of(expires)) else "time")


def _termination(element: Element | None, now: Instant) -> Instant | None:
    """Nil or absent asks for no particular end."""
    text = text_of(element)
    return times.expiry(text, now) if text else None


def _filters(element: Element | None) -> tuple[Filter, ...]:
    if element is None:
        return ()
    filters = []
    for child in element:
        if child.tag == _b("TopicExpression"):
            filters.append(filter_of(child))
        elif isinstance(child.tag, str):
            text = f"the filter {child.tag} is not supported; TopicExpression is"
            raise Refusal("unsupported-filter", text, qname(child.tag))
    return tuple(filters)


def _refuse_policies(policy: Element | None) -> None:
    for each in policy if policy is not None else ():
        if isinstance(each.tag, str):
            raise Refusal(
                "unsupported-delivery", f"the subscription policy {each.tag} is not supported", qname(each.tag)
            )


# Customise


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    """Byte templates: what depends on the subscription alone is made once."""
    start, middle, headers = _frame(subscription, base_url)
    producer = addressing.reference("wsnt:ProducerReference", notification.producer) if notification.producer else b""
    return headers, b"".join(
        (
            start,
            xml.text(notification.id),
            middle,
            topic_element(notification.topic),
            producer,
            b"<wsnt:Message>",
            as_element(notification),
            _END,
        )
    )


_END = b"</wsnt:Message></wsnt:NotificationMessage></wsnt:Notify>" + soap.CLOSING


@lru_cache(maxsize=65_536)
def _frame(subscription: Subscription, base_url: str) -> tuple[bytes, bytes, Pairs]:
    form, consumer = subscription.form, subscription.consumer
    version = form.soap or "1.2"
    to, parameters = ("", b"") if consumer is None else (consumer.address, consumer.reference)
    start = soap.opening(version, form.addressing) + addressing.block("Action", NOTIFY_ACTION) + b"<wsa:MessageID>"
    middle = b"".join(
        (
            b"</wsa:MessageID>",
            addressing.block("To", to),
            addressing.echoed(parameters, form.addressing),
            soap.BETWEEN,
            b'<wsnt:Notify xmlns:wsnt="%b"><wsnt:NotificationMessage>' % WSN.encode(),
            addressing.reference("wsnt:SubscriptionReference", manager_address(base_url, subscription.id)),
        )
    )
    return start, middle, soap.http_headers(version, NOTIFY_ACTION)


def manager_address(base_url: str, subscription: str) -> str:
    return f"{base_url}/broker/subscriptions/{subscription}"


def reply(context: Context, answer: Answer) -> Reply:
    match answer:
        case Subscribed(subscription, address, now):
            inner = addressing.reference("wsnt:SubscriptionReference", address)
            inner += _when("CurrentTime", now) + _when("TerminationTime", subscription.expires)
            wsa = subscription.form.addressing
            return _reply(context, f"{WSN_PRODUCER}/SubscribeResponse", "SubscribeResponse", inner, wsa)
        case Renewed(subscription, now) | Status(subscription, now):
            inner = _when("TerminationTime", subscription.expires) + _when("CurrentTime", now)
            return _reply(context, f"{WSN_MANAGER}/RenewResponse", "RenewResponse", inner)
        case _:
            return _reply(context, f"{WSN_MANAGER}/UnsubscribeResponse", "UnsubscribeResponse", b"")


def _when(name: str, when: Instant | None) -> bytes:
    if when is None:
        nil = b'<wsnt:%b xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>'
        return nil % name.encode()
    return b"<wsnt:%b>%b</wsnt:%b>" % (name.encode(), times.timestamp(when).encode(), name.encode())


def _reply(context: Context, action: str, name: str, inner: bytes, wsa: str | None = None) -> Reply:
    content = b'<wsnt:%b xmlns:wsnt="%b">%b</wsnt:%b>' % (name.encode(), WSN.encode(), inner, name.encode())
    return soap.reply(context, action, content, wsa=wsa)
