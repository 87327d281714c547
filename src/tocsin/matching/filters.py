"""One filter against one notification: the meaning of every filter, and what no index decides."""

from tocsin.matching.topics import topic_matches
from tocsin.mediation import cloudevents
from tocsin.mediation.actions import action_of
from tocsin.model.filters import ActionIs, AllOf, AnyOf, AttributeIs, Filter, Not, TopicIs
from tocsin.model.notification import Notification


def satisfies(notification: Notification, asked: Filter) -> bool:
    match asked:
        case TopicIs():
            return topic_matches(asked, notification.topic)
        case ActionIs(actions):
            action = action_of(notification)
            return any(_continues(action, each) for each in actions)
        case AttributeIs():
            return _attribute_is(notification, asked)
        case AllOf(filters):
            return all(satisfies(notification, each) for each in filters)
        case AnyOf(filters):
            return any(satisfies(notification, each) for each in filters)
        case Not(negated):
            return not satisfies(notification, negated)


def _continues(action: str, asked: str) -> bool:
    """RFC 3986 matching of WS-Discovery: equal, or longer by whole path segments."""
    return action == asked or action.startswith(asked if asked.endswith("/") else f"{asked}/")


def _attribute_is(notification: Notification, asked: AttributeIs) -> bool:
    """An absent attribute satisfies nothing (CloudEvents Subscriptions API s3.2.4)."""
    value = cloudevents.context_of(notification).get(asked.name)
    if value is None:
        return False
    match asked.how:
        case "exact":
            return value == asked.value
        case "prefix":
            return value.startswith(asked.value)
        case "suffix":
            return value.endswith(asked.value)
