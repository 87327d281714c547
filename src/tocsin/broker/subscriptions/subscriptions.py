"""Subscribing, and what can become of a subscription: the operations of every dialect."""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import urlsplit

from msgspec.structs import replace

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.consumers.consumers import Consumers
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.journal import Journal
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.standing import Seen, StandingSubscriptions, granted
from tocsin.broker.subscriptions.start_position import start_position
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.flow.addressing import path_at, pull_point_of
from tocsin.flow.ring_addresses import original
from tocsin.matching.resolution import check_envelopes
from tocsin.mediation.operations import EndStatus, Renew, Start, Subscribe
from tocsin.mediation.soap.templates import PULL_POINTS
from tocsin.model.filters import Filter, ForNotifier
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription, neighbour_of, notifier_of
from tocsin.routing.ring.identifiers import is_named
from tocsin.store.database import Store
from tocsin.store.places import Places
from tocsin.wire.addresses import AddressGuard, BadAddress

Tally = tuple[int, int, int]  # how much waits, was delivered since the start, and is a dead letter


class Found(Protocol):
    @property
    def subscription(self) -> Subscription | None: ...


class Elsewhere(Protocol):
    def has(self, name: str) -> bool: ...

    async def look(self, name: str) -> Found: ...


class Ring(Protocol):
    """Where subscriptions have their homes, by the names that they get."""

    @property
    def elsewhere(self) -> Elsewhere: ...

    @property
    def has_others(self) -> bool: ...

    def name(self, filters: tuple[Filter, ...]) -> SubscriptionId: ...


