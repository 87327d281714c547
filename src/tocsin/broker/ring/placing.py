"""Subscriptions on the ring: each has a home, by its id, and stands wherever it asks for keys (paper 004 s3.A, B).

Every change is made at home, gets the next version there, and is acknowledged when all who are concerned have it.
"""

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from weakref import WeakValueDictionary

from msgspec.structs import replace

from tocsin.broker.journal import Journal
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.messages import Change, Gathered, Put
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.flow.addressing import PULL_POINTS, pulled_by
from tocsin.flow.ring_addresses import original, sent_to
from tocsin.matching.catalogue import Catalogue
from tocsin.model.filters import NOTHING, Filter
from tocsin.model.identity import SECOND, Instant, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Position, Subscription, neighbour_of
from tocsin.routing.ring.identifiers import SIZE, named_at, place_of_name, within
from tocsin.routing.ring.keys import Place, place_of, places_of
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.spans import Span

PAGE = 500  # subscriptions in one message
TOGETHER = 500  # notifications for a pull point in one request
SAME_CLOCK = SECOND  # clocks that differ by less are taken as one
SPANS = 200_000  # that are remembered


def is_of_ring(subscription: Subscription) -> bool:
    """What goes to a neighbour of a tree is this node's own."""
    return neighbour_of(subscription) is None


