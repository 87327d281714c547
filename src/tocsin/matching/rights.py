"""What a principal may do: pure decisions over its rights."""

from tocsin.matching.covering import covers
from tocsin.matching.topics import topic_matches
from tocsin.model.access import Action, Principal
from tocsin.model.filters import NOTHING, AllOf, AnyOf, Filter, TopicIs
from tocsin.model.names import Topic
from tocsin.model.subscription import Subscription

EVERYTHING: tuple[Filter, ...] = ()


def may_publish(principal: Principal, topic: Topic) -> bool:
    return _may_about(principal, "publish", topic)


def may_hear(principal: Principal, topic: Topic) -> bool:
    return _may_about(principal, "subscribe", topic)


def may_subscribe(principal: Principal, filters: tuple[Filter, ...]) -> bool:
    """Only if nothing can match that the principal has no right to; without filters that is everything."""
    return _may_all(principal, "subscribe", filters)


def may_manage(principal: Principal, subscription: Subscription) -> bool:
    """Its owner always may. Others need the right on all the topics it can match; a mailbox may get any."""
    if _owns(principal, subscription):
        return True
    if subscription.filters == (NOTHING,):
        return may_manage_everything(principal)
    return _may_all(principal, "manage", subscription.filters)


def may_pull(principal: Principal, subscription: Subscription) -> bool:
    return _owns(principal, subscription) or may_manage_everything(principal)


def may_manage_everything(principal: Principal) -> bool:
    return _may_all(principal, "manage", EVERYTHING)


def _owns(principal: Principal, subscription: Subscription) -> bool:
    return subscription.owner is not None and subscription.owner == principal.name


def _may_about(principal: Principal, action: Action, topic: Topic) -> bool:
    return any(right.topics is None or topic_matches(right.topics, topic) for right in principal.of(action))


def _may_all(principal: Principal, action: Action, filters: tuple[Filter, ...]) -> bool:
    rights = principal.of(action)
    if any(right.topics is None for right in rights):
        return True
    together = tuple(path for right in rights if right.topics is not None for path in right.topics.alternatives)
    return bool(rights) and _all_within(TopicIs(together), AllOf(filters))


def _all_within(rights: TopicIs, asked: Filter) -> bool:
    """Whether all that a filter lets through is about these topics. What speaks of no topic may be about any."""
    match asked:
        case TopicIs():
            return covers(rights, asked)
        case AllOf(filters):
            return any(_all_within(rights, each) for each in filters)
        case AnyOf(filters):
            return all(_all_within(rights, each) for each in filters)
        case _:
            return False
