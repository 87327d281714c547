"""WS-ResourceProperties: what the broker, a subscription or a registration tells of itself, as elements."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import qname
from tocsin.mediation import expressions, times
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.expressions import CESQL, CONTENT_TOPIC, JSONPATH, PRODUCER, SPARQL, TYPE
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import ONVIF_ITEM_FILTER, POLICY, WSN, XPATH_10
from tocsin.mediation.topics import DIALECTS, IN_1_3
from tocsin.mediation.ws.topic_documents import T1, topic_set_element
from tocsin.model.filters import (
    NOTHING,
    AllOf,
    Content,
    Filter,
    ForNotifier,
    Graph,
    InBox,
    Language,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.identity import Instant, Pairs
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Registration, Subscription
from tocsin.model.topics import TopicSet, written_path, written_step

BR = "http://docs.oasis-open.org/wsn/br-2"
RL = "http://docs.oasis-open.org/wsrf/rl-2"
CREATION_TIME = QName(WSN, "CreationTime")
_NIL = b' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"'

Elements = Iterable[bytes]
Table = Mapping[QName, Callable[[], Elements]]
NONE: Table = {}


class Facts(Struct, frozen=True):
    """What a broker says of itself."""

    topics: TopicSet
    fixed: bool = False
    dialects: tuple[str, ...] = (*DIALECTS, CONTENT_TOPIC, TYPE)
    requires_registration: bool = False


def broker_properties(facts: Facts, names: Sequence[QName], drafts: Table = NONE) -> tuple[bytes, ...]:
    """`drafts` are properties under other names than those of WSN 1.3, here as below."""
    return _answer(broker_table(facts), drafts, names, "this broker")


def subscription_properties(
    subscription: Subscription,
    names: Sequence[QName],
    now: Instant,
    created: Instant | None = None,
    drafts: Table = NONE,
) -> tuple[bytes, ...]:
    table = _subscription_table(subscription, now, created)
    return _answer(table, drafts, names, f"subscription {subscription.id}")


def registration_properties(
    registration: Registration, names: Sequence[QName], now: Instant, drafts: Table = NONE
) -> tuple[bytes, ...]:
    return _answer(_registration_table(registration, now), drafts, names, f"registration {registration.id}")


def broker_table(facts: Facts) -> Table:
    """NotificationProducerRP and NotificationBrokerRP (WS-BaseNotification s4.1, WS-BrokeredNotification s5.1)."""
    return {
        QName(WSN, "TopicExpression"): lambda: map(topic_as_expression, facts.topics.topics),
        QName(WSN, "FixedTopicSet"): lambda: [element("wsnt", WSN, "FixedTopicSet", facts.fixed)],
        QName(WSN, "TopicExpressionDialect"): lambda: [
            element("wsnt", WSN, "TopicExpressionDialect", each) for each in facts.dialects
        ],
        QName(T1, "TopicSet"): lambda: [topic_set_element(facts.topics)],
        QName(BR, "RequiresRegistration"): lambda: [
            element("br", BR, "RequiresRegistration", facts.requires_registration)
        ],
    }


def _subscription_table(subscription: Subscription, now: Instant, created: Instant | None) -> Table:
    """SubscriptionManagerRP (WS-BaseNotification s6.1) and the times of WS-ResourceLifetime (s5.1)."""
    return lifetime("rl", RL, subscription.expires, now) | {
        QName(WSN, "ConsumerReference"): lambda: reference("wsnt", WSN, "ConsumerReference", subscription.consumer),
        QName(WSN, "Filter"): lambda: _filter(subscription.filters),
        QName(WSN, "SubscriptionPolicy"): lambda: _policy(subscription),
        CREATION_TIME: lambda: [] if created is None else [element("wsnt", WSN, "CreationTime", created)],
    }


def _registration_table(registration: Registration, now: Instant) -> Table:
    """PublisherRegistrationRP (WS-BrokeredNotification s7.1)."""
    publisher = registration.publisher
    return lifetime("rl", RL, registration.expires, now) | {
        QName(BR, "PublisherReference"): lambda: reference("br", BR, "PublisherReference", publisher),
        QName(BR, "Topic"): lambda: [topic_as_expression(each, "br", BR, "Topic") for each in registration.topics],
        QName(BR, "Demand"): lambda: [element("br", BR, "Demand", registration.demand)],
        QName(BR, "CreationTime"): lambda: [element("br", BR, "CreationTime", registration.created)],
    }


def _answer(own: Table, drafts: Table, names: Sequence[QName], owner: str) -> tuple[bytes, ...]:
    table = {**own, **drafts}
    unknown = next((each for each in names if each not in table), None)
    if unknown is not None:
        known = ", ".join(map(str, own))
        raise Refusal("unknown-property", f"{owner} has no property {unknown}; it has {known}", unknown)
    return tuple(element for name in names for element in table[name]())


def lifetime(prefix: str, namespace: str, expires: Instant | None, now: Instant) -> dict[QName, Callable[[], Elements]]:
    return {
        QName(namespace, "CurrentTime"): lambda: [element(prefix, namespace, "CurrentTime", now)],
        QName(namespace, "TerminationTime"): lambda: [element(prefix, namespace, "TerminationTime", expires)],
    }


def reference(prefix: str, namespace: str, name: str, endpoint: Endpoint | None, wsa: str | None = None) -> list[bytes]:
    if endpoint is None:
        return []
    tag, content = f"{prefix}:{name}".encode(), soap.reference_content(endpoint.address, endpoint.reference, wsa)
    declared = f'xmlns:{prefix}="{namespace}" xmlns:wsa="{soap.namespace_of(wsa)}"'.encode()
    return [b"<%b %b>%b</%b>" % (tag, declared, content, tag)]


def element(prefix: str, namespace: str, name: str, value: str | bool | Instant | None) -> bytes:
    """A truth, a time or a text, or nil."""
    tag, declared = f"{prefix}:{name}".encode(), f' xmlns:{prefix}="{namespace}"'.encode()
    match value:
        case None:
            return b"<%b%b%b/>" % (tag, declared, _NIL)
        case bool():
            value = "true" if value else "false"
        case int():
            value = times.timestamp(value)
    return b"<%b%b>%b</%b>" % (tag, declared, xml.text(value), tag)


def _filter(filters: Sequence[Filter]) -> Elements:
    """As it was said, where WS-BaseNotification has an element for it. A mailbox of whom messages are addressed to
    asks for nothing."""
    inner = b"".join(_filter_element(each) for each in filters if each != NOTHING)
    return [b'<wsnt:Filter xmlns:wsnt="%b">%b</wsnt:Filter>' % (WSN.encode(), inner)] if inner else []


def _filter_element(asked: Filter) -> bytes:
    match asked:
        case TopicIs() | TypeIs() | InBox():
            return topic_like_element(asked)
        case ProducerIs():
            return query_element("wsnt", WSN, "ProducerProperties", PRODUCER, expressions.producers_text(asked))
        case Content() if asked.over != "envelope":
            name = "ProducerProperties" if asked.over == "producer" else "MessageContent"
            return content_element("wsnt", WSN, name, asked)
        case Graph(text=text, prefixes=prefixes) if "" not in dict(prefixes):
            return query_element("wsnt", WSN, "MessageContent", expressions.graph_dialect(asked), text, prefixes)
        case AllOf(filters):
            return b"".join(map(_filter_element, filters))
    said = json.dumps(ce_filters.write(asked, _other), ensure_ascii=True)
    return element("t", POLICY, "Filter", said)


def _other(asked: Filter) -> str:
    return f"notifier {asked.name}" if isinstance(asked, ForNotifier) else str(asked)


def topic_like_element(
    asked: TopicIs | TypeIs | InBox, prefix: str = "wsnt", namespace: str = WSN, dialects: tuple[str, str, str] = IN_1_3
) -> bytes:
    """A TopicExpression that says what messages are about: topics, types, or a region of an information space."""
    match asked:
        case TopicIs(alternatives):
            return expression_element(prefix, namespace, "TopicExpression", alternatives, dialects)
        case TypeIs(names):
            prefixes: dict[str, str] = {}
            text = " ".join(written_step(qname(each), prefixes) if each.startswith("{") else each for each in names)
            declared = tuple((each, uri) for uri, each in prefixes.items())
            return query_element(prefix, namespace, "TopicExpression", TYPE, text, declared)
    return query_element(prefix, namespace, "TopicExpression", CONTENT_TOPIC, expressions.box_text(asked))


_LANGUAGES: Mapping[Language, str] = {
    "xpath": XPATH_10,
    "items": ONVIF_ITEM_FILTER,
    "jsonpath": JSONPATH,
    "cesql": CESQL,
    "sparql": SPARQL,
}


def content_element(prefix: str, namespace: str, name: str, asked: Content) -> bytes:
    return query_element(prefix, namespace, name, _LANGUAGES[asked.language], asked.text, asked.namespaces)


def query_element(prefix: str, namespace: str, name: str, dialect: str, text: str, declared: Pairs = ()) -> bytes:
    """With the prefixes of the text, of which the element's own must be none."""
    own = prefix if prefix not in dict(declared) else f"{max(map(len, dict(declared))) * '_'}{prefix}"
    scope = b"".join(b" xmlns:%b=%b" % (each.encode(), xml.attribute(uri)) for each, uri in declared)
    tag = f"{own}:{name}".encode()
    return b"<%b xmlns:%b=%b%b Dialect=%b>%b</%b>" % (
        tag,
        own.encode(),
        xml.attribute(namespace),
        scope,
        xml.attribute(dialect),
        xml.text(text),
        tag,
    )