class Placing:
    """`known` is what is declared; `expect` hears of a pull point that comes here from another node. `settled` returns
    when no node leaves what those want that are called so; `first_since` finds the place in the log of what was taken
    then or later."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        journal: Journal,
        standing: StandingSubscriptions,
        known: Callable[[], Catalogue],
        now: Callable[[], Instant],
        expect: Callable[[str], None],
        settled: Callable[[Iterable[str]], Awaitable[None]],
        first_since: Callable[[Instant], int],
    ) -> None:
        self._first_since = first_since
        self._circle, self._asking, self._journal, self._standing = circle, asking, journal, standing
        self._known, self._now, self._expect, self._settled = known, now, expect, settled
        self._storing: dict[str, asyncio.Future[int]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # while somebody has one
        self._span = lru_cache(SPANS)(self._span_of)

    def name(self, filters: tuple[Filter, ...]) -> SubscriptionId:
        """An id with its home among the nodes that will have it anyway."""
        start = random.randrange(SIZE)
        if filters == (NOTHING,):  # a mailbox, for which any node is as good
            return SubscriptionId(named_at(start, uuid.uuid4().hex))
        span = self._span(filters)
        key = span.next_key(start)
        key = span.next_key(0) if key is None else key
        return SubscriptionId(named_at(start if key is None else key, uuid.uuid4().hex))

    def places(self, notification: Notification) -> tuple[Place, ...]:
        return places_of(notification, self._known().spaces)

    def keys(self, notification: Notification) -> list[tuple[str, int]]:
        """One of each of its places, of those for which it came here."""
        arcs = () if notification.way is None else notification.way.arcs
        found = ((each.plane, each.span.next_key(arcs[0][0] if arcs else 0)) for each in self.places(notification))
        return [(plane, key) for plane, key in found if key is not None]

    def holders(self, roster: Roster, subscription: Subscription) -> list[Member]:
        """Who must have it."""
        if subscription.start is not None:
            return list(roster.members)
        span, home = self._span(subscription.filters), place_of_name(subscription.id)
        found = []
        for each in roster.members:
            after, upto = roster.range_of(each)
            if within(home, after, upto) or span.meets_arc(after, upto):
                found.append(each)
        return found

    def is_held(self, subscription: Subscription, after: int, upto: int) -> bool:
        """By who has that arc."""
        if subscription.start is not None or within(place_of_name(subscription.id), after, upto):
            return True
        return self._span(subscription.filters).meets_arc(after, upto)

    def spaces_changed(self) -> None:
        self._span.cache_clear()

    def _span_of(self, filters: tuple[Filter, ...]) -> Span:
        return place_of(filters, self._known().spaces).span

    # Changing

    async def change(self, subscription: Subscription) -> None:
        """As it is to be; returns when it is so everywhere."""

        async def attempt(roster: Roster) -> None:
            home = roster.owner(place_of_name(subscription.id))
            if home.name == self._circle.me:
                await self.change_here(roster, subscription)
            else:
                await self._asking.tell(home, Change(number_of(roster), self._now(), subscription))

        await self._circle.agreed(attempt)

    async def change_here(self, roster: Roster, asked: Subscription) -> None:
        """At home, one change of a subscription after the other."""
        lock = self._locks.setdefault(asked.id, asyncio.Lock())
        async with lock:
            before = self._latest(asked.id)
            if before is not None and _is_same(original(before), original(asked)):
                subscription = original(before)
            else:
                version = 1 if before is None else before.version + 1
                subscription = replace(original(asked), version=version)
            await self.put_here((subscription,), fresh=before is None, replay=True)
            concerned = {each.name: each for each in self.holders(roster, subscription)}
            if before is not None:
                concerned |= {each.name: each for each in self.holders(roster, before)}
            others = [each for each in concerned.values() if each.name != self._circle.me]
            put = Put(number_of(roster), self._now(), (original(subscription),))
            await asyncio.gather(self._settled((subscription.id,)), *(self._asking.tell(each, put) for each in others))

    async def put(self, subscriptions: Sequence[Subscription], now: Instant) -> None:
        """From their homes; when it returns they may be acknowledged as far as this node is concerned."""
        await self.put_here(subscriptions, now, replay=True)
        await self._settled([each.id for each in subscriptions])

    async def put_here(
        self,
        subscriptions: Iterable[Subscription],
        now: Instant | None = None,
        *,
        fresh: bool = False,
        replay: bool = False,
    ) -> None:
        """On disk when it returns; what is older than what stands here changes nothing, and what is the same may have
        been put a moment ago. `now` is on the clock of who says it; `fresh` is what was nowhere before. One that is new
        may ask for what this node had before: but once, and not again of a node that comes back (`replay`)."""
        subscriptions = [each if now is None else self.on_clock(each, now) for each in subscriptions]
        begin = {each.id: await self._since(each) for each in subscriptions if replay and _asks_for_past(each)}
        futures = []
        for each in subscriptions:
            before = self._latest(each.id)
            if (before is None and each.state == "ended") or (before is not None and before.version >= each.version):
                futures += [self._storing[each.id]] if each.id in self._storing else []
                continue
            since = begin.get(each.id, self._journal.position()) if before is None else before.since
            mine = self.localised(replace(each, since=since))
            if not fresh:
                self._look_at(before, mine)
            futures.append(self._store(mine))
        for future in futures:
            await self._journal.stored(future)

    async def _since(self, subscription: Subscription) -> Position:
        """Where one begins here that asks for the past."""
        assert subscription.start is not None
        offset = await asyncio.to_thread(self._first_since, subscription.start)
        return replace(self._journal.position(), offset=offset)

    def _store(self, subscription: Subscription) -> "asyncio.Future[int]":
        name, stored = subscription.id, self._standing.change_here(subscription)
        self._storing[name] = stored
        stored.add_done_callback(lambda done: self._storing.pop(name) if self._storing.get(name) is done else None)
        return stored

    def on_clock(self, subscription: Subscription, now: Instant) -> Subscription:
        """It begins and ends when it should, though the clocks of two nodes are far apart."""
        ahead = self._now() - now
        if abs(ahead) < SAME_CLOCK:
            return subscription
        start, expires = (
            None if each is None else Instant(each + ahead) for each in (subscription.start, subscription.expires)
        )
        return replace(subscription, start=start, expires=expires)

    def localised(self, subscription: Subscription) -> Subscription:
        """What feeds a pull point that has its home elsewhere is sent there."""
        point, asked = pulled_by(original(subscription)), original(subscription)
        if point is None or self._circle.is_mine(place_of_name(point)):
            return asked
        return sent_to(asked, f"{PULL_POINTS}{point}/{asked.id}", TOGETHER)

    def moved(self) -> list[Subscription]:
        """Those that feed pull points whose home is here by now, or no longer. A pull point that is to leave is handed
        over first."""
        found = ((each, self.localised(each)) for each in self._standing.by_id.values() if is_of_ring(each))
        moved = [(before, after) for before, after in found if before != after and before.consumer is not None]
        for before, after in moved:
            self._look_at(before, after)
        return [after for _, after in moved]

    def _look_at(self, before: Subscription | None, after: Subscription) -> None:
        if after.consumer is None and (before is None or before.consumer is not None):
            self._expect(after.id)

    def _latest(self, name: SubscriptionId) -> Subscription | None:
        return self._standing.changing.get(name) or self._standing.by_id.get(name)

    # Handing over

    def gathered(
        self, after: int, upto: int, behind: str, also: Sequence[Subscription], orphans: Sequence[str]
    ) -> Gathered:
        """Of those that stand here and `also`, a page of those that whoever has that arc must have."""
        latest: dict[str, Subscription] = {}
        for each in (*self._standing.all(), *also):
            known = latest.get(each.id)
            if is_of_ring(each) and (known is None or known.version < each.version):
                latest[each.id] = each
        names = sorted(name for name in latest if name > behind)
        found: list[Subscription] = []
        for name in names:
            if latest[name].state != "ended" and self.is_held(latest[name], after, upto):
                found.append(original(latest[name]))
                if len(found) == PAGE:
                    return Gathered(self._now(), tuple(found), True)
        return Gathered(self._now(), tuple(found), orphans=tuple(orphans))

    def strangers(self, after: int, upto: int) -> list[Subscription]:
        """Those that stand here though they ask for nothing that this node has any more."""
        return [
            each
            for each in self._standing.by_id.values()
            if is_of_ring(each) and each.id not in self._standing.changing and not self.is_held(each, after, upto)
        ]


def _asks_for_past(subscription: Subscription) -> bool:
    """And has just been made."""
    return subscription.start is not None and subscription.version <= 1


def _is_same(one: Subscription, other: Subscription) -> bool:
    """Asked for again, by who did not hear the answer."""
    return replace(one, since=other.since, version=other.version) == other
