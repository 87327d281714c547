"""Decides what a principal may do, by its rights on topics."""

from functools import lru_cache

from tocsin.matching.covering import covers
from tocsin.matching.index.topics import topic_matches
from tocsin.model.access import Action, Principal
from tocsin.model.filters import DESCEND, NOTHING, AllOf, AnyOf, Filter, TopicIs
from tocsin.model.names import QName, Topic
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
    if owns(principal, subscription):
        return True
    if subscription.filters == (NOTHING,):
        return may_manage_everything(principal)
    return _may_all(principal, "manage", subscription.filters)


def may_pull(principal: Principal, subscription: Subscription) -> bool:
    return owns(principal, subscription) or may_manage_everything(principal)


def may_manage_everything(principal: Principal) -> bool:
    return _may_all(principal, "manage", EVERYTHING)


def owns(principal: Principal, subscription: Subscription) -> bool:
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
            return _topics_within(rights, asked)
        case AllOf(filters):
            return any(_all_within(rights, each) for each in filters)
        case AnyOf(filters):
            return all(_all_within(rights, each) for each in filters)
        case _:
            return False


@lru_cache(maxsize=1 << 15)
def _topics_within(rights: TopicIs, asked: TopicIs) -> bool:
    """Kept, as every list asks it of all subscriptions again; and mostly seen before all is tried."""
    paths = asked.alternatives
    if all(_is_below(rights, path) for path in paths):
        return True
    if not all(topic_matches(rights, example) for path in paths if (example := _example(path)).steps):
        return False
    return all(_names_one(path) for path in paths) or covers(rights, asked)


_Path = tuple[QName | str, ...]
_OTHER = "\0"  # in no name


def _is_below(rights: TopicIs, path: _Path) -> bool:
    """Whether it begins as one that has all below it (`a/b//.`)."""
    return any(each[-1:] == (DESCEND,) and path[: len(each) - 1] == each[:-1] for each in rights.alternatives)


def _names_one(path: _Path) -> bool:
    return all(isinstance(step, QName) and step.local != "*" for step in path)


def _example(path: _Path) -> Topic:
    """The shortest topic that it matches, with a name that nobody has where any will do."""
    return Topic(tuple(_any_name(step) for step in path if step != DESCEND))


def _any_name(step: QName | str) -> QName:
    if isinstance(step, str):
        return QName(_OTHER, _OTHER)
    return step if step.local != "*" else QName(step.namespace, _OTHER)
