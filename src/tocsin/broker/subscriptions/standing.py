"""The subscriptions that stand, and the one way in which they change: by a record of the log."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from msgspec.structs import replace

from tocsin.broker.consumers.end_notices import EndNotices
from tocsin.broker.journal import Journal
from tocsin.mediation.operations import Ended, EndStatus
from tocsin.mediation.soap.templates import SUBSCRIPTIONS
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Instant, SubscriptionId, after
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import State, Subscription, neighbour_of


def granted(asked: Instant | None, now: Instant, default: float, longest: float) -> Instant:
    """What was asked for, up to the longest; the default when nothing was asked for."""
    if asked is None:
        return after(now, default)
    latest = after(now, longest)
    return min(asked, latest)


def standing(subscription: Subscription | None, name: str, now: Instant) -> Subscription:
    """The subscription if it can still be managed; refused if it is unknown, ended or expired."""
    if subscription is None or subscription.state == "ended":
        raise Refusal("unknown-subscription", f"there is no subscription {name!r} here; it may have ended")
    if subscription.expires is not None and subscription.expires <= now:
        ended = timestamp(subscription.expires)
        raise Refusal("unknown-subscription", f"subscription {name!r} expired at {ended}; subscribe again")
    return subscription


Seen = Callable[[Subscription], bool]
Spread = Callable[[Subscription], Awaitable[None] | None]


class StandingSubscriptions:
    """`by_id` is as of the last record on disk, `changing` has those whose next state is not there yet. In a ring
    `spread` has a change made wherever it belongs; None where that is here alone."""

    def __init__(
        self,
        journal: Journal,
        current: Sequence[Subscription],
        notices: EndNotices,
        base_url: str,
        now: Callable[[], Instant],
        spread: Spread = lambda _: None,
    ) -> None:
        self._journal, self._notices, self._base_url, self._now = journal, notices, base_url, now
        self._spread = spread
        self.by_id: dict[SubscriptionId, Subscription] = {each.id: each for each in current}
        self.changing: dict[SubscriptionId, Subscription] = {}
        self.dialects = {each.id: each.form.dialect for each in current}  # also of those that have ended
        self.neighbours = {each.id: each for each in current if neighbour_of(each) is not None}  # among `by_id`
        self._watches: list[dict[SubscriptionId, Subscription]] = []

    def get(self, name: str) -> Subscription:
        """As its last change leaves it, on disk or not: one that is ended must not be renewed."""
        id = SubscriptionId(name)
        return standing(self.changing.get(id) or self.by_id.get(id), name, self._now())

    def pull_point(self, name: str) -> Subscription:
        try:
            found = self.get(name)
        except Refusal as refusal:
            text = f"there is no pull point {name!r} here; it may have ended: create another"
            raise Refusal(refusal.reason, text) from None
        if found.consumer is not None:
            raise Refusal("unknown-subscription", f"{name!r} is no pull point: what it matches is sent")
        return found

    def all(self) -> list[Subscription]:
        return list((self.by_id | self.changing).values())

    def page(
        self, after: str, limit: int, seen: Seen | None = None, *, neighbours: bool = False
    ) -> Sequence[Subscription]:
        """In the order of their ids, those alone that are seen: pages are full as long as there are more. Those that
        stand for neighbours are nobody's, and seen by who asks for them."""
        by_id, hidden = self.by_id, () if neighbours else self.neighbours
        names = (name for name in by_id if name > after and name not in hidden)
        if seen is None:
            return [by_id[name] for name in heapq.nsmallest(limit, names)]
        return list(islice((each for name in sorted(names) if seen(each := by_id[name])), limit))

    def expired(self) -> list[Subscription]:
        now = self._now()
        over = [each for each in self.by_id.values() if each.expires is not None and each.expires <= now]
        return [each for each in over if each.id not in self.changing]

    async def change(self, subscription: Subscription) -> Subscription:
        if (spreading := self._spread(subscription)) is not None:
            await spreading
        else:
            await self._journal.stored(self.change_here(subscription))
        return subscription

    def change_here(self, subscription: Subscription) -> "asyncio.Future[int]":
        """At this node alone; done when it is on disk."""
        future = self._journal.change(Changed(self._journal.position(), self._now(), subscription))
        self.changing[subscription.id] = subscription
        for watch in self._watches:
            watch[subscription.id] = subscription
        future.add_done_callback(lambda _: self._settled(subscription))
        return future

    async def turn(self, name: str, state: State, reason: str = "") -> Subscription:
        return await self.change(replace(self.get(name), state=state, reason=reason))

    async def end(self, name: str, reason: str) -> Subscription:
        return await self.turn(name, "ended", reason)

    async def expire(self, subscription: Subscription) -> None:
        """An end at its time was agreed on, and is not told of."""
        await self.change(replace(subscription, state="ended", reason="expired"))

    async def cancel(self, name: str, status: EndStatus, reason: str) -> Subscription:
        """Ends it though its subscriber did not ask for that; it is told, if it named an address for that."""
        ended = await self.end(name, reason)
        address = f"{self._base_url}{SUBSCRIPTIONS}{ended.id}"
        self._notices.send(Ended(ended, address, status, reason, self._now()), self._base_url)
        return ended

    async def cancel_if_there(self, name: str, status: EndStatus, reason: str) -> None:
        try:
            await self.cancel(name, status, reason)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else it ended meanwhile
                raise

    @contextmanager
    def watched(self) -> Iterator[dict[SubscriptionId, Subscription]]:
        """What is changed in the meantime."""
        watch: dict[SubscriptionId, Subscription] = {}
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def changed(self, change: Changed) -> None:
        subscription = change.subscription
        if subscription.state == "ended":
            self.by_id.pop(subscription.id, None)
            self.neighbours.pop(subscription.id, None)
        else:
            self.by_id[subscription.id] = subscription
            if neighbour_of(subscription) is not None:
                self.neighbours[subscription.id] = subscription
            self.dialects[subscription.id] = subscription.form.dialect

    def _settled(self, subscription: Subscription) -> None:
        if self.changing.get(subscription.id) is subscription:
            del self.changing[subscription.id]
