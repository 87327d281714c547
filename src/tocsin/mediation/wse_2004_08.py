"""WS-Eventing 2004/08 (W3C Submission 2006) over either WS-Addressing: raw events, and the four operations."""

from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation import addressing, soap, times
from tocsin.mediation.actions import action_of, attributes_for
from tocsin.mediation.entries import Entry, Values, read_entries, text_of
from tocsin.mediation.namespaces import WSE, WSE_PUSH, WSE_TOPIC_FILTER, WSN, XPATH_10
from tocsin.mediation.operations import (
    Answer,
    Context,
    GetStatus,
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
from tocsin.mediation.topics import DIALECTS, filter_of, topic_element, topic_filter, topic_of
from tocsin.model.filters import Filter
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Subscription

NAME = "wse-2004-08"


def _e(local: str) -> str:
    return f"{{{WSE}}}{local}"


OPERATIONS = {_e(name): name for name in ("Subscribe", "Renew", "GetStatus", "Unsubscribe")}

SUBSCRIBE = (
    Entry("consumer", (_e("Delivery"), _e("NotifyTo")), required=True),
    Entry("mode", (_e("Delivery"), "@Mode"), default=WSE_PUSH),
    Entry("end_to", (_e("EndTo"),)),
    Entry("expires", (_e("Expires"),)),
    Entry("filter", (_e("Filter"),)),
)
RENEW = (Entry("expires", (_e("Expires"),)),)


# Normalise


def notifications(record: Accepted, envelope: Envelope, tail: Topic | None) -> tuple[Notification, ...]:
    """A raw event. Its topic is a header's, else the tail of the address, else the reserved one."""
    payload, kind = payload_of(envelope.data, envelope.body, "the Body")
    topic = envelope.headers.get("topic")
    return (
        Notification(
            MessageId(envelope.header("message_id") or f"urn:uuid:{record.cause}"),
            record.at,
            0,
            record.when,
            NAME,
            record.cause,
            addressing.address_of(envelope.headers.get("from")),
            topic_of(topic) if topic is not None else tail or NO_TOPIC,
            kind,
            attributes_for(envelope.header("action"), kind),
            payload,
        ),
    )


def request(envelope: Envelope, subscription: str, now: Instant) -> Request:
    content = envelope.content
    operation = OPERATIONS.get(envelope.operation)
    if content is None or operation is None:
        raise Refusal("unknown-operation", f"WS-Eventing 2004/08 has no operation {envelope.operation}")
    match operation:
        case "Subscribe":
            return _subscribe(envelope, content, now)
        case "Renew":
            asked = read_entries(content, RENEW).text("expires") or ""
            return Renew(subscription, _expires(asked, now), _form(envelope, asked))
        case "GetStatus":
            return GetStatus(subscription)
        case _:
            return Unsubscribe(subscription)


def _subscribe(envelope: Envelope, content: Element, now: Instant) -> Subscribe:
    values = read_entries(content, SUBSCRIBE)
    _refuse_other_modes(values)
    consumer, end_to = values.needed("consumer"), values.element("end_to")
    asked = values.text("expires") or ""
    return Subscribe(
        addressing.endpoint(consumer, "NotifyTo"),
        None if end_to is None else addressing.endpoint(end_to, "EndTo"),
        _form(envelope, asked, addressing.version_of(consumer)),
        _filters(values.element("filter")),
        _expires(asked, now),
    )


def _refuse_other_modes(values: Values) -> None:
    mode = values.text("mode")
    if mode != WSE_PUSH:
        raise Refusal("unsupported-delivery", f"the delivery mode {mode!r} is not supported; {WSE_PUSH} is")


def _form(envelope: Envelope, asked: str, wsa: str | None = None) -> Form:
    """A lease asked for as a time is answered as a time; anything else as a duration (WSE s3.1)."""
    as_time = bool(asked) and not times.is_duration(asked)
    version = envelope.addressing or wsa or "2004/08"
    return Form(NAME, envelope.soap, version, False, "time" if as_time else "duration")


def _expires(asked: str, now: Instant) -> Instant | None:
    return times.expiry(asked, now) if asked else None


def _filters(element: Element | None) -> tuple[Filter, ...]:
    """Topics in a WS-Eventing filter: a WS-Topics dialect, or WS-Messenger's own with wsnt:TopicExpression inside."""
    if element is None:
        return ()
    dialect = str(element.get("Dialect") or XPATH_10)
    if dialect in DIALECTS:
        return (topic_filter(text_of(element), dialect, element.nsmap),)
    if dialect != WSE_TOPIC_FILTER:
        raise Refusal("unsupported-filter", f"the filter dialect {dialect!r} is not supported")
    for child in element:
        if isinstance(child.tag, str) and child.tag != f"{{{WSN}}}TopicExpression":
            raise Refusal("unsupported-filter", f"{child.tag} is not supported in a filter; TopicExpression is")
    return tuple(filter_of(child) for child in element if isinstance(child.tag, str))


# Customise


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    """A raw event. Its topic and producer, for which WS-Eventing has no place, travel as headers."""
    del base_url
    form, tail, version = subscription.form, _recipient(subscription), subscription.form.soap or "1.2"
    action = action_of(notification)
    return _http_headers(version, action), b"".join(
        (
            soap.opening(version, form.addressing),
            b"<wsa:Action>",
            xml.text(action),
            b"</wsa:Action><wsa:MessageID>",
            xml.text(notification.id),
            b"</wsa:MessageID>",
            addressing.reference("wsa:From", notification.producer) if notification.producer else b"",
            _topic_header(notification.topic),
            tail,
            as_element(notification),
            soap.CLOSING,
        )
    )


_http_headers = lru_cache(maxsize=1024)(soap.http_headers)


@lru_cache(maxsize=4096)
def _topic_header(topic: Topic) -> bytes:
    if topic == NO_TOPIC:
        return b""
    return topic_element(topic).replace(b"<wsnt:Topic", b'<wsnt:Topic xmlns:wsnt="%b"' % WSN.encode(), 1)


@lru_cache(maxsize=65_536)
def _recipient(subscription: Subscription) -> bytes:
    consumer = subscription.consumer
    to, parameters = ("", b"") if consumer is None else (consumer.address, consumer.reference)
    echoed = addressing.echoed(parameters, subscription.form.addressing)
    return addressing.block("To", to) + echoed + soap.BETWEEN


def reply(context: Context, answer: Answer) -> Reply:
    match answer:
        case Subscribed(subscription, address, now):
            # SDC consumers (WS-Addressing 2005/08) fail on an echoed wse:Identifier, WS-Management ones need it.
            identifier = b"<wse:Identifier>%b</wse:Identifier>" % xml.text(subscription.id)
            parameters = identifier if context.addressing == "2004/08" else b""
            inner = addressing.reference("wse:SubscriptionManager", address, parameters) + _granted(subscription, now)
            return _reply(context, "SubscribeResponse", inner, subscription.form.addressing)
        case Renewed(subscription, now):
            return _reply(context, "RenewResponse", _granted(subscription, now))
        case Status(subscription, now):
            return _reply(context, "GetStatusResponse", _granted(subscription, now))
        case _:
            return soap.reply(context, f"{WSE}/UnsubscribeResponse", b"")


def _granted(subscription: Subscription, now: Instant) -> bytes:
    if subscription.expires is None:
        return b""
    as_time = subscription.form.expires_as == "time"
    shown = times.timestamp(subscription.expires) if as_time else times.lasting(subscription.expires - now)
    return b"<wse:Expires>%b</wse:Expires>" % shown.encode()


def _reply(context: Context, name: str, inner: bytes, wsa: str | None = None) -> Reply:
    content = b'<wse:%b xmlns:wse="%b">%b</wse:%b>' % (
        name.encode(),
        WSE.encode(),
        inner,
        name.encode(),
    )
    return soap.reply(context, f"{WSE}/{name}", content, wsa=wsa)
