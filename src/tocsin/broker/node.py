"""A node: one process, a whole broker. It owns the log, the subscriptions and the senders."""

import asyncio
import heapq
import os
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import msgspec

from tocsin.broker.consumers.consumers import Consumers, Consuming
from tocsin.broker.declarations.semantics import Meaning
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.engines.sending import Sending
from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.interactions.interactions import Interactions
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.publishing.direct import Direct
from tocsin.broker.publishing.duplicates import Duplicates, key_of_all
from tocsin.broker.pull_points.feeds import Feeding
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.pull_points.service import Addressed, Pulls, Waited, open_to_all, said_to_all
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.leases import granted, standing
from tocsin.broker.subscriptions.start_position import beginning
from tocsin.broker.subscriptions.synchronisation import Synchronising
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.registry import Registry
from tocsin.broker.topics.topic_counts import TopicCounts
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.broker.tracing.tracing import Tracing
from tocsin.documents.ports.port import Allowed, Seen
from tocsin.flow.addressing import NOTIFIERS, door_of, event_for_service
from tocsin.flow.flow import normalise
from tocsin.flow.lifetime import check_expiry
from tocsin.matching.index.combination import MANY as MANY_TERMS
from tocsin.matching.resolution import check_envelopes
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import Reading
from tocsin.mediation.operations import Ended, EndStatus, Renew, Start, Subscribe
from tocsin.mediation.soap.security import without_security
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.filters import ForNotifier
from tocsin.model.identity import Instant, Pairs, SubscriptionId
from tocsin.model.identity import Node as NodeName
from tocsin.model.names import Topic
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, State, Subscription, notifier_of
from tocsin.routing.implicit.messages import Copy
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.errors import CannotAppend, LogFull
from tocsin.store.judge.judge import Judges
from tocsin.store.log.log import Log
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.errors import BadAddress

_Waiting = tuple["asyncio.Future[int]", int, Waited]


