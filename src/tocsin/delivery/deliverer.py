"""The delivery engine: one request in flight for each subscription, in order; nobody waits for another's consumer."""

import asyncio
from collections.abc import Callable
from itertools import zip_longest
from random import Random

from tocsin.delivery.backlog import Backlog, Refiller
from tocsin.delivery.courier import CannotDress, Courier, Dress, Heard, Prepare, Sender, Settled
from tocsin.delivery.gathering import Gathering
from tocsin.delivery.lane import Entry, Lane, Place
from tocsin.delivery.settings import DeliveryFigures, DeliverySettings
from tocsin.delivery.timers import Timers
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, Pairs, SubscriptionId

Together = Callable[[SubscriptionId], int]
MaxLatency = Callable[[SubscriptionId], float]
PAUSED = "paused"
_LOOK_AGAIN = 0.005  # seconds, while it drains


def _no_secrets(delivery: Delivery) -> Pairs:
    raise CannotDress(f"there are no secrets here to send to {delivery.to.address} with")


class Deliverer:
    """Made inside the running loop.

    `settled` hears of each entry once that it is delivered, dead or dropped, and before that of each retry. `backlog`
    gives what follows a place, in order: fewer than asked is no end, none at all is; whatever was offered before it was
    asked must be in it. `together` is how many a subscription takes in one message; none is waited for, unless it has a
    `max_latency`, in seconds.
    """

    def __init__(
        self,
        client: Sender,
        settings: DeliverySettings,
        *,
        prepare: Prepare,
        settled: Settled,
        backlog: Backlog,
        now: Callable[[], Instant],
        random: Random,
        together: Together = lambda _: 1,
        max_latency: MaxLatency = lambda _: 0.0,
        dress: Dress = _no_secrets,
        heard: Heard = lambda *_: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._settings, self._together, self._max_latency = settings, together, max_latency
        timers = self._timers = Timers(self._loop)
        self._courier = Courier(
            client,
            settings,
            timers,
            random,
            prepare=prepare,
            dress=dress,
            settled=settled,
            heard=heard,
            pause=self._next,
            now=now,
        )
        self._refiller = Refiller(backlog, settings, timers, self._next)
        self._lanes: dict[SubscriptionId, Lane] = {}
        self._work: set[Lane] = set()
        self._held: dict[SubscriptionId, set[str]] = {}
        self._paces: dict[SubscriptionId, float] = {}

    def offer(self, entry: Entry) -> None:
        lane = self._lanes.get(entry.subscription)
        if lane is None:
            offset, index = entry.place
            lane = self._open(entry.subscription, (offset, index - 1), behind=False)
        if lane.offer(entry) and (len(lane.window) == 1 or lane.gathering is not None):
            self._work.add(lane)
            if lane.gathering is not None:
                self._gather(lane, lane.gathering, entry)
            elif lane.stage == "idle" and not lane.held:
                self._courier.start(lane)

    def put_off(self, subscription: SubscriptionId, place: Place) -> None:
        """Nobody knows yet whether that is for it: it asks its backlog, and is offered nothing more until then."""
        offset, index = place
        lane = self._lanes.get(subscription) or self._open(subscription, (offset, index - 1), behind=False)
        lane.put_off(place)
        if lane.behind:
            self._work.add(lane)
            self._refiller.ask(lane)

    def seed(self, subscription: SubscriptionId, after: Place) -> None:
        """Before anything is offered to it: whatever follows that place is still to be delivered."""
        if subscription in self._lanes:
            raise ValueError(f"subscription {subscription} has a queue already")
        lane = self._open(subscription, after, behind=True)
        self._work.add(lane)
        self._refiller.ask(lane)

    def forget(self, subscription: SubscriptionId) -> None:
        """It ended: what waits is dropped; what is in flight may finish but is not tried again."""
        self._held.pop(subscription, None)
        self._paces.pop(subscription, None)
        lane = self._lanes.pop(subscription, None)
        if lane is None:
            return
        lane.gone = True
        flying = lane.flying()
        dropped, made = lane.drop(flying), () if flying else lane.made()
        self._courier.leave(lane)
        if not flying:
            self._work.discard(lane)
        for entry, delivery in zip_longest(dropped, made[: len(dropped)]):
            self._courier.drop(entry, delivery, 0 if delivery is None else lane.attempt)

    def hold(self, subscription: SubscriptionId, why: str = PAUSED) -> None:
        """Nothing more is sent to it until it is released from all it is held for."""
        self._held.setdefault(subscription, set()).add(why)
        if lane := self._lanes.get(subscription):
            lane.held = True

    def release(self, subscription: SubscriptionId, why: str = PAUSED) -> None:
        reasons = self._held.get(subscription, set())
        reasons.discard(why)
        if reasons:
            return
        self._held.pop(subscription, None)
        if lane := self._lanes.get(subscription):
            lane.held = False
            self._next(lane)

    def hurry(self, subscription: SubscriptionId) -> None:
        """Its consumer is known to be back: what waits is tried at once."""
        if lane := self._lanes.get(subscription):
            self._courier.hurry(lane)

    def restart(self, subscription: SubscriptionId, after: Place) -> None:
        """It goes on behind that place, held and paced as before; what waits is dropped as if it had ended."""
        held, pace = self._held.get(subscription), self._paces.get(subscription)
        self.forget(subscription)
        if held is not None:
            self._held[subscription] = held
        if pace is not None:
            self._paces[subscription] = pace
        self.seed(subscription, after)

    def reached(self, place: Place) -> dict[SubscriptionId, Place]:
        """Those that were offered something there or later, with the place up to which all is settled."""
        return {name: lane.settled for name, lane in self._lanes.items() if lane.reached() >= place}

    def pace(self, subscription: SubscriptionId, seconds: float) -> None:
        """From one request to the next at the least."""
        self._paces[subscription] = seconds
        if lane := self._lanes.get(subscription):
            lane.pace = seconds

    def reform(self, subscription: SubscriptionId, together: int, max_latency: float) -> None:
        """From now on it takes so many in one message, and lets them wait so long for one another."""
        lane, gathering = self._lanes.get(subscription), self._gathering(together, max_latency)
        if lane is None or (lane.together == together and _latency(lane.gathering) == _latency(gathering)):
            return
        lane.together, lane.gathering = together, gathering
        self._courier.ripen(lane)

    def unsettled(self) -> dict[SubscriptionId, Place]:
        """For each subscription with work, the place up to which everything is settled."""
        return {lane.subscription: lane.settled for lane in self._work if not lane.gone}

    def idle(self) -> bool:
        return all(lane.still() for lane in self._work)

    async def drain(self, seconds: float) -> bool:
        """Whether everything was settled within that time, but what is held or whose consumer does not answer."""
        until = self._loop.time() + seconds
        while not self.idle() and self._loop.time() < until:
            self._hasten()
            await asyncio.sleep(_LOOK_AGAIN)
        return self.idle()

    def _hasten(self) -> None:
        """Nothing more is waited for."""
        for lane in [each for each in self._work if each.stage == "gathering"]:
            if lane.gathering is not None:
                lane.gathering.manager.due = self._loop.time()
            self._courier.ripen(lane)

    async def close(self) -> None:
        """Answers that come later are not heard; what is unsettled stays so."""
        self._courier.close()
        self._timers.close()
        await self._refiller.close()

    def waiting(self) -> dict[SubscriptionId, int]:
        """How many wait in the window of each subscription with work."""
        return {lane.subscription: len(lane.window) for lane in self._work if not lane.gone}

    def figures(self) -> DeliveryFigures:
        counts = self._courier.counts
        in_flight = sum(origin.in_flight for origin in self._courier.origins.values())
        return DeliveryFigures(
            counts["delivered"],
            counts["retry"],
            counts["dead"],
            counts["dropped"],
            in_flight,
            sum(len(lane.window) - lane.flying() for lane in self._work),
            sum(lane.behind for lane in self._work),
            sum(origin.breaker.until is not None for origin in self._courier.origins.values()),
        )

    def _open(self, subscription: SubscriptionId, after: Place, *, behind: bool) -> Lane:
        size, most_bytes = self._settings.window, self._settings.window_bytes
        lane = self._lanes[subscription] = Lane(subscription, after, size, most_bytes, behind=behind)
        lane.held = subscription in self._held
        lane.pace = self._paces.get(subscription, 0.0)
        lane.together = self._together(subscription)
        if lane.together > 1:
            lane.gathering = self._gathering(lane.together, self._max_latency(subscription))
        return lane

    def _gathering(self, together: int, asked: float) -> Gathering | None:
        """The smaller of the node's maximum latency and the subscription's counts (paper 004 s5.A)."""
        allowed = min(asked, self._settings.longest_latency)
        return Gathering(allowed, min(together, self._settings.window)) if together > 1 and allowed > 0 else None

    def _gather(self, lane: Lane, gathering: Gathering, entry: Entry) -> None:
        must_go = gathering.arrived(entry, self._loop.time())
        if lane.stage == "idle" and not lane.held:
            self._courier.start(lane)
        elif must_go:
            self._courier.ripen(lane)

    def _next(self, lane: Lane) -> None:
        if lane.window and lane.stage == "idle" and not lane.held:
            self._courier.start(lane)
        elif not lane.window and not lane.behind:
            self._work.discard(lane)
        if lane.behind:
            self._refiller.ask(lane)


def _latency(gathering: Gathering | None) -> float:
    return 0.0 if gathering is None else gathering.manager.max_latency
