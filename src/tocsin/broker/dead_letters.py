"""Dead letters: what was given up can be looked at, and tried again."""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.deliverer import Deliverer
from tocsin.flow.addressing import pulled_by
from tocsin.flow.flow import Flow, normalise, unmade, with_meaning
from tocsin.matching.catalogue import Catalogue
from tocsin.model.delivery import Delivery, Outcome, Result
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.store.codec import decode
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.log.reader import LogReader

MOST_REDRIVEN = 1000  # in memory at a time; the rest waits in the store


class Refilling(NamedTuple):
    """One that is not sent, but put into a pull point, however its filter may fail."""

    letter: DeadLetter
    pull_point: str
    subscription: SubscriptionId
    notification: Notification


class Remaker:
    """Rules change, and so does what can be written; whatever still cannot be keeps its place and gets its reason."""

    def __init__(self, flow: Flow, store: Store, reader: LogReader) -> None:
        self._flow, self._store, self._reader = flow, store, reader

    def __call__(self, letter: DeadLetter) -> DeadLetter | Refilling:
        if letter.delivery.is_made():
            return letter
        said, subscription = self._notification(letter.delivery), self._subscription(letter.delivery)
        if said is None or subscription is None:
            return letter
        if (pull_point := pulled_by(subscription)) is not None:
            return self._refilling(letter, pull_point, said, subscription)
        return msgspec.structs.replace(letter, delivery=self._made(said, subscription))

    def _refilling(
        self, letter: DeadLetter, pull_point: str, said: Notification, subscription: Subscription
    ) -> DeadLetter | Refilling:
        known = self._known(said, subscription)
        try:
            told = said if known is None else with_meaning(said, subscription, known)
        except Exception as problem:
            return msgspec.structs.replace(letter, delivery=unmade(said, subscription, problem))
        return Refilling(letter, pull_point, subscription.id, told)

    def _made(self, said: Notification, subscription: Subscription) -> Delivery:
        try:
            return self._flow.deliver(said, subscription, self._known(said, subscription))
        except Exception as problem:
            return unmade(said, subscription, problem)

    def _known(self, said: Notification, subscription: Subscription) -> Catalogue | None:
        """As it was then, where the form of the message goes with it."""
        form = subscription.form
        return self._store.past.catalogue(said.at.offset) if form.graph or form.bindings else None

    def _notification(self, delivery: Delivery) -> Notification | None:
        offset = delivery.at.offset
        for _, payload in self._reader.kept_frames(offset, offset + 1):
            record = decode(payload)
            return normalise(record)[delivery.index] if isinstance(record, Accepted) else None
        return None

    def _subscription(self, delivery: Delivery) -> Subscription | None:
        """As its notification met it; one that subscribed from before it was there, as it was at first."""
        history = self._store.past.history(delivery.match.subscription)
        return history.state_at(delivery.at.offset) if history else None


class DeadLetters:
    def __init__(
        self,
        store: Store,
        settlement: Settlement,
        deliverer: Deliverer,
        mailboxes: Mailboxes,
        standing: StandingSubscriptions,
        remake: Remaker,
    ) -> None:
        self._store, self._settlement, self._deliverer = store, settlement, deliverer
        self._mailboxes, self._standing, self._remake = mailboxes, standing, remake
        self._more = False

    def page(self, caller: Caller, after: int, limit: int, subscription: str | None) -> Sequence[DeadLetter]:
        """Of one subscription to whoever manages it; of all only to who manages all. It reads the disk."""
        if not caller.manages_everything():
            if subscription is None:
                raise caller.may_not("read the dead letters of everybody; name a subscription")
            caller.must_manage(self._standing.get(subscription))
        return self._store.dead_letters(after=after, limit=limit, subscription=subscription)

    async def redrive(self, caller: Caller, ids: Sequence[int] | None) -> int:
        caller.must_manage_everything("try dead letters again")
        marked = await asyncio.to_thread(self._store.redrive, ids)
        await self.offer()
        return marked

    async def go_on(self) -> None:
        if self._more and 2 * len(self._settlement.redriving) <= MOST_REDRIVEN:
            await self.offer()

    async def offer(self) -> None:
        """Also at start: what was marked before a crash is still to be tried."""
        redriving = self._settlement.redriving
        async with self._settlement.saving:  # what is read must not be settled before it is offered
            known = len(redriving)
            letters = await asyncio.to_thread(self._store.redriven, MOST_REDRIVEN + known)
            fresh = [letter for letter in letters if letter.id not in redriving]
            remade: Sequence[DeadLetter | Refilling] = fresh
            if not all(letter.delivery.is_made() for letter in fresh):
                remade = await asyncio.to_thread(lambda: [self._remake(letter) for letter in fresh])
            room = MOST_REDRIVEN - known
            self._more = len(fresh) > room or len(letters) == MOST_REDRIVEN + known
            for each in remade[:room]:
                if isinstance(each, Refilling):
                    await self._refill(each)
                else:
                    self._deliverer.offer(self._settlement.again(each))

    async def _refill(self, refilling: Refilling) -> None:
        """On disk before the letter goes: killed between the two, it is put there twice."""
        entry, delivery = self._settlement.again(refilling.letter), refilling.letter.delivery
        result: Result = "delivered"
        detail = "put into its pull point"
        try:
            await self._mailboxes.refill(refilling.pull_point, refilling.subscription, refilling.notification)
        except Refusal as refusal:
            result, detail = "dead", f"it could not be put into its pull point: {refusal.text}"
        outcome = Outcome(delivery.match, delivery.at, delivery.index, Instant(time.time_ns()), result, 1, detail)
        self._settlement.settled(entry, delivery, outcome)
