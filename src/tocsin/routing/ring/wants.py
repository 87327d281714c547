"""Which subscriptions may want something of a flow, by its topic alone: what else they ask for may come true.

In an information space hardly two points are the same, so all that one node has of a space is one flow: it is wanted by
whoever asks for anything there.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice

from tocsin.matching.index.topics import TopicIndex
from tocsin.model import names
from tocsin.model.filters import NOTHING, TOPICS, Filter, ForNotifier, TopicIs, plane_of
from tocsin.model.names import Topic
from tocsin.model.subscription import Subscription
from tocsin.routing.demand import allows
from tocsin.routing.ring.keys import place_of
from tocsin.routing.ring.registrations import Spans
from tocsin.routing.ring.relay_messages import Flow
from tocsin.routing.ring.spans import Keys
from tocsin.routing.ring.topic_keys import MOST_REMEMBERED, key_of_topic

MOST = 16  # that are looked for: one is enough to relay
_read = lru_cache(MOST_REMEMBERED)(names.topic)


@lru_cache(MOST_REMEMBERED)
def flow_of_topic(topic: Topic) -> Flow | None:
    """None for one that others could not read again: nothing can be said of it."""
    text = str(topic)
    return Flow(TOPICS, key_of_topic(topic), text) if names.topic(text) == topic else None


def flow_of_space(space: str, owner: str) -> Flow:
    """All that belongs to that node, wherever its arc is."""
    return Flow(space, 0, owner)


def may_want(filters: tuple[Filter, ...], flow: Flow) -> bool:
    if plane_of(filters) != flow.plane:
        return False
    topic = _read(flow.topic) if flow.plane == TOPICS else None
    return topic is None or allows(filters, topic)


def may_want_topic(filters: tuple[Filter, ...], flow: Flow) -> bool:
    """For those who guess by the subscriptions of other flows: what is wanted of a space at one node says nothing of
    another."""
    return flow.plane == TOPICS and may_want(filters, flow)


def spans_of(filters: tuple[Filter, ...]) -> Spans:
    """Where the flows are that they may want."""
    plane = plane_of(filters)
    return {plane: place_of(filters, {}).span if plane == TOPICS else Keys((0,))}


class Wants:
    """The subscriptions that stand at a node, paused ones too."""

    def __init__(self) -> None:
        self._known: dict[str, Subscription] = {}
        self._topics: TopicIndex[str] = TopicIndex()
        self._others: defaultdict[str, dict[str, None]] = defaultdict(dict)  # by plane

    def __len__(self) -> int:
        return len(self._known)

    def put(self, subscription: Subscription) -> None:
        before = self._known.get(subscription.id)
        if before is not None and before.filters == subscription.filters:
            self._known[subscription.id] = subscription
            return
        self.remove(subscription.id)
        if not _is_for_itself(subscription.filters):
            self._known[subscription.id] = subscription
            if (asked := _topics_of(subscription)) is not None:
                self._topics.add(subscription.id, asked)
            else:
                self._others[plane_of(subscription.filters)][subscription.id] = None

    def remove(self, name: str) -> Subscription | None:
        """As it was, if it was there."""
        if (before := self._known.pop(name, None)) is not None:
            if (asked := _topics_of(before)) is not None:
                self._topics.remove(name, asked)
            else:
                del self._others[plane_of(before.filters)][name]
        return before

    def find(self, flow: Flow, most: int = MOST) -> list[Subscription]:
        found = (self._known[name] for name in self._candidates(flow))
        return list(islice((each for each in found if may_want(each.filters, flow)), most))

    def _candidates(self, flow: Flow) -> Iterator[str]:
        if flow.plane != TOPICS:
            return iter(self._others.get(flow.plane, ()))
        topic = _read(flow.topic)
        return iter(self._known) if topic is None else chain(self._topics.match(topic), self._others[TOPICS])


def _topics_of(subscription: Subscription) -> TopicIs | None:
    """That which it is found by."""
    if plane_of(subscription.filters) != TOPICS:
        return None
    return next((each for each in subscription.filters if isinstance(each, TopicIs)), None)


def _is_for_itself(filters: tuple[Filter, ...]) -> bool:
    """A mailbox, or the service of a notifier: what is published is not for them."""
    return any(each == NOTHING or isinstance(each, ForNotifier) for each in filters)
