"""Demand-based publishing: the broker's own subscription at a publisher, paused while nobody wants its topics.

A machine: messages in, effects out, no clock and no sockets (WS-BrokeredNotification 1.3 s4.3).
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tocsin.matching.index.topics import topic_matches
from tocsin.model.filters import AllOf, AnyOf, Filter, ForNotifier, Not, TopicIs
from tocsin.model.identity import Instant, after
from tocsin.model.names import Topic
from tocsin.model.subscription import Endpoint, Subscription

Operation = Literal["subscribe", "pause", "resume", "renew", "unsubscribe"]
Failure = Literal["unreachable", "refused", "unknown"]  # "unknown": the publisher has no such subscription
FIRST_DELAY = 1.0
LONGEST_DELAY = 300.0
SHORTEST_LEASE = 10.0  # whatever a publisher grants: one that grants nothing is not asked again at once
FAREWELLS = 8  # tries to unsubscribe from a publisher that is down, before its lease is left to end by itself


class Upstream(Struct, frozen=True):
    """What must survive a restart. `ending`: the registration is gone, its subscription is not yet."""

    manager: Endpoint | None = None
    consumer: str = ""
    granted: Instant | None = None
    ends: Instant | None = None
    paused: bool = False
    pausable: bool = True
    ending: bool = False


class Wanted(Struct, frozen=True):
    """Whether any subscription of ours wants what this publisher has."""

    wanted: bool


class Look(Struct, frozen=True):
    """Time has passed."""


class Destroy(Struct, frozen=True):
    """The registration ended."""


class Subscribed(Struct, frozen=True):
    manager: Endpoint
    ends: Instant | None


class Succeeded(Struct, frozen=True):
    """`ends` is told by a renewal only."""

    operation: Operation
    ends: Instant | None = None


class Failed(Struct, frozen=True):
    operation: Operation
    how: Failure


Message = Wanted | Look | Destroy | Subscribed | Succeeded | Failed


class Send(Struct, frozen=True):
    operation: Operation
    manager: Endpoint | None


class Keep(Struct, frozen=True):
    """To be written down, as it is by then."""

    upstream: Upstream


class Forget(Struct, frozen=True):
    """Nothing of ours is left at the publisher."""


Effect = Send | Keep | Forget


class Demand:
    """One registration. At most one request is in flight; `wake` is when it wants to look again by itself.

    `consumer` is where the publisher is to send; a subscription that names another, from before a restart, is replaced.
    """

    def __init__(self, consumer: str, upstream: Upstream = Upstream()) -> None:  # noqa: B008 - frozen
        self._consumer = consumer
        self.upstream = upstream
        self.wanted = False
        self.wake: Instant | None = None
        self.failures = 0
        self._busy = False
        self._not_before = Instant(0)

    def step(self, message: Message, now: Instant) -> list[Effect]:
        before = self.upstream
        self._take(message, now)
        if not self._busy and self.upstream.ends is not None and self.upstream.ends <= now:
            self._lose()
        effects: list[Effect] = [Keep(self.upstream)] if self.upstream != before else []
        return effects + self._next(now)

    def _take(self, message: Message, now: Instant) -> None:
        match message:
            case Wanted(wanted):
                self.wanted = wanted
            case Destroy():
                self._become(ending=True)
                self.failures, self._not_before = 0, now
            case Subscribed(manager, ends):
                # Failures still count: a publisher that grants what it then does not know is asked ever more slowly.
                self._busy = False
                self._become(manager=manager, consumer=self._consumer, paused=False)
                self._lease(ends, now)
            case Succeeded(operation, ends):
                self._busy, self.failures = False, 0
                self._done(operation, ends, now)
            case Failed(operation, how):
                self._failed(operation, how, now)

    def _lease(self, ends: Instant | None, now: Instant) -> None:
        shortest = after(now, SHORTEST_LEASE)
        self._become(granted=now, ends=None if ends is None else max(ends, shortest))

    def _done(self, operation: Operation, ends: Instant | None, now: Instant) -> None:
        match operation:
            case "pause" | "resume":
                self._become(paused=operation == "pause")
            case "renew":
                self._lease(ends, now)
            case "unsubscribe":
                self._lose()

    def _failed(self, operation: Operation, how: Failure, now: Instant) -> None:
        self._busy = False
        self.failures += 1
        self._not_before = after(now, min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(self.failures - 1, 30)))
        if operation == "subscribe":
            return
        if how == "unknown" or (operation == "unsubscribe" and how == "refused"):
            self._lose()
        elif how == "refused" and operation in ("pause", "resume"):
            # Not every producer can pause (WS-BaseNotification s6.5): this one is left and joined instead.
            self._become(pausable=False)
            self._not_before = now

    def _lose(self) -> None:
        self._become(manager=None, granted=None, ends=None, paused=False)

    def _become(self, **changes: object) -> None:
        self.upstream = replace(self.upstream, **changes)

    def _next(self, now: Instant) -> list[Effect]:
        self.wake = None
        if self._busy:
            return []
        if self.upstream.ending and (self.upstream.manager is None or self.failures >= FAREWELLS):
            return [Forget()]
        operation = self._due(now)
        if operation is None:
            self.wake = self._renewal()
            return []
        if now < self._not_before:
            self.wake = self._not_before
            return []
        self._busy = True
        return [Send(operation, self.upstream.manager)]

    def _due(self, now: Instant) -> Operation | None:
        """What is to be sent, if anything: first that the subscription lives, then that it is as wanted."""
        upstream = self.upstream
        if upstream.ending:
            return "unsubscribe"
        if upstream.manager is None:
            return "subscribe" if self.wanted or upstream.pausable else None
        unfit = not upstream.pausable and (upstream.paused or not self.wanted)
        if unfit or upstream.consumer != self._consumer:
            return "unsubscribe"
        if (renewal := self._renewal()) is not None and renewal <= now:
            return "renew"
        if upstream.paused == self.wanted:
            return "resume" if self.wanted else "pause"
        return None

    def _renewal(self) -> Instant | None:
        """Half-way, so that there is time to try again."""
        granted, ends = self.upstream.granted, self.upstream.ends
        return None if granted is None or ends is None else Instant((granted + ends) // 2)


def may_want(subscription: Subscription, topics: Sequence[Topic]) -> bool:
    """Whether it stands and could be told of something under one of these topics; of anything when there are none."""
    if subscription.state != "active":
        return False
    if not topics:
        return not any(_wants_nothing(each) for each in subscription.filters)
    return any(allows(subscription.filters, topic) for topic in topics)


def allows(filters: Sequence[Filter], topic: Topic) -> bool:
    return all(_allows(each, topic) for each in filters)


def _allows(asked: Filter, topic: Topic) -> bool:
    """Topics decide; whatever else a filter asks may come true."""
    match asked:
        case TopicIs():
            return topic_matches(asked, topic)
        case ForNotifier():
            return False
        case AllOf(filters):
            return all(_allows(each, topic) for each in filters)
        case AnyOf(filters):
            return any(_allows(each, topic) for each in filters)
        case Not(TopicIs() as negated):
            return not topic_matches(negated, topic)
    return True


def _wants_nothing(asked: Filter) -> bool:
    return isinstance(asked, ForNotifier) or (isinstance(asked, AnyOf) and not asked.filters)
