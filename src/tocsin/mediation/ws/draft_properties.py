"""The same properties under the names that the drafts of WS-Notification have for them (WSN 1.2 s4.1, s6.1)."""

from collections.abc import Sequence

from msgspec import Struct

from tocsin.mediation.expressions import PRODUCER, producers_text
from tocsin.mediation.soap.namespaces import WSN_1_0, WSN_1_2, WSN_1_2_BROKERED, WSRF_1_0_LIFETIME, WSRF_1_2_LIFETIME
from tocsin.mediation.topics import IN_1_0, IN_1_2
from tocsin.mediation.ws import properties
from tocsin.model.filters import Content, Filter, InBox, ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import Instant
from tocsin.model.names import QName
from tocsin.model.subscription import Registration, Subscription


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


def broker_table(facts: properties.Facts) -> properties.Table:
    return {name: get for draft in DRAFTS for name, get in _producer(draft, facts).items()}


def all_broker_properties(facts: properties.Facts, names: Sequence[QName]) -> tuple[bytes, ...]:
    """Under the names of 1.3 and of the drafts."""
    return properties.broker_properties(facts, names, broker_table(facts))


def subscription_table(subscription: Subscription, now: Instant, created: Instant | None) -> properties.Table:
    return {name: get for draft in DRAFTS for name, get in _subscription(draft, subscription, now, created).items()}


def registration_table(registration: Registration, now: Instant) -> properties.Table:
    return {name: get for draft in DRAFTS for name, get in _registration(draft, registration, now).items()}


def _producer(draft: Draft, facts: properties.Facts) -> properties.Table:
    base, grammars = draft.base, draft.topic_dialects
    topics = facts.topics.topics
    return {
        QName(base, "Topic"): lambda: [_expression(draft, "Topic", (each.steps,)) for each in topics],
        QName(base, "FixedTopicSet"): lambda: [properties.element("p", base, "FixedTopicSet", facts.fixed)],
        QName(base, "TopicExpressionDialects"): lambda: [
            properties.element("p", base, "TopicExpressionDialects", each) for each in grammars
        ],
    }


def _subscription(draft: Draft, subscription: Subscription, now: Instant, created: Instant | None) -> properties.Table:
    """A filter that the drafts have no words for is not shown, a subscription to all has no topic expression."""
    base, form = draft.base, subscription.form
    topics = [each for each in subscription.filters if isinstance(each, TopicIs | TypeIs | InBox)]
    wsa = form.addressing or draft.addressing
    return properties.lifetime("p", draft.lifetime, subscription.expires, now) | {
        QName(base, "ConsumerReference"): lambda: properties.reference(
            "p", base, "ConsumerReference", subscription.consumer, wsa
        ),
        QName(base, "TopicExpression"): lambda: [
            properties.topic_like_element(each, "p", base, draft.topic_dialects) for each in topics
        ],
        QName(base, "UseNotify"): lambda: [properties.element("p", base, "UseNotify", form.wrapped)],
        QName(base, "Precondition"): lambda: _preconditions(base, subscription.filters),
        QName(base, "Selector"): lambda: [
            properties.content_element("p", base, "Selector", each)
            for each in subscription.filters
            if isinstance(each, Content) and each.over in ("payload", "attributes")
        ],
        QName(base, "SubscriptionPolicy"): list,
        QName(base, "CreationTime"): lambda: (
            [] if created is None else [properties.element("p", base, "CreationTime", created)]
        ),
    }


def _preconditions(base: str, filters: Sequence[Filter]) -> properties.Elements:
    for each in filters:
        if isinstance(each, ProducerIs):
            yield properties.query_element("p", base, "Precondition", PRODUCER, producers_text(each))
        elif isinstance(each, Content) and each.over == "producer":
            yield properties.content_element("p", base, "Precondition", each)


def _registration(draft: Draft, registration: Registration, now: Instant) -> properties.Table:
    of, wsa = draft.brokered, registration.form.addressing or draft.addressing
    if not of:
        return {}
    return properties.lifetime("p", draft.lifetime, registration.expires, now) | {
        QName(of, "PublisherReference"): lambda: properties.reference(
            "p", of, "PublisherReference", registration.publisher, wsa
        ),
        QName(of, "Topic"): lambda: [_expression(draft, "Topic", (each.steps,), of) for each in registration.topics],
        QName(of, "Demand"): lambda: [properties.element("p", of, "Demand", registration.demand)],
        QName(of, "CreationTime"): lambda: [properties.element("p", of, "CreationTime", registration.created)],
    }


def _expression(draft: Draft, name: str, paths: properties.Paths, namespace: str = "") -> bytes:
    return properties.expression_element("p", namespace or draft.base, name, paths, draft.topic_dialects)