class Node(Registry, Pulls, Synchronising, Consuming, Meaning):
    """Implements `Broker`. Made by `tocsin.broker.lifecycle.open_node`, inside the running loop."""

    implicit: Implicit  # set when it is opened

    def __init__(
        self,
        name: NodeName,
        settings: Settings,
        base_url: str,
        log: Log,
        store: Store,
        engine: EmbeddedEngine | OutboxEngine,
        sending: Sending,
        guard: AddressGuard,
        judges: Judges,
    ) -> None:
        super().__init__(store.known())
        self.name, self.settings, self.base_url = name, settings, base_url
        self.body_limit = settings.limits.body_bytes
        self.log, self.store, self.engine, self.sending = log, store, engine, sending
        self._guard = guard
        self._subscriptions: dict[SubscriptionId, Subscription] = {each.id: each for each in store.current()}
        self._dialects = {each.id: each.form.dialect for each in self._subscriptions.values()}
        self._changing: dict[SubscriptionId, Subscription] = {}  # as they will be, once on disk
        self._waiting: deque[_Waiting] = deque()
        self.duplicates = Duplicates(settings.limits.dedup_window)
        self.topic_counts = TopicCounts.load(store)
        self.judges, self.current = judges, CurrentMessages(store.current_messages)
        feeding = Feeding(base_url, judges, sending.unjudged, sending.unwritten, sending.filters.delivered)
        self.pulling = PullPoints(store, settings, self.now, feeding)
        self.topic_space = TopicSpace(store.topic_namespaces, fixed=settings.topics.fixed)
        self.publishers = Registrations(store.registrations, guard, base_url, self.now)
        self.consumers = Consumers(settings, base_url, store, self._subscriptions, self._changing, self.cancel)
        kept = settings.implicit.retention
        self.interactions = Interactions(self, store.requests, settings.data / "log", kept)
        self.traces = Tracing(self, settings.data / "log", judges.aside)
        self.accepted: Counter[str] = Counter()
        self.repeated = 0
        self.on_ended: Callable[[Subscription], None] = lambda _: None
        log.on_durable, log.on_failed = self._durable, self._failed
        self._direct: Direct | None = None
        if settings.delivery.mode == "direct" and isinstance(engine, EmbeddedEngine):
            self._direct = Direct(self._waiting, engine, sending)

    def now(self) -> Instant:
        return Instant(time.time_ns())

    async def publish(
        self,
        door: str,
        dialect: str,
        headers: Pairs,
        body: bytes,
        reading: Reading | None = None,
        *,
        principal: str | None = None,
        allowed: Allowed | None = None,
        told_to_service: bool = False,
    ) -> None:
        """What is for a service alone comes from `tell_service`, whatever door a caller names."""
        if door.startswith(NOTIFIERS) and not told_to_service:
            raise Refusal("malformed", f"{door[:80]!r} is a notifier's, which takes Publish and Notify of its own")
        if (overload := self.engine.overload or self.pulling.overload) is not None:
            raise Refusal("overloaded", f"{overload}; try again a little later")
        if isinstance(reading, Envelope) and (proof := reading.headers.get("security")) is not None:
            body, reading = without_security(body, proof), None
        now, pull_point = self.now(), self.addressee(door)
        record = Accepted(
            Position(self.name, self.log.next_offset), now, door, dialect, headers, principal, new_cause(), body
        )
        notifications = normalise(record, reading)
        for notification in said_to_all(notifications):
            self.topic_space.check(notification.topic)
        check_expiry(notifications)
        self.check_content_topics(said_to_all(notifications))
        if allowed is not None:
            for notification in notifications:
                allowed(notification)
        if await self.check_event_graphs(notifications):
            record = msgspec.structs.replace(record, at=Position(self.name, self.log.next_offset), when=self.now())
            notifications = normalise(record)
        key = key_of_all(notifications, pull_point, principal)
        if key is not None and (first := self.duplicates.first(key, now)) is not None:
            self.repeated += 1
            await self._stored(first)
            return
        future = self.log.append(encode(record))
        waited = notifications if pull_point is None else Addressed(pull_point, notifications)
        self._waiting.append((future, record.at.offset, waited))
        if self._direct is not None:
            self._direct.tell()
        if key is not None:
            self.duplicates.remember(key, now, future)
        await self._stored(future)
        self.accepted[dialect] += len(notifications)

    async def tell_service(self, copy: Copy, topic: Topic, producer: str) -> None:
        """What reached a notifier of ours goes to its service by the ordinary way; returns when it is on disk."""
        headers, body = event_for_service(copy, topic, producer)
        await self.publish(door_of(copy.to), cloudevents.NAME, headers, body, told_to_service=True)

    async def subscribe_service(
        self, notifier: str, consumer: Endpoint | None, form: Form, owner: str | None = None
    ) -> Subscription:
        """How a service is told by its notifier: sent to, or a pull point of its own; it stands until it is removed."""
        self._check(consumer, form)
        self.consumers.check(consumer, None)
        asked, since = self.consumers.asked(consumer, form), Position(self.name, self.log.next_offset)
        name = SubscriptionId(uuid.uuid4().hex)
        made = Subscription(name, owner, asked, None, form, (ForNotifier(notifier),), since, None)
        await self._change(made)
        return made

    async def subscribe_again(self, notifier: str, ended: str) -> Subscription:
        """As its service was told until that ended, and from there on: what came since is not lost."""
        history = await asyncio.to_thread(self.store.history, SubscriptionId(ended))
        if not history:
            raise Refusal("unknown-subscription", f"there never was a subscription {ended!r}")
        last, name = history[-1], SubscriptionId(uuid.uuid4().hex)
        made = msgspec.structs.replace(
            last.subscription,
            id=name,
            filters=(ForNotifier(notifier),),
            since=Position(self.name, last.at.offset),
            expires=None,
            state="active",
            reason="",
        )
        await self._change(made)
        return made

    async def subscribe(self, request: Subscribe, *, owner: str | None = None) -> Subscription:
        await self.ready_for(request.filters)
        consumer = self.at_home(request.consumer) or request.consumer
        for endpoint in (consumer if consumer is request.consumer else None, request.end_to):
            self._check(endpoint, request.form)
        self.topic_space.check_filters(request.filters)
        check_envelopes(request.filters, request.form)
        limits = self.settings.limits
        expires = granted(request.expires, self.now(), limits.default_lease, limits.longest_lease)
        since = Position(self.name, await self._beginning(request.start))
        name = SubscriptionId(uuid.uuid4().hex)
        self.consumers.check(consumer, request.end_to)
        consumer = self.consumers.asked(consumer, request.form)
        filters = self.resolved(request.filters)
        made = Subscription(name, owner, consumer, request.end_to, request.form, filters, since, expires)
        await self._change(made)
        return made

    async def subscribe_for_good(self, request: Subscribe, *, owner: str | None = None) -> Subscription:
        """Until it is ended: what stands for one service's request to another has no lease."""
        made = await self.subscribe(request, owner=owner)
        lasting = msgspec.structs.replace(made, expires=None)
        await self._change(lasting)
        return lasting

    async def replace(self, subscription: str, request: Subscribe) -> Subscription:
        """Asks for something else from now on; what waits already was asked for, and goes where it was to go."""
        await self.ready_for(request.filters)
        old = self.subscription(subscription)
        if (notifier := notifier_of(old)) is not None:
            raise Refusal("in-use", f"by it the notifier {notifier!r} tells its service; change the notifier instead")
        consumer = self.at_home(request.consumer) or request.consumer
        for endpoint in (consumer if consumer is request.consumer else None, request.end_to):
            self._check(endpoint, request.form)
        self.topic_space.check_filters(request.filters)
        check_envelopes(request.filters, request.form)
        self.consumers.check(consumer, request.end_to)
        limits = self.settings.limits
        replaced = msgspec.structs.replace(
            old,
            consumer=self.consumers.asked(consumer, request.form),
            end_to=request.end_to,
            form=request.form,
            filters=self.resolved(request.filters),
            expires=granted(request.expires, self.now(), limits.default_lease, limits.longest_lease),
        )
        await self._change(replaced)
        return replaced

    async def _beginning(self, start: Start | None) -> int:
        if start is None:
            return self.log.next_offset
        folder, end = self.settings.data / "log", self.log.next_offset
        return await asyncio.to_thread(beginning, start, folder, end, self.now())

    def _check(self, endpoint: Endpoint | None, form: Form) -> None:
        """SOAP can go over TCP as well."""
        try:
            if endpoint is not None:
                self._guard.check(endpoint.address, soap=form.soap is not None)
        except BadAddress as problem:
            assert endpoint is not None
            raise Refusal("bad-consumer", f"nothing can be sent to {endpoint.address!r}: {problem}") from None

    async def renew(self, request: Renew) -> Subscription:
        limits = self.settings.limits
        expires = granted(request.expires, self.now(), limits.default_lease, limits.longest_lease)
        old = self.subscription(request.id)
        form = msgspec.structs.replace(old.form, expires_as=request.form.expires_as)
        renewed = msgspec.structs.replace(old, expires=expires, form=form)
        await self._change(renewed)
        return renewed

    async def pause(self, subscription: str) -> Subscription:
        """What waits for it is held, what is published from now on is not for it. Again is as once."""
        return await self._turn(subscription, "paused")

    async def resume(self, subscription: str) -> Subscription:
        """What it asks for must be there, as when it was made."""
        self.resolved(self.subscription(subscription).filters)
        return await self._turn(subscription, "active")

    async def suspend(self, subscription: str, reason: str) -> Subscription:
        """As if it were paused, by us; who resumes it has put right what the reason says."""
        return await self._turn(subscription, "suspended", reason)

    async def _turn(self, subscription: str, state: State, reason: str = "") -> Subscription:
        turned = msgspec.structs.replace(self.subscription(subscription), state=state, reason=reason)
        await self._change(turned)
        return turned

    async def cancel(self, subscription: str, status: EndStatus = "SourceCancelling", reason: str = "") -> Subscription:
        """Ends it though its subscriber did not ask for that; it is told, if it named an address for that."""
        reason = reason or "it was cancelled at the broker"
        ended = await self.end(self.subscription(subscription), reason)
        address = f"{self.base_url}/broker/subscriptions/{ended.id}"
        self.sending.notices.send(Ended(ended, address, status, reason, self.now()), self.base_url)
        return ended

    async def unsubscribe(self, subscription: str) -> Subscription:
        return await self.end(self.subscription(subscription), "unsubscribed")

    async def end(self, subscription: Subscription, reason: str) -> Subscription:
        ended = msgspec.structs.replace(subscription, state="ended", reason=reason)
        await self._change(ended)
        return ended

    def expired(self, now: Instant) -> list[Subscription]:
        over = [each for each in self._subscriptions.values() if each.expires is not None and each.expires <= now]
        return [each for each in over if each.id not in self._changing]

    def subscription(self, subscription: str) -> Subscription:
        """As its last change leaves it, on disk or not: who is ended must not be renewed."""
        name = SubscriptionId(subscription)
        return standing(self._changing.get(name) or self._subscriptions.get(name), subscription, self.now())

    def needs_kernels(self) -> bool:
        """Where boxes or graph patterns may be asked for, and well before subscriptions are so many that they are
        combined by a kernel."""
        many = len(self._subscriptions) >= MANY_TERMS // 2
        return many or bool(self.known.spaces or self.known.ontologies)

    def subscriptions(self, after: str, limit: int, seen: Seen | None = None) -> Sequence[Subscription]:
        standing, names = self._subscriptions, (name for name in self._subscriptions if name > after)
        if seen is None:
            return [standing[name] for name in heapq.nsmallest(limit, names)]
        return list(islice((each for name in sorted(names) if seen(each := standing[name])), limit))

    def dead_letters(self, after: int, limit: int, subscription: str | None) -> Sequence[DeadLetter]:
        return self.store.dead_letters(after=after, limit=limit, subscription=subscription)

    async def redrive(self, ids: Sequence[int] | None) -> int:
        return await self.sending.redrive(ids)

    def topics(self) -> Sequence[tuple[str, int, Instant]]:
        return self.topic_counts.rows()

    def problem(self) -> str | None:
        return self.log.refusal

    def figures(self) -> dict[str, Any]:
        delivery = msgspec.structs.asdict(self.engine.deliverer.figures())
        return {
            "node": self.name,
            "engine": self.settings.engine,
            "offset": self.log.durable,
            "subscriptions": len(self._subscriptions),
            "accepted": dict(self.accepted),
            "repeated": self.repeated,
            "matched": self.engine.matched,
            "delivery": delivery,
            "pull_points": self.pulling.figures(),
            "dead_letters": self.store.count_dead_letters(),
            "implicit": self.implicit.figures(),
        }

    def delivered_by_dialect(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for name, count in self.sending.delivered.items():
            found[self._dialects.get(name, "unknown")] += count
        return dict(found)

    async def _change(self, subscription: Subscription) -> None:
        change = Changed(Position(self.name, self.log.next_offset), self.now(), subscription)
        future = self.log.append(encode(change), change)
        self._waiting.append((future, change.at.offset, change))
        self._changing[subscription.id] = subscription
        self._note_change(subscription)
        future.add_done_callback(lambda _: self._changed(subscription))
        await self._stored(future)

    def _changed(self, subscription: Subscription) -> None:
        if self._changing.get(subscription.id) is subscription:
            del self._changing[subscription.id]

    async def _stored(self, future: "asyncio.Future[int]") -> None:
        try:
            await future
        except LogFull as problem:
            self._durable(self.log.durable)
            raise Refusal("overloaded", f"{problem}; try again a little later") from None
        except CannotAppend as problem:
            self._durable(self.log.durable)  # so that what failed is let go while nothing succeeds
            raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None

    def _durable(self, end: int) -> None:
        """In the order of the log: what is on disk is matched, what failed to get there is not."""
        del end
        waiting = self._waiting
        while waiting and waiting[0][0].done():
            future, offset, what = waiting.popleft()
            event_for_service = self._direct is not None and self._direct.passed()
            if future.exception() is not None:
                continue
            if isinstance(what, Changed):
                self._apply(what)
            elif isinstance(what, Declared):
                self.known.declare(what.what)
                self.engine.declared(what)
                self.pulling.declared(what)
            else:
                if not event_for_service:
                    self.engine.accepted(offset, open_to_all(what))
                self.topic_counts.count(said_to_all(open_to_all(what)))
                self.fetched(offset, what)
        if self._direct is not None:
            self._direct.tell()

    def _failed(self) -> None:
        """All that waited failed; nothing has been given its offsets yet."""
        self._durable(self.log.durable)
        if self._direct is not None:
            self._direct.failed(self.log.durable)

    def _apply(self, change: Changed) -> None:
        subscription = change.subscription
        before = self._subscriptions.get(subscription.id)
        if subscription.state == "ended":
            self._subscriptions.pop(subscription.id, None)
            self.on_ended(subscription)
        else:
            self._subscriptions[subscription.id] = subscription
            self._dialects[subscription.id] = subscription.form.dialect
        self.sending.filters.changed(before, change)
        self.consumers.changed(before, subscription)
        self.engine.changed(change)
        self.pulling.changed(change)
        self.publishers.changed(subscription)


def new_cause() -> str:
    """A random UUID (RFC 9562 version 4), three times as quickly as the standard library makes one."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
