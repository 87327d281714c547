"""WS-ResourceProperties: what the broker, a subscription or a registration tells of itself, as elements."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from tocsin.markup import xml
from tocsin.mediation import expressions, times
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.expressions import CESQL, CONTENT_TOPIC, JSONPATH, PRODUCER, SPARQL, TYPE
from tocsin.mediation.soap import addressing
from tocsin.mediation.soap.namespaces import ONVIF_ITEM_FILTER, POLICY, WSA_2005, WSN, XPATH_10
from tocsin.mediation.topics import DIALECTS, IN_1_3
from tocsin.mediation.ws.topic_documents import T1, topic_set_element
from tocsin.model.filters import (
    DESCEND,
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
from tocsin.model.names import QName, Topic, qname
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Registration, Subscription
from tocsin.model.topics import TopicSet

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
        QName(WSN, "FixedTopicSet"): lambda: [_wsn("FixedTopicSet", _boolean(facts.fixed))],
        QName(WSN, "TopicExpressionDialect"): lambda: [_wsn("TopicExpressionDialect", each) for each in facts.dialects],
        QName(T1, "TopicSet"): lambda: [topic_set_element(facts.topics)],
        QName(BR, "RequiresRegistration"): lambda: [
            _element("br", BR, "RequiresRegistration", _boolean(facts.requires_registration))
        ],
    }


def _subscription_table(subscription: Subscription, now: Instant, created: Instant | None) -> Table:
    """SubscriptionManagerRP (WS-BaseNotification s6.1) and the times of WS-ResourceLifetime (s5.1)."""
    return _lifetime(subscription.expires, now) | {
        QName(WSN, "ConsumerReference"): lambda: _reference("wsnt", WSN, "ConsumerReference", subscription.consumer),
        QName(WSN, "Filter"): lambda: _filter(subscription.filters),
        QName(WSN, "SubscriptionPolicy"): lambda: _policy(subscription),
        CREATION_TIME: partial(_creation, created),
    }


def _registration_table(registration: Registration, now: Instant) -> Table:
    """PublisherRegistrationRP (WS-BrokeredNotification s7.1)."""
    publisher = registration.publisher
    return _lifetime(registration.expires, now) | {
        QName(BR, "PublisherReference"): lambda: _reference("br", BR, "PublisherReference", publisher),
        QName(BR, "Topic"): lambda: [topic_as_expression(each, "br", BR, "Topic") for each in registration.topics],
        QName(BR, "Demand"): lambda: [_element("br", BR, "Demand", _boolean(registration.demand))],
        QName(BR, "CreationTime"): lambda: [_element("br", BR, "CreationTime", times.timestamp(registration.created))],
    }


def _answer(own: Table, drafts: Table, names: Sequence[QName], owner: str) -> tuple[bytes, ...]:
    table = {**own, **drafts}
    unknown = next((each for each in names if each not in table), None)
    if unknown is not None:
        known = ", ".join(map(str, own))
        raise Refusal("unknown-property", f"{owner} has no property {unknown}; it has {known}", unknown)
    return tuple(element for name in names for element in table[name]())


def _lifetime(expires: Instant | None, now: Instant) -> dict[QName, Callable[[], Elements]]:
    return {
        QName(RL, "CurrentTime"): lambda: [_element("rl", RL, "CurrentTime", times.timestamp(now))],
        QName(RL, "TerminationTime"): lambda: [_termination(expires)],
    }


def _termination(expires: Instant | None) -> bytes:
    if expires is None:
        return b'<rl:TerminationTime xmlns:rl="%b"%b/>' % (RL.encode(), _NIL)
    return _element("rl", RL, "TerminationTime", times.timestamp(expires))


def _creation(created: Instant | None) -> Elements:
    return [] if created is None else [_wsn("CreationTime", times.timestamp(created))]


def _reference(prefix: str, namespace: str, name: str, endpoint: Endpoint | None) -> Elements:
    if endpoint is None:
        return []
    inner = addressing.block("Address", endpoint.address)
    if endpoint.reference:
        inner += b"<wsa:ReferenceParameters>%b</wsa:ReferenceParameters>" % endpoint.reference
    tag = f"{prefix}:{name}".encode()
    declared = b'xmlns:%b="%b" xmlns:wsa="%b"' % (prefix.encode(), namespace.encode(), WSA_2005.encode())
    return [b"<%b %b>%b</%b>" % (tag, declared, inner, tag)]


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
    return _element("t", POLICY, "Filter", said)


def _other(asked: Filter) -> str:
    return f"notifier {asked.name}" if isinstance(asked, ForNotifier) else str(asked)


def topic_like_element(
    asked: TopicIs | TypeIs | InBox,
    prefix: str = "wsnt",
    namespace: str = WSN,
    dialects: tuple[str, str, str] = IN_1_3,
) -> bytes:
    """A TopicExpression that says what messages are about: topics, types, or a region of an information space."""
    match asked:
        case TopicIs(alternatives):
            return expression_element(prefix, namespace, "TopicExpression", alternatives, dialects)
        case TypeIs(names):
            prefixes: dict[str, str] = {}
            text = " ".join(_step(qname(each), prefixes) if each.startswith("{") else each for each in names)
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
    inner += _element("t", POLICY, "DeliverAs", form.graph) if form.graph else b""
    inner += _element("t", POLICY, "Bindings", "") if form.bindings else b""
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
    text = "|".join(_path(each, prefixes) for each in paths)
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


def _path(path: tuple[QName | str, ...], prefixes: dict[str, str]) -> str:
    """In the grammar of Full; what ends in `//` is written with a last `.` (WS-Topics s8.3)."""
    text, joint = "", ""
    for step in path:
        if step == DESCEND:
            text, joint = f"{text}//", ""
        else:
            text, joint = f"{text}{joint}{_step(step, prefixes)}", "/"
    return text if joint else f"{text}."


def _step(step: QName | str, prefixes: dict[str, str]) -> str:
    if isinstance(step, str) or not step.namespace:
        return str(step)
    return f"{prefixes.setdefault(step.namespace, f't{len(prefixes)}')}:{step.local}"


def _wsn(name: str, text: str) -> bytes:
    return _element("wsnt", WSN, name, text)


def _element(prefix: str, namespace: str, name: str, text: str) -> bytes:
    tag = f"{prefix}:{name}".encode()
    return b'<%b xmlns:%b="%b">%b</%b>' % (tag, prefix.encode(), namespace.encode(), xml.text(text), tag)


def _boolean(value: bool) -> str:
    return "true" if value else "false"
