"""Sends the head of a lane when its origin lets it, and reads the answer."""

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol

from tocsin.delivery.grouping import DIVISIBLE
from tocsin.delivery.lane import Lane, Origin
from tocsin.delivery.retry import delay, describe, final, judge
from tocsin.delivery.settings import DeliverySettings
from tocsin.delivery.timers import Timers
from tocsin.model.delivery import Delivery, Result
from tocsin.model.identity import Pairs
from tocsin.wire.addresses import origin as origin_of
from tocsin.wire.answer import Answer

Heard = Callable[[Lane, Result, str], None]
Dress = Callable[[Delivery], Pairs]
_SAID = {status: f"HTTP {status}" for status in range(200, 300)}


class Sender(Protocol):
    """`done` is called once for each post, later."""

    def post(self, url: str, headers: Pairs, body: bytes, done: Callable[[Answer], None]) -> None: ...


class CannotDress(Exception):
    """The secret that the consumer is to be shown is not there, or not for that address."""


class Courier:
    """`dress` gives the headers of one attempt, for consumers that are shown a secret or asked for consent.

    They are never part of the delivery, which is written down when it fails. `divided` hears of a message that was
    made of several, and refused for what may be the fault of one.
    """

    def __init__(
        self,
        client: Sender,
        settings: DeliverySettings,
        timers: Timers,
        random: Random,
        *,
        dress: Dress,
        heard: Heard,
        divided: Callable[[Lane, str], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._post = client.post
        self._settings, self._timers, self._random = settings, timers, random
        self._dress, self._heard, self._divided = dress, heard, divided
        self._closed = False
        self.origins: dict[str, Origin] = {}

    def start(self, lane: Lane) -> None:
        """The lane is idle and not held, and its head is made into a delivery."""
        assert lane.delivery is not None
        if lane.delivery.to.address != lane.address:
            self._join(lane, lane.delivery.to.address)
        if lane.pace and self._too_early(lane):
            return
        origin = lane.origin
        assert origin is not None
        if origin.free():
            self._send(lane, origin)
        else:
            lane.stage = "blocked"
            origin.line.append(lane)
            self._admit(origin)

    def leave(self, lane: Lane) -> None:
        """The lane needs its origin no more, once it is not in flight."""
        if lane.origin is not None:
            lane.origin.lanes -= 1
            self._prune(lane.origin)

    def close(self) -> None:
        self._closed = True

    def _join(self, lane: Lane, address: str) -> None:
        self.leave(lane)
        name = origin_of(address)
        lane.origin = self.origins.get(name) or self.origins.setdefault(name, Origin(name, self._settings))
        lane.origin.lanes += 1
        lane.address = address
        lane.answered = partial(self._answered, lane)

    def _prune(self, origin: Origin) -> None:
        if not origin.lanes and not origin.in_flight:
            self.origins.pop(origin.name, None)

    def _send(self, lane: Lane, origin: Origin) -> None:
        delivery = lane.delivery
        assert delivery is not None
        lane.stage = "in flight"
        lane.attempt += 1
        origin.in_flight += 1
        to = delivery.to
        if to.secret is None and not to.consent:
            self._post(lane.address, delivery.headers, delivery.body, lane.answered)
        else:
            self._post_dressed(lane, delivery)

    def _post_dressed(self, lane: Lane, delivery: Delivery) -> None:
        try:
            headers = self._dress(delivery)
        except CannotDress as problem:
            self._loop.call_soon(lane.answered, Answer(0, error=str(problem), refused=True))
        else:
            self._post(lane.address, headers, delivery.body, lane.answered)

    def _too_early(self, lane: Lane) -> bool:
        now = self._loop.time()
        if now < lane.not_before:
            lane.stage = "backing off"
            self._timers.at(lane.not_before, partial(self._back, lane))
            return True
        lane.not_before = now + lane.pace
        return False

    def _answered(self, lane: Lane, answer: Answer) -> None:
        origin = lane.origin
        if self._closed or origin is None:
            return
        origin.in_flight -= 1
        lane.stage = "idle"
        if 200 <= answer.status < 300:
            if origin.breaker.failures:
                origin.breaker.succeeded()
            self._heard(lane, "delivered", _SAID[answer.status])
        else:
            self._failed(lane, origin, answer)
        if origin.line:
            self._admit(origin)
        elif not origin.lanes:
            self._prune(origin)

    def _failed(self, lane: Lane, origin: Origin, answer: Answer) -> None:
        now = self._loop.time()
        if final(answer):
            # A refusal is an answer: whoever gives it is alive.
            origin.breaker.succeeded()
        else:
            origin.breaker.failed(now)
        if lane.parts and answer.status in DIVISIBLE:
            self._divided(lane, describe(answer))
            return
        result = judge(answer, lane.attempt, self._settings)
        if result == "retry" and lane.gone:
            result = "dropped"
        elif result == "retry":
            lane.stage = "backing off"
            wait = delay(answer, lane.attempt, self._settings, self._random)
            self._timers.at(now + wait, partial(self._back, lane))
        self._heard(lane, result, describe(answer))

    def _back(self, lane: Lane) -> None:
        lane.stage = "idle"
        if not lane.gone and not lane.held:
            self.start(lane)

    def _admit(self, origin: Origin) -> None:
        now = self._loop.time()
        line = origin.line
        while line:
            lane = line[0]
            if lane.gone or lane.held:
                lane.stage = "idle"
            elif origin.admits(now):
                self._send(lane, origin)
            else:
                break
            line.popleft()
        if line:
            self._wake_later(origin)

    def _wake_later(self, origin: Origin) -> None:
        """While a probe or anything else is in flight, its answer admits the next."""
        until = origin.breaker.until
        if until is not None and not origin.breaker.probing and not origin.alarmed:
            origin.alarmed = True
            self._timers.at(until, partial(self._wake, origin))

    def _wake(self, origin: Origin) -> None:
        origin.alarmed = False
        self._admit(origin)