def _policy(subscription: Subscription) -> Elements:
    form = subscription.form
    inner = b"" if form.wrapped else b"<wsnt:UseRaw/>"
    inner += element("t", POLICY, "DeliverAs", form.graph) if form.graph else b""
    inner += element("t", POLICY, "Bindings", "") if form.bindings else b""
    shape = b'<wsnt:SubscriptionPolicy xmlns:wsnt="%b">%b</wsnt:SubscriptionPolicy>'
    return [shape % (WSN.encode(), inner)] if inner else []


def topic_expression_element(expression: TopicIs) -> bytes:
    """`wsnt:TopicExpression` with the prefixes it uses, in the least of the dialects that can say it."""
    return expression_element("wsnt", WSN, "TopicExpression", expression.alternatives)


def topic_as_expression(
    topic: Topic, prefix: str = "wsnt", namespace: str = WSN, name: str = "TopicExpression"
) -> bytes:
    return expression_element(prefix, namespace, name, (topic.steps,))


def topics_expression(topics: Sequence[Topic]) -> TopicIs:
    """Any one of these topics."""
    return TopicIs(tuple(each.steps for each in topics))


Paths = Sequence[tuple[QName | str, ...]]


def expression_element(
    prefix: str, namespace: str, name: str, paths: Paths, dialects: tuple[str, str, str] = IN_1_3
) -> bytes:
    prefixes: dict[str, str] = {}
    text = "|".join(written_path(each, prefixes) for each in paths)
    declared = b"".join(b" xmlns:%b=%b" % (each.encode(), xml.attribute(uri)) for uri, each in prefixes.items())
    tag = f"{prefix}:{name}".encode()
    return b'<%b xmlns:%b="%b"%b Dialect="%b">%b</%b>' % (
        tag,
        prefix.encode(),
        namespace.encode(),
        declared,
        dialects[_dialect(paths)].encode(),
        xml.text(text),
        tag,
    )


def _dialect(paths: Paths) -> int:
    """Simple, Concrete or Full, in the order of a dialect's URIs."""
    plain = len(paths) == 1 and all(isinstance(step, QName) and step.local != "*" for step in paths[0])
    if not plain:
        return 2
    return 0 if len(paths[0]) == 1 else 1
