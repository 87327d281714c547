"""One filter against one notification: the meaning of every filter, and what no index decides."""

from collections.abc import Mapping

from tocsin.matching.topics import topic_matches
from tocsin.mediation import cloudevents
from tocsin.mediation.actions import action_of
from tocsin.model.filters import ActionIs, AllOf, AnyOf, AttributeIs, Filter, ForNotifier, Not, TopicIs
from tocsin.model.notification import Notification


def satisfies(notification: Notification, asked: Filter) -> bool:
    if type(asked) is AttributeIs:  # first, for there may be thousands
        return _attribute_is(_context(notification), asked)
    match asked:
        case TopicIs():
            return topic_matches(asked, notification.topic)
        case ActionIs(actions):
            action = action_of(notification)
            return any(_continues(action, each) for each in actions)
        case AttributeIs():
            return _attribute_is(_context(notification), asked)
        case ForNotifier(name):
            return notification.addressee == name
        case AllOf(filters):
            return all(satisfies(notification, each) for each in filters)
        case AnyOf(filters):
            return any(satisfies(notification, each) for each in filters)
        case Not(negated):
            return not satisfies(notification, negated)


def _continues(action: str, asked: str) -> bool:
    """RFC 3986 matching of WS-Discovery: equal, or longer by whole path segments."""
    return action == asked or action.startswith(asked if asked.endswith("/") else f"{asked}/")


# The notification that was asked about last, and its attributes: all subscriptions are asked about one, then about the
# next. Replaced as a whole, so that a thread which reads the log beside us sees either pair.
_last: tuple[Notification | None, Mapping[str, str]] = (None, {})


def _context(notification: Notification) -> Mapping[str, str]:
    global _last
    known, context = _last
    if known is not notification:
        context = cloudevents.context_of(notification)
        _last = (notification, context)
    return context


def _attribute_is(context: Mapping[str, str], asked: AttributeIs) -> bool:
    """An absent attribute satisfies nothing (CloudEvents Subscriptions API s3.2.4)."""
    value = context.get(asked.name)
    if value is None:
        return False
    how = asked.how
    if how == "exact":
        return value == asked.value
    return value.startswith(asked.value) if how == "prefix" else value.endswith(asked.value)
