"""The same properties under the names that the drafts of WS-Notification have for them (WSN 1.2 s4.1, s6.1)."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from tocsin.markup import xml
from tocsin.mediation import times
from tocsin.mediation.expressions import PRODUCER, producers_text
from tocsin.mediation.soap import addressing
from tocsin.mediation.soap.namespaces import (
    WSN_1_0,
    WSN_1_2,
    WSN_1_2_BROKERED,
    WSRF_1_0_LIFETIME,
    WSRF_1_2_LIFETIME,
)
from tocsin.mediation.topics import IN_1_0, IN_1_2
from tocsin.mediation.ws.properties import (
    Elements,
    Facts,
    Paths,
    Table,
    broker_properties,
    content_element,
    expression_element,
    query_element,
    topic_like_element,
)
from tocsin.model.filters import Content, Filter, InBox, ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import Instant
from tocsin.model.names import QName
from tocsin.model.subscription import Endpoint, Registration, Subscription

_NIL = b' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"'


class Draft(Struct, frozen=True):
    base: str
    lifetime: str
    topic_dialects: tuple[str, str, str]
    addressing: str
    brokered: str = ""


DRAFTS = (
    Draft(WSN_1_2, WSRF_1_2_LIFETIME, IN_1_2, "2004/03", WSN_1_2_BROKERED),
    Draft(WSN_1_0, WSRF_1_0_LIFETIME, IN_1_0, "2005/08"),
)


def broker_table(facts: Facts) -> Table:
    return {name: get for draft in DRAFTS for name, get in _producer(draft, facts).items()}


def all_broker_properties(facts: Facts, names: Sequence[QName]) -> tuple[bytes, ...]:
    """Under the names of 1.3 and of the drafts."""
    return broker_properties(facts, names, broker_table(facts))


def subscription_table(subscription: Subscription, now: Instant, created: Instant | None) -> Table:
    return {name: get for draft in DRAFTS for name, get in _subscription(draft, subscription, now, created).items()}


def registration_table(registration: Registration, now: Instant) -> Table:
    return {name: get for draft in DRAFTS for name, get in _registration(draft, registration, now).items()}


def _producer(draft: Draft, facts: Facts) -> Table:
    base, grammars = draft.base, draft.topic_dialects
    topics = facts.topics.topics
    return {
        QName(base, "Topic"): lambda: [_expression(draft, "Topic", (each.steps,)) for each in topics],
        QName(base, "FixedTopicSet"): lambda: [_element(base, "FixedTopicSet", _boolean(facts.fixed))],
        QName(base, "TopicExpressionDialects"): lambda: [
            _element(base, "TopicExpressionDialects", each) for each in grammars
        ],
    }


def _subscription(draft: Draft, subscription: Subscription, now: Instant, created: Instant | None) -> Table:
    """A filter that the drafts have no words for is not shown, a subscription to all has no topic expression."""
    base, form = draft.base, subscription.form
    topics = [each for each in subscription.filters if isinstance(each, TopicIs | TypeIs | InBox)]
    wsa = form.addressing or draft.addressing
    return _lifetime(draft, subscription.expires, now) | {
        QName(base, "ConsumerReference"): lambda: _reference(base, "ConsumerReference", subscription.consumer, wsa),
        QName(base, "TopicExpression"): lambda: [
            topic_like_element(each, "p", base, draft.topic_dialects) for each in topics
        ],
        QName(base, "UseNotify"): lambda: [_element(base, "UseNotify", _boolean(form.wrapped))],
        QName(base, "Precondition"): lambda: _preconditions(base, subscription.filters),
        QName(base, "Selector"): lambda: _selectors(base, subscription.filters),
        QName(base, "SubscriptionPolicy"): list,
        QName(base, "CreationTime"): lambda: _time(base, "CreationTime", created),
    }


def _selectors(base: str, filters: Sequence[Filter]) -> Elements:
    asked = (each for each in filters if isinstance(each, Content) and each.over in ("payload", "attributes"))
    return [content_element("p", base, "Selector", each) for each in asked]


def _preconditions(base: str, filters: Sequence[Filter]) -> Elements:
    for each in filters:
        if isinstance(each, ProducerIs):
            yield query_element("p", base, "Precondition", PRODUCER, producers_text(each))
        elif isinstance(each, Content) and each.over == "producer":
            yield content_element("p", base, "Precondition", each)


def _registration(draft: Draft, registration: Registration, now: Instant) -> Table:
    of, wsa = draft.brokered, registration.form.addressing or draft.addressing
    if not of:
        return {}
    return _lifetime(draft, registration.expires, now) | {
        QName(of, "PublisherReference"): lambda: _reference(of, "PublisherReference", registration.publisher, wsa),
        QName(of, "Topic"): lambda: [_expression(draft, "Topic", (each.steps,), of) for each in registration.topics],
        QName(of, "Demand"): lambda: [_element(of, "Demand", _boolean(registration.demand))],
        QName(of, "CreationTime"): lambda: _time(of, "CreationTime", registration.created),
    }


def _lifetime(draft: Draft, expires: Instant | None, now: Instant) -> dict[QName, Callable[[], Elements]]:
    namespace = draft.lifetime
    return {
        QName(namespace, "CurrentTime"): lambda: _time(namespace, "CurrentTime", now),
        QName(namespace, "TerminationTime"): lambda: _time(namespace, "TerminationTime", expires) or [_nil(namespace)],
    }


def _nil(namespace: str) -> bytes:
    return b'<p:TerminationTime xmlns:p="%b"%b/>' % (namespace.encode(), _NIL)


def _time(namespace: str, name: str, when: Instant | None) -> list[bytes]:
    return [] if when is None else [_element(namespace, name, times.timestamp(when))]


def _reference(namespace: str, name: str, endpoint: Endpoint | None, wsa: str) -> Elements:
    if endpoint is None:
        return []
    content = addressing.reference_content(endpoint.address, endpoint.reference, wsa)
    declared = b'xmlns:p="%b" xmlns:wsa="%b"' % (namespace.encode(), addressing.namespace_of(wsa).encode())
    return [b"<p:%b %b>%b</p:%b>" % (name.encode(), declared, content, name.encode())]


def _expression(draft: Draft, name: str, paths: Paths, namespace: str = "") -> bytes:
    return expression_element("p", namespace or draft.base, name, paths, draft.topic_dialects)


def _element(namespace: str, name: str, text: str) -> bytes:
    return b'<p:%b xmlns:p="%b">%b</p:%b>' % (name.encode(), namespace.encode(), xml.text(text), name.encode())


def _boolean(value: bool) -> str:
    return "true" if value else "false"
