"""Evaluates one filter on one notification: the meaning of every filter, used where no index decides."""

from collections.abc import Iterable

from tocsin.markup.conditions import ExpressionError, XmlPath
from tocsin.markup.content import ValuesAt, condition_of, holds, values_at
from tocsin.matching.evidence import MISSING, Evidence
from tocsin.matching.index.topics import topic_matches
from tocsin.matching.judge import Undecided
from tocsin.model.areas import meets
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    ForNotifier,
    Graph,
    InBox,
    Not,
    ProducerIs,
    TopicIs,
    TypeIs,
    leaves,
)
from tocsin.model.subscription import Subscription


def satisfies(evidence: Evidence, asked: Filter, subscription: Subscription) -> bool:
    """Raises `Undecided` when an expression cannot be evaluated. The subscription says how it would be delivered."""
    if type(asked) is AttributeIs:  # first, for there may be thousands
        return _attribute_is(evidence.context.get(asked.name), asked)
    match asked:
        case TopicIs():
            return topic_matches(asked, evidence.notification.topic)
        case TypeIs(names):
            return not evidence.types.isdisjoint(names)
        case ProducerIs(addresses, categories):
            return evidence.notification.producer in addresses or not evidence.categories.isdisjoint(categories)
        case InBox(space, sides):
            return any(meets(each, sides) for each in evidence.areas(space))
        case Content():
            return content_holds(evidence, asked, subscription)
        case Graph():
            return evidence.has(asked)
        case ActionIs(actions):
            return any(continues(evidence.action, each) for each in actions)
        case AttributeIs():
            return _attribute_is(evidence.context.get(asked.name), asked)
        case ForNotifier(name):
            return evidence.notification.addressee == name
        case AllOf(filters):
            return satisfies_all(evidence, filters, subscription)
        case AnyOf(filters):
            return not _holds_all(evidence, filters, subscription, wanted=False)
        case Not(negated):
            return not satisfies(evidence, negated, subscription)


def satisfies_all(evidence: Evidence, filters: Iterable[Filter], subscription: Subscription) -> bool:
    return _holds_all(evidence, filters, subscription, wanted=True)


def _holds_all(evidence: Evidence, filters: Iterable[Filter], subscription: Subscription, *, wanted: bool) -> bool:
    """Whether each is as wanted. One that is not settles it, whatever the others are; else one that fails is told.

    So an answer does not depend on the order, and what may take long is asked last.
    """
    undecided: Undecided | None = None
    for each in sorted(filters, key=is_slow):
        try:
            if satisfies(evidence, each, subscription) is not wanted:
                return False
        except Undecided as problem:
            undecided = undecided or problem
    if undecided is not None:
        raise undecided
    return True


def is_slow(asked: Filter) -> bool:
    """Whether somebody else must judge it, the message be written first, or its graph be searched."""
    match asked:
        case Content(over="envelope") | Graph():
            return True
        case Content():
            return _has_no_condition(asked)
        case AllOf(filters) | AnyOf(filters):
            return any(map(is_slow, filters))
        case Not(negated):
            return is_slow(negated)
    return False


def is_judged(asked: Filter) -> bool:
    """Whether part of it is an expression that no index holds, which somebody else must judge."""
    return any(isinstance(each, Content) and _has_no_condition(each) for each in leaves((asked,)))


def _has_no_condition(asked: Content) -> bool:
    try:
        return condition_of(asked) is None
    except ExpressionError:  # then it is not evaluated at all
        return False


def content_holds(evidence: Evidence, asked: Content, subscription: Subscription) -> bool:
    """What is about another kind of payload does not apply, and matches nothing."""
    try:
        condition = condition_of(asked)
    except ExpressionError as problem:  # accepted under other rules than today's
        raise Undecided(str(problem)) from None
    if condition is None:
        document = document_for(evidence, asked, subscription)
        return document is not None and evidence.judged(asked, document)
    values = values_for(evidence, asked, subscription)
    return values is not None and holds(condition, values)


def values_for(evidence: Evidence, asked: Content, subscription: Subscription) -> ValuesAt | None:
    """Where the values of an expression's paths are found; None when it does not apply."""
    if asked.over in ("payload", "attributes"):
        return evidence.values if applies(evidence, asked) else None
    root = evidence.envelope_tree(subscription) if asked.over == "envelope" else evidence.properties
    return None if root is None else lambda path: tuple(values_at(root, path)) if isinstance(path, XmlPath) else ()


def applies(evidence: Evidence, asked: Content) -> bool:
    """Whether there is anything that an expression over a payload can be asked of."""
    match asked.language:
        case "xpath" | "items":
            return evidence.document is not None
        case "jsonpath":
            return evidence.json is not MISSING
    return True


def document_for(evidence: Evidence, asked: Content, subscription: Subscription) -> bytes | None:
    """What the expression is about, for who judges it; None when there is no such thing."""
    match asked.over:
        case "envelope":
            return evidence.envelope(subscription)
        case "producer":
            producer = evidence.producer
            if producer is None:
                return None
            return (producer.description if asked.language == "sparql" else producer.properties) or None
    return evidence.notification.payload.data if applies(evidence, asked) else None


def continues(action: str, asked: str) -> bool:
    """RFC 3986 matching of WS-Discovery: equal, or longer by whole path segments."""
    return action == asked or action.startswith(asked if asked.endswith("/") else f"{asked}/")


def _attribute_is(value: str | None, asked: AttributeIs) -> bool:
    """An absent attribute satisfies nothing (CloudEvents Subscriptions API s3.2.4)."""
    if value is None:
        return False
    how = asked.how
    if how == "exact":
        return value == asked.value
    return value.startswith(asked.value) if how == "prefix" else value.endswith(asked.value)
