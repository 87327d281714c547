"""A publisher that registered, and demand-based publishing: the broker's own subscription at it, paused while nobody
wants its topics (WS-BrokeredNotification 1.3 s4.3)."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tocsin.matching.index.topics import topic_matches
from tocsin.model.filters import AllOf, AnyOf, Filter, ForNotifier, Not, TopicIs
from tocsin.model.identity import Instant, after
from tocsin.model.names import Topic
from tocsin.model.subscription import Endpoint, Registration, Subscription
from tocsin.routing.machine import Ask, Effect, Forget, Remember, SetTimer, Started, Unanswered, Woken

Operation = Literal["subscribe", "pause", "resume", "renew", "unsubscribe"]
Failure = Literal["unreachable", "refused", "unknown"]  # "unknown": the publisher has no such subscription
FIRST_DELAY = 1.0
LONGEST_DELAY = 300.0
SHORTEST_LEASE = 10.0  # whatever a publisher grants: one that grants nothing is not asked again at once
FAREWELLS = 8  # tries to unsubscribe from a publisher that is down, before its lease is left to end by itself
REGISTRATION, UPSTREAM = "registration", "upstream"  # the keys of its rows


class Upstream(Struct, frozen=True):
    """What must survive a restart. `ending`: the registration is gone, its subscription is not yet."""

    manager: Endpoint | None = None
    consumer: str = ""
    granted: Instant | None = None
    ends: Instant | None = None
    paused: bool = False
    pausable: bool = True
    ending: bool = False


class Register(Struct, frozen=True):
    """It begins. `wanted`: whether any subscription of ours wants what this publisher has."""

    registration: Registration
    wanted: bool


class Wanted(Struct, frozen=True):
    wanted: bool


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


Message = Register | Wanted | Destroy | Subscribed | Succeeded | Failed | Started | Woken | Unanswered


class Request(Struct, frozen=True):
    """To the publisher; to its manager of our subscription where there is one."""

    operation: Operation
    to: Endpoint
    registration: Registration


class Demand:
    """One registration. At most one request is in flight, and none before it is known whether anybody wants it.

    `consumer` is where the publisher is to send; a subscription that names another, from before a restart, is replaced.
    """

    def __init__(
        self,
        consumer: str,
        registration: Registration | None = None,
        upstream: Upstream = Upstream(),  # noqa: B008 - frozen
        wanted: bool | None = None,
    ) -> None:
        self._consumer, self.registration, self.upstream, self.wanted = consumer, registration, upstream, wanted
        self.failures = 0
        self._busy = False
        self._not_before = Instant(0)
        self._timer: Instant | None = None

    @property
    def ending(self) -> bool:
        return self.upstream.ending

    def step(self, message: Message, now: Instant) -> list[Effect]:
        registration, upstream = self.registration, self.upstream
        self._take(message, now)
        if self.registration is None:
            return [Forget()]
        if self.registration.expires is not None and self.registration.expires <= now and not self.ending:
            self._end(now)
        if not self._busy and self.upstream.ends is not None and self.upstream.ends <= now:
            self._lose()
        effects: list[Effect] = [] if registration is self.registration else [Remember(REGISTRATION, self.registration)]
        if self.upstream != upstream:
            effects.append(Remember(UPSTREAM, self.upstream))
        return effects + self._next(self.registration, now)

    def _take(self, message: Message, now: Instant) -> None:
        match message:
            case Register(registration, wanted):
                self.registration, self.wanted = registration, wanted
            case Wanted(wanted):
                self.wanted = wanted
            case Destroy():
                self._end(now)
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
            case Unanswered(Request(operation)):
                self._failed(operation, "unreachable", now)
            case Woken():
                self._timer = None

    def _end(self, now: Instant) -> None:
        self._become(ending=True)
        self.failures, self._not_before = 0, now

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

    def _next(self, registration: Registration, now: Instant) -> list[Effect]:
        if self._busy:
            return self._look_at(None)
        if self.ending and (self.upstream.manager is None or self.failures >= FAREWELLS):
            return [Forget()]
        operation = self._due(registration, now)
        if operation is None:
            return self._look_at(None if self.wanted is None else self._renewal())
        if now < self._not_before:
            return self._look_at(self._not_before)
        to = self.upstream.manager or registration.publisher
        assert to is not None, "who publishes on demand has said where"
        self._busy = True
        return [*self._look_at(None), Ask(to.address, Request(operation, to, registration))]

    def _look_at(self, when: Instant | None) -> list[Effect]:
        """By itself, at the latest when the registration ends."""
        expires = None if self.registration is None or self.ending else self.registration.expires
        before, self._timer = self._timer, min((each for each in (when, expires) if each is not None), default=None)
        return [] if self._timer == before else [SetTimer(self._timer)]

    def _due(self, registration: Registration, now: Instant) -> Operation | None:
        """What is to be sent, if anything: first that the subscription lives, then that it is as wanted."""
        upstream = self.upstream
        if upstream.ending:
            return "unsubscribe"
        if not registration.demand or self.wanted is None:
            return None
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
