"""Publishing: a request as it came becomes a record of the log, and is acknowledged when that is on disk."""

import asyncio
import os
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.declarations.semantics import Semantics
from tocsin.broker.engines.settlement import Engine
from tocsin.broker.journal import Arrival, Journal, arrival
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.reply.asking import Asked, Asking
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.flow.addressing import NOTIFIERS, PULL_POINTS, addressed_to, door_of, event_for_service, pull_point_of
from tocsin.flow.flow import normalise
from tocsin.flow.lifetime import check_expiry
from tocsin.mediation import between_nodes
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import Reading
from tocsin.mediation.soap.security import without_security
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.identity import SECOND, Instant, Pairs, after
from tocsin.model.names import Topic
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.model.records import Accepted, Position
from tocsin.model.refusal import Refusal
from tocsin.model.replies import ReplyRequest
from tocsin.routing.implicit.messages import Copy
from tocsin.store.errors import CannotAppend

Key = tuple[str | None, str, str, int]
Relay = Callable[[Sequence[Notification], str | None], Awaitable[str | None] | None]
REMEMBERED_SECONDS = 600.0
AT_ANY_AGE = Instant(0)


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

    def clear(self) -> None:
        self._seen.clear()


def _failed(future: "asyncio.Future[int]") -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def key_of(
    notifications: Sequence[Notification], pull_point: str | None = None, principal: str | None = None
) -> Key | None:
    """Of one record; None for an id that was made here: it cannot come twice. To each pull point or service it may
    come once.

    Nobody can speak for another by using up its ids: the same from somebody else is another message.

    Producers that do not name themselves may number their messages alike, so there the content counts too. In a batch
    each event has an id of its own: one that came before does not stand for the rest.
    """
    first = notifications[0]
    if first.id.startswith(f"urn:uuid:{first.cause}"):
        return None
    to = pull_point or first.addressee
    if len(notifications) > 1 and first.dialect == cloudevents.NAME:
        content = hash(tuple((each.producer, each.id, each.payload.data) for each in notifications))
    else:
        content = 0 if first.producer else hash(first.payload.data)
    return principal, first.producer, f"{first.id} {to}" if to else first.id, content


def keys_of(arrived: Arrival) -> Iterable[Key]:
    if arrived.notifications and arrived.notifications[0].way is not None:
        return [
            key for each in arrived.notifications for key in keys_of_passed(each, arrived.principal, arrived.pull_point)
        ]
    key = key_of(arrived.notifications, arrived.pull_point, arrived.principal) if arrived.notifications else None
    return () if key is None else (key,)


def keys_of_passed(notification: Notification, principal: str | None, pull_point: str | None = None) -> Iterable[Key]:
    """Of what other nodes pass on each counts by itself: it is known by the node that accepted it, whoever brings it,
    and in whatever company. In a ring, where a publisher that heard no answer may ask another node, also by what the
    publisher called it; but into a pull point it comes once by each subscription that feeds it. What was moved is
    known by its move, and then stands for what comes by itself."""
    way, name = notification.way, f"{notification.cause} {notification.id}"
    to = f" {way.plane} {' '.join(way.only)}{way.arcs or ''}" if way is not None and way.plane else ""
    if way is not None and way.moved:
        yield None, "", f"{name}{to} {way.moved}", -1
    yield None, "", f"{name}{to}", -1
    is_whole = way is not None and way.plane == EVERY_PLANE
    is_alone = pull_point is None and way is not None and not way.only
    if to and is_alone and (key := key_of((notification,), None, principal)) is not None:
        yield key if is_whole else (*key[:2], f"{key[2]}{to}", key[3])