class Subscriptions:
    def __init__(
        self,
        journal: Journal,
        standing: StandingSubscriptions,
        settings: Settings,
        base_url: str,
        now: Callable[[], Instant],
        *,
        store: Store,
        guard: AddressGuard,
        topics: TopicSpace,
        declarations: Declarations,
        consumers: Consumers,
        mailboxes: Mailboxes,
        settlement: Settlement,
        ring: Callable[[], Ring | None] = lambda: None,
    ) -> None:
        self._ring = ring
        self._journal, self._standing, self._settings = journal, standing, settings
        self._base_url, self._now, self._store, self._guard = base_url, now, store, guard
        self._topics, self._declarations, self._consumers = topics, declarations, consumers
        self._mailboxes, self._settlement = mailboxes, settlement

    async def subscribe(self, caller: Caller, request: Subscribe) -> Subscription:
        await self._must_be_allowed(caller, request)
        return await self._make(caller, request)

    async def create_mailbox(self, caller: Caller, request: Subscribe) -> Subscription:
        """A pull point that no filter fills; the caller's right is that of its service."""
        return await self._make(caller, request)

    async def replace(self, caller: Caller, name: str, request: Subscribe) -> Subscription:
        """Another consumer, form and filters from now on; what waits already was asked for, and goes where it was to
        go."""
        self.get(caller, name)
        await self._must_be_allowed(caller, request)
        asked = await self._checked(caller, request)
        old = self._standing.get(name)
        if (notifier := notifier_of(old)) is not None:
            raise Refusal("in-use", f"by it the notifier {notifier!r} tells its service; change the notifier instead")
        return await self._standing.change(
            replace(
                old,
                consumer=asked.consumer,
                end_to=asked.end_to,
                form=asked.form,
                filters=asked.filters,
                expires=asked.expires,
            )
        )

    async def renew(self, caller: Caller, request: Renew) -> Subscription:
        old = await self._found(caller, request.id)
        form = replace(old.form, expires_as=request.form.expires_as)
        return await self._standing.change(replace(old, expires=self._granted(request.expires), form=form))

    async def pause(self, caller: Caller, name: str) -> Subscription:
        """What waits for it is held, what is published from now on is not for it. Again is as once."""
        self.get(caller, name)
        return await self._standing.turn(name, "paused")

    async def resume(self, caller: Caller, name: str) -> Subscription:
        """What it asks for must be there, as when it was made."""
        self._declarations.resolved(self.get(caller, name).filters)
        return await self._standing.turn(name, "active")

    async def unsubscribe(self, caller: Caller, name: str) -> Subscription:
        return await self._standing.change(
            replace(await self._found(caller, name), state="ended", reason="unsubscribed")
        )

    async def cancel(
        self, caller: Caller, name: str, status: EndStatus = "SourceCancelling", reason: str = ""
    ) -> Subscription:
        """Ends it though its subscriber did not ask for that, and tells it so."""
        self.get(caller, name)
        return await self._standing.cancel(name, status, reason or "it was cancelled at the broker")

    def get(self, caller: Caller, name: str) -> Subscription:
        found = caller.must_manage(self._standing.get(name))
        if (neighbour := neighbour_of(found)) is not None:
            raise Refusal("in-use", f"by it the node {neighbour} is told; `tocsin tree` has it, and takes it out")
        return original(found)

    async def _found(self, caller: Caller, name: str) -> Subscription:
        """Also one that stands at other nodes of the ring alone."""
        ring = self._ring()
        if ring is None or not ring.elsewhere.has(name):
            return self.get(caller, name)
        if (found := (await ring.elsewhere.look(name)).subscription) is None:
            raise Refusal("unknown-subscription", f"there is no subscription {name!r} here; it may have ended")
        return caller.must_manage(found)

    def page(self, caller: Caller, after: str, limit: int, seen: Seen | None = None) -> Sequence[Subscription]:
        """Those that the caller may manage."""
        if caller.principal is None:
            found = self._standing.page(after, limit, seen)
        else:
            allowed: Seen = lambda each: caller.may_manage(each) and (seen is None or seen(each))  # noqa: E731
            found = self._standing.page(after, limit, allowed)
        return [original(each) for each in found]

    async def tallies(self, caller: Caller, subscriptions: Sequence[SubscriptionId]) -> Mapping[str, Tally]:
        """What became of what they were to be told; who could list them may know."""
        caller.anybody()
        dead = await asyncio.to_thread(self._store.dead_letters_by_subscription)
        delivered, waiting = self._settlement.delivered, self._settlement.waiting()
        return {each: (waiting.get(each, 0), delivered.get(each, 0), dead.get(each, 0)) for each in subscriptions}

    async def subscribe_for_good(self, request: Subscribe, owner: str | None) -> Subscription:
        """Until it is ended: what stands for one service's request to another has no lease."""
        asked = await self._checked(NODE, request)
        return await self._standing.change(replace(asked, owner=owner, expires=None))

    async def subscribe_service(
        self, notifier: str, consumer: Endpoint | None, form: Form, owner: str | None = None
    ) -> Subscription:
        """How a service is told by its notifier: sent to, or a pull point of its own; it stands until it is removed."""
        self._check_address(consumer, form)
        self._consumers.check(NODE, consumer)
        self._check_shared(consumer)
        asked, name = self._consumers.asked(consumer, form), self._name((ForNotifier(notifier),))
        position = self._journal.position()
        return await self._standing.change(
            Subscription(name, owner, asked, None, form, (ForNotifier(notifier),), position, None)
        )

    def _name(self, filters: tuple[Filter, ...]) -> SubscriptionId:
        return SubscriptionId(uuid.uuid4().hex) if (ring := self._ring()) is None else ring.name(filters)

    async def subscribe_again(self, notifier: str, ended: str) -> Subscription:
        """As its service was told until that ended, and from there on: what came since is not lost."""
        history = await asyncio.to_thread(self._store.past.history, SubscriptionId(ended))
        if not history:
            raise Refusal("unknown-subscription", f"there never was a subscription {ended!r}")
        last = history[-1]
        return await self._standing.change(
            replace(
                last.subscription,
                id=self._name((ForNotifier(notifier),)),
                filters=(ForNotifier(notifier),),
                since=Position(self._journal.node, last.at.offset),
                expires=None,
                state="active",
                reason="",
            )
        )

    async def _make(self, caller: Caller, request: Subscribe) -> Subscription:
        begins = await self._start(request.start)
        asked = await self._checked(caller, request)
        since = asked.since if begins is None else Position(self._journal.node, begins)
        start = request.start.when if request.start is not None and self._has_others() else None
        return await self._standing.change(replace(asked, since=since, owner=caller.name, start=start))

    def _has_others(self) -> bool:
        return (ring := self._ring()) is not None and ring.has_others

    async def _must_be_allowed(self, caller: Caller, request: Subscribe) -> None:
        if not caller.may_subscribe(request.filters):
            wide = "subscribe to all that these filters match; name topics that it has the right to"
            raise caller.may_not(wide if caller.may_subscribe_at_all() else "subscribe to any topic")
        for endpoint in (request.consumer, request.end_to) if caller.principal is not None else ():
            if endpoint is not None and (found := await self._pull_point(endpoint)) is not None:
                caller.must_manage(found)  # nobody fills the mailbox of another

    async def _checked(self, caller: Caller, request: Subscribe) -> Subscription:
        """As it will be, but for where it begins and whose it is."""
        await self._declarations.ready_for(request.filters)
        consumer = await self._at_home(request.consumer) or request.consumer
        self._check_shared(None if consumer is not request.consumer else consumer)
        for endpoint in (consumer if consumer is request.consumer else None, request.end_to):
            self._check_address(endpoint, request.form)
        self._check_latency(request.form)
        self._topics.check_filters(request.filters)
        check_envelopes(request.filters, request.form)
        self._consumers.check(caller, consumer, request.end_to)
        filters = self._declarations.resolved(request.filters)
        return Subscription(
            self._name(filters),
            None,
            self._consumers.asked(consumer, request.form),
            request.end_to,
            request.form,
            filters,
            self._journal.position(),
            self._granted(request.expires),
        )

    def _check_latency(self, form: Form) -> None:
        longest = self._settings.delivery.longest_latency
        if form.max_latency_ms > longest * 1000:
            shown = f"{form.max_latency_ms / 1000:g} s"
            text = f"the maximum latency is {shown}; {longest:g} s is the longest here (delivery.longest_latency)"
            raise Refusal("unsupported-delivery", text)

    def _check_shared(self, consumer: Endpoint | None) -> None:
        """A pull point is filled by the node that has it, from its own log, which has only what was published there."""
        if self._settings.log.shared is not None and consumer is None:
            text = "with a log that nodes share there are no pull points yet; name a consumer to send to"
            raise Refusal("unsupported-delivery", text)

    def _granted(self, asked: Instant | None) -> Instant:
        limits = self._settings.limits
        return granted(asked, self._now(), limits.default_lease, limits.longest_lease)

    async def _at_home(self, consumer: Endpoint | None) -> Endpoint | None:
        """A consumer that is a pull point of ours, as a path alone; any other as None."""
        if consumer is None:
            return None
        found = await self._pull_point(consumer)
        if found is not None and found.consumer is None:
            return replace(consumer, address=f"{PULL_POINTS}{found.id}")
        if found is not None or (path_at(self._base_url, consumer.address) or "").startswith(PULL_POINTS):
            hint = "create one and name its address"
            raise Refusal("bad-consumer", f"there is no pull point at {consumer.address}; {hint}")
        return None

    async def _pull_point(self, endpoint: Endpoint) -> Subscription | None:
        """The one that an address is of, at this node or any other of its ring: their ids are like no others."""
        ring, ours = self._ring(), path_at(self._base_url, endpoint.address)
        name = pull_point_of(urlsplit(endpoint.address).path if ours is None else ours)
        if name is None or not (ours is not None or (ring is not None and is_named(name))):
            return None
        if ring is not None and ring.elsewhere.has(name):
            return (await ring.elsewhere.look(name)).subscription
        try:
            return self._standing.get(name)
        except Refusal:
            return None

    def _check_address(self, endpoint: Endpoint | None, form: Form) -> None:
        """SOAP can go over TCP as well."""
        try:
            if endpoint is not None:
                self._guard.check(endpoint.address, soap=form.soap is not None)
        except BadAddress as problem:
            assert endpoint is not None
            raise Refusal("bad-consumer", f"nothing can be sent to {endpoint.address!r}: {problem}") from None

    async def _start(self, start: Start | None) -> int | None:
        """Where in the log it begins; None with what comes next."""
        if start is None:
            return None
        if self._settings.log.shared is not None:
            text = "with a log that nodes share a subscription begins with what comes next; `tocsin pipeline replay`"
            raise Refusal("bad-start", f"{text} delivers what was before")
        if start.when is None and self._has_others():
            raise Refusal(
                "bad-start", "each node of a ring has a log of its own: a subscription begins at a time there"
            )
        folder, end = Places(self._settings.data).log("log"), self._journal.log.next_offset
        return await asyncio.to_thread(start_position, start, folder, end, self._now())
