"""Publishing: a request as it came becomes a record of the log, and is acknowledged when that is on disk."""

import asyncio
import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.declarations.semantics import Semantics
from tocsin.broker.engines.settlement import Engine
from tocsin.broker.journal import Arrival, Journal, arrival
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.flow.addressing import NOTIFIERS, door_of, event_for_service, pull_point_of
from tocsin.flow.flow import normalise
from tocsin.flow.lifetime import check_expiry
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import Reading
from tocsin.mediation.soap.security import without_security
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.identity import SECOND, Instant, Pairs, after
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Copy

Key = tuple[str | None, str, str, int]
REMEMBERED_SECONDS = 600.0


class Duplicates:
    """Bounded by number and age; an id whose record failed counts for nothing, so that the caller can try again."""

    def __init__(self, window: int) -> None:
        self._window = window
        # Not a dict: to find its first key, it passes all that were deleted before it.
        self._seen: OrderedDict[Key, tuple[Instant, asyncio.Future[int]]] = OrderedDict()

    def first(self, key: Key, now: Instant) -> "asyncio.Future[int] | None":
        """What to wait for when the same was accepted before; None for a new one."""
        found = self._seen.get(key)
        return None if found is None or _failed(found[1]) or after(found[0], REMEMBERED_SECONDS) < now else found[1]

    def remember(self, key: Key, when: Instant, future: "asyncio.Future[int]") -> None:
        seen = self._seen
        seen.pop(key, None)
        while len(seen) >= self._window:
            seen.popitem(last=False)
        seen[key] = (when, future)


def _failed(future: "asyncio.Future[int]") -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def key_of(notification: Notification, pull_point: str | None = None, principal: str | None = None) -> Key | None:
    """None for an id that was made here: it cannot come twice. To each pull point or service it may come once.

    Nobody can speak for another by using up its ids: the same from somebody else is another message.

    Producers that do not name themselves may number their messages alike, so there the content counts too.
    """
    if notification.id.startswith(f"urn:uuid:{notification.cause}"):
        return None
    to = pull_point or notification.addressee
    name = f"{notification.id} {to}" if to else notification.id
    content = 0 if notification.producer else hash(notification.payload.data)
    return principal, notification.producer, name, content


def key_of_all(
    notifications: Sequence[Notification], pull_point: str | None = None, principal: str | None = None
) -> Key | None:
    """Of one record. In a batch each event has an id of its own: one that came before does not stand for the rest."""
    key = key_of(notifications[0], pull_point, principal)
    if key is None or len(notifications) == 1 or notifications[0].dialect != cloudevents.NAME:
        return key
    return *key[:3], hash(tuple((each.producer, each.id, each.payload.data) for each in notifications))


class Publishing:
    def __init__(
        self,
        journal: Journal,
        now: Callable[[], Instant],
        duplicates: Duplicates,
        *,
        engine: Engine,
        standing: StandingSubscriptions,
        mailboxes: Mailboxes,
        topics: TopicSpace,
        declarations: Declarations,
        semantics: Semantics,
    ) -> None:
        self._journal, self._now, self._duplicates = journal, now, duplicates
        self._engine, self._standing, self._mailboxes = engine, standing, mailboxes
        self._topics, self._declarations, self._semantics = topics, declarations, semantics
        self.accepted: Counter[str] = Counter()  # notifications, by dialect
        self.repeated = 0

    async def publish(
        self,
        caller: Caller,
        door: str,
        dialect: str,
        headers: Pairs,
        body: bytes,
        reading: Reading | None = None,
    ) -> None:
        """Returns when it is on disk; refuses what cannot be normalised, is not allowed or cannot be stored."""
        if door.startswith(NOTIFIERS):
            raise Refusal("malformed", f"{door[:80]!r} is a notifier's, which takes Publish and Notify of its own")
        if type(reading) is Envelope and (proof := reading.headers.get("security")) is not None:
            body, reading = without_security(body, proof), None
        await self._accept(caller, door, dialect, headers, body, reading)

    async def tell_service(self, copy: Copy, topic: Topic, producer: str) -> None:
        """What reached a notifier of ours goes to its service by the ordinary way; returns when it is on disk."""
        headers, body = event_for_service(copy, topic, producer)
        await self._accept(NODE, door_of(copy.to), cloudevents.NAME, headers, body, None)

    async def _accept(
        self, caller: Caller, door: str, dialect: str, headers: Pairs, body: bytes, reading: Reading | None
    ) -> None:
        if (overload := self._engine.overload or self._mailboxes.overload) is not None:
            raise Refusal("overloaded", f"{overload}; try again a little later")
        journal, now, pull_point = self._journal, self._now(), self._addressee(door)
        record = Accepted(journal.position(), now, door, dialect, headers, caller.name, new_cause(), body)
        notifications = normalise(record, reading)
        arrived = arrival(record.at.offset, notifications, pull_point, caller.name)
        self._check(caller, notifications, arrived)
        if self._declarations.describe_events and await self._semantics.check_event_graphs(notifications):
            record = msgspec.structs.replace(record, at=journal.position(), when=self._now())
            notifications = normalise(record)
            arrived = arrival(record.at.offset, notifications, pull_point, caller.name)
        key = key_of_all(notifications, pull_point, caller.name)
        if key is not None and (first := self._duplicates.first(key, now)) is not None:
            self.repeated += 1
            await journal.stored(first)
            return
        future = journal.accept(record, arrived)
        if key is not None:
            self._duplicates.remember(key, now, future)
        await journal.stored(future)
        self.accepted[dialect] += len(notifications)

    def _check(self, caller: Caller, notifications: Sequence[Notification], arrived: Arrival) -> None:
        if not notifications[0].addressee and self._topics.restricts:
            for notification in notifications:
                self._topics.check(notification.topic)
        if any(each.attributes for each in notifications):
            check_expiry(notifications)
            if not notifications[0].addressee:
                self._declarations.check_content_topics(notifications)
        if caller.principal is not None:
            for notification in notifications:
                caller.must_publish(notification.topic)
                if arrived.pull_point is not None:
                    self._must_fill(caller, arrived.pull_point, notification)

    def _must_fill(self, caller: Caller, name: str, notification: Notification) -> None:
        """The mailbox of another takes from us what its owner could have subscribed to."""
        pull_point = self._standing.get(name)
        if caller.may_manage(pull_point):
            return
        owner = None if pull_point.owner is None else caller.users(pull_point.owner)
        if owner is None or not Caller(owner).may_hear(notification.topic):
            raise caller.may_not(f"fill the pull point {name}, which is another's, with {notification.topic}")

    def _addressee(self, door: str) -> str | None:
        """The pull point that a door is the address of; refused when there is none of that name."""
        name = pull_point_of(door)
        if name is not None:
            self._standing.pull_point(name)
        return name

    def remember(self, arrived: Arrival) -> None:
        """The window of message ids, from the log: a caller that did not hear our answer asks again after a restart."""
        if not arrived.notifications or self._now() - arrived.notifications[0].when > REMEMBERED_SECONDS * SECOND:
            return
        key = key_of_all(arrived.notifications, arrived.pull_point, arrived.principal)
        if key is not None:
            stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            stored.set_result(arrived.offset)
            self._duplicates.remember(key, arrived.notifications[0].when, stored)


def new_cause() -> str:
    """A random UUID (RFC 9562 version 4), three times as quickly as the standard library makes one."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