class Publishing:
    """`relay` has notifications taken wherever in a ring they belong, and says which view was made of one that asks for
    replies; None where that is here."""

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
        asking: Asking,
        relay: Relay = lambda *_: None,
    ) -> None:
        self._journal, self._now, self._duplicates, self._relay = journal, now, duplicates, relay
        self._engine, self._standing, self._mailboxes = engine, standing, mailboxes
        self._topics, self._declarations, self._semantics = topics, declarations, semantics
        self._asking = asking
        self.accepted: Counter[str] = Counter()  # notifications, by dialect
        self.repeated = 0

    async def tell_service(self, copy: Copy, topic: Topic, producer: str) -> None:
        """What reached a notifier of ours goes to its service by the ordinary way; returns when it is on disk."""
        headers, body = event_for_service(copy, topic, producer)
        await self.publish(NODE, door_of(copy.to), cloudevents.NAME, headers, body, of_notifier=True)

    async def publish(
        self,
        caller: Caller,
        door: str,
        dialect: str,
        headers: Pairs,
        body: bytes,
        reading: Reading | None = None,
        *,
        of_notifier: bool = False,
        reply: Asked | None = None,
    ) -> str | None:
        """Returns when it is on disk, with the view of its replies if it asks for some, as it says or `reply`.

        Refuses what cannot be normalised, is not allowed or cannot be stored.
        """
        if door.startswith(NOTIFIERS) and not of_notifier:
            raise Refusal("malformed", f"{door[:80]!r} is a notifier's, which takes Publish and Notify of its own")
        if (overload := self._engine.overload or self._mailboxes.overload) is not None:
            raise Refusal("overloaded", f"{overload}; try again a little later")
        if type(reading) is Envelope and (proof := reading.headers.get("security")) is not None:
            body, reading = without_security(body, proof), None
        journal, now = self._journal, self._now()
        pull_point = self._addressee(door) if door.startswith(PULL_POINTS) else None
        at = Position(journal.node, journal.log.next_offset)
        record = Accepted(at, now, door, dialect, headers, caller.name, new_cause(), body)
        notifications = normalise(record, reading)
        first = notifications[0]
        if len(notifications) > 1 or first.attributes or self._topics.restricts or caller.principal is not None:
            self._check(caller, notifications, pull_point)
        declared = self._declarations.ahead
        if (declared.ontologies or declared.liftings) and await self._semantics.check_event_graphs(notifications):
            record = msgspec.structs.replace(record, at=journal.position(), when=self._now())
            notifications = normalise(record)
        if first.attributes or len(notifications) > 1 or reply is not None:
            record, notifications = self._asking_for_replies(record, notifications, reply, of_notifier)
        if pull_point is None and not of_notifier and (relaying := self._relay(notifications, caller.name)) is not None:
            view = await relaying
            self.accepted[dialect] += len(notifications)
            return view
        if record.reply is not None and not of_notifier:
            self._asking.must_have_room()
        key = key_of(notifications, pull_point, caller.name)
        stored = None if key is None else self._duplicates.first(key, now)
        if repeats := stored is not None:
            self.repeated += 1
        else:
            stored = journal.accept(record, arrival(record.at.offset, notifications, pull_point, caller.name))
            if key is not None:
                self._duplicates.remember(key, now, stored)
        try:
            await stored
        except CannotAppend as problem:
            raise journal.refusal(problem) from None
        if not repeats:
            self.accepted[dialect] += len(notifications)
        if record.reply is None:
            return None
        return self._asking.view_of(Position(journal.node, stored.result())) if not record.reply.path else None

    def _asking_for_replies(
        self,
        record: Accepted,
        notifications: tuple[Notification, ...],
        asked: Asked | None,
        of_notifier: bool,
    ) -> tuple[Accepted, tuple[Notification, ...]]:
        """What a notifier passes on has its view already; a publisher's begins here."""
        first = notifications[0]
        if of_notifier:
            request = self._asking.told_service(first)
        else:
            asked = asked or self._asking.asked(notifications)
            if asked and record.door.startswith(PULL_POINTS):
                raise Refusal("bad-reply-type", "what is posted to a pull point's own address asks for no replies")
            request = asked and self._asking.request(asked, record.at, record.when, notifications)
        if not request:
            return record, notifications
        made = msgspec.structs.replace(record, reply=request)
        return made, tuple(msgspec.structs.replace(each, reply=request) for each in notifications)

    async def pass_on(self, door: str, body: bytes) -> None:
        """What another node of the tree accepted, under its own rules; returns when it is on disk. Each is taken once:
        what came before, began here, or goes in a circle is left out."""
        record = self._passed_on(door, body)
        notifications = normalise(record)
        await self._take(record, notifications, [self._comes_from_elsewhere(each) for each in notifications])

    async def take(self, door: str, body: bytes, principal: str | None) -> int:
        """What belongs here of what was accepted at some node of the ring: each once, however often it comes. The place
        in the log of the last of them."""
        record = self._passed_on(door, body, principal)
        notifications = normalise(record)
        return await self._take(record, notifications, [True] * len(notifications))

    def _passed_on(self, door: str, body: bytes, principal: str | None = None) -> Accepted:
        if (overload := self._engine.overload or self._mailboxes.overload) is not None:
            raise Refusal("overloaded", f"{overload}; try again a little later")
        position = self._journal.position()
        return Accepted(position, self._now(), door, between_nodes.NAME, (), principal, new_cause(), body)

    async def _take(self, record: Accepted, notifications: tuple[Notification, ...], wanted: Sequence[bool]) -> int:
        """Those that are wanted and were not taken before; returns when all of them are on disk."""
        journal = self._journal
        keys = [tuple(keys_of_passed(each, record.principal, addressed_to(record))) for each in notifications]
        known = [
            self._first_of(each[:1] if _was_moved(said) else each)
            for said, each in zip(notifications, keys, strict=True)
        ]
        new = [at for at, each in enumerate(known) if each is None and wanted[at]]
        if len(new) < len(notifications) or any(each.reply is not None for each in notifications):
            self.repeated += len(notifications) - len(new)
            frames = list(between_nodes.frames(record.body))
            kept = [self._with_reply(frames[at], notifications[at].reply, record.at) for at in new]
            record = msgspec.structs.replace(record, body=between_nodes.framed(kept))
            notifications = normalise(record)
        waiting, last = {each for each in known if each is not None}, -1
        if notifications:
            pull_point = addressed_to(record)
            stored = journal.accept(record, arrival(record.at.offset, notifications, pull_point, record.principal))
            for at in new:
                for key in keys[at]:
                    self._duplicates.remember(key, record.when, stored)
            waiting.add(stored)
        try:
            for future in waiting:
                last = max(last, await future)
        except CannotAppend as problem:
            raise journal.refusal(problem) from None
        self.accepted[between_nodes.NAME] += len(notifications)
        return last

    def _first_of(self, keys: Iterable[Key]) -> "asyncio.Future[int] | None":
        found = (self._duplicates.first(key, AT_ANY_AGE) for key in keys)
        return next((each for each in found if each is not None), None)

    def _with_reply(self, frame: memoryview, request: ReplyRequest | None, at: Position) -> bytes | memoryview:
        """What asks for replies is kept with the way back from here."""
        return frame if request is None else between_nodes.with_reply(frame, self._asking.taken(request, at))

    def _comes_from_elsewhere(self, notification: Notification) -> bool:
        way = notification.way
        return way is not None and way.origin != self._journal.node and way.hops <= between_nodes.MOST_HOPS

    def _check(self, caller: Caller, notifications: Sequence[Notification], pull_point: str | None) -> None:
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
                if pull_point is not None:
                    self._must_fill(caller, pull_point, notification)

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

    def forget(self) -> None:
        """Nothing counts as known of what was accepted until now."""
        self._duplicates.clear()

    def remember(self, arrived: Arrival) -> None:
        """The window of message ids, from the log: a caller that did not hear our answer asks again after a restart."""
        first = next(iter(arrived.notifications), None)
        if first is None or (first.way is None and self._now() - first.when > REMEMBERED_SECONDS * SECOND):
            return
        for key in keys_of(arrived):
            stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            stored.set_result(arrived.offset)
            self._duplicates.remember(key, first.when, stored)


def _was_moved(notification: Notification) -> bool:
    return notification.way is not None and bool(notification.way.moved)


def new_cause() -> str:
    """A random UUID (RFC 9562 version 4), three times as quickly as the standard library makes one."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
