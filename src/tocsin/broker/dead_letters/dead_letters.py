"""Dead letters: what was given up can be looked at, and tried again."""

import asyncio
import time
from collections.abc import Sequence

from tocsin.broker.caller import Caller
from tocsin.broker.dead_letters.redrive import Refilling, Remaker
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.deliverer import Deliverer
from tocsin.model.delivery import Outcome, Result
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter

MOST_REDRIVEN = 1000  # in memory at a time; the rest waits in the store


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
