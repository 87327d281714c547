"""Makes a delivery of the head of a lane, sends it when its origin lets it, hears the answer, and goes on."""

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol

from tocsin.delivery.gathering import Gathering
from tocsin.delivery.grouping import DIVISIBLE, grouped, together
from tocsin.delivery.lane import Entry, Lane, Origin, Undeliverable
from tocsin.delivery.retry import delay, describe, final, judge, judge_of_node
from tocsin.delivery.settings import DeliverySettings
from tocsin.delivery.timers import Timers
from tocsin.model.delivery import Delivery, Outcome, Result
from tocsin.model.identity import Instant, Pairs
from tocsin.wire.addresses import origin as origin_of
from tocsin.wire.answer import Answer

Prepare = Callable[[Entry], Delivery]
Settled = Callable[[Entry, Delivery, Outcome], None]
Dress = Callable[[Delivery], Pairs]
Heard = Callable[[Delivery, Answer], None]
_SAID = {status: f"HTTP {status}" for status in range(200, 300)}


class Sender(Protocol):
    """`done` is called once for each post, later."""

    def post(self, url: str, headers: Pairs, body: bytes, done: Callable[[Answer], None]) -> None: ...


class CannotDress(Exception):
    """The secret that the consumer is to be shown is not there, or not for that address."""


class Courier:
    """`prepare` makes a delivery of an entry; `dress` gives the headers of one attempt, for consumers that are shown a
    secret or asked for consent: they are never part of the delivery, which is written down when it fails.

    `settled` hears of each outcome, `heard` of what a consumer says with its answer; `pause` is called with a lane that
    does not go on by itself.
    """

    def __init__(
        self,
        client: Sender,
        settings: DeliverySettings,
        timers: Timers,
        random: Random,
        *,
        prepare: Prepare,
        dress: Dress,
        settled: Settled,
        heard: Heard,
        pause: Callable[[Lane], None],
        now: Callable[[], Instant],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._post = client.post
        self._settings, self._timers, self._random = settings, timers, random
        self._prepare, self._dress, self._settled, self._pause, self._now = prepare, dress, settled, pause, now
        self._heard, self._closed = heard, False
        self.origins: dict[str, Origin] = {}
        self.counts: dict[Result, int] = {"delivered": 0, "retry": 0, "dead": 0, "dropped": 0}

    def start(self, lane: Lane) -> None:
        """The lane is idle, not held, and has a head."""
        delivery = lane.delivery
        if delivery is None:
            if lane.gathering is not None and self._gathers(lane, lane.gathering):
                return
            try:
                delivery = lane.delivery = self._prepare(lane.window[0]) if lane.together == 1 else self._group(lane)
            except Exception as error:
                self._unprepared(lane, error)
                return
            lane.attempt = 0
        if delivery.to.address != lane.address:
            self._join(lane, delivery.to.address)
        if lane.pace and self._too_early(lane):
            return
        origin = lane.origin
        assert origin is not None
        if origin.breaker.until is None and origin.in_flight < origin.most and not origin.line:
            self._send(lane, origin)
        else:
            lane.stage = "blocked"
            origin.line.append(lane)
            self._admit(origin)

    def tell(self, entry: Entry, delivery: Delivery, result: Result, attempt: int, detail: str) -> None:
        self.counts[result] += 1
        at, index, when = delivery.at, delivery.index, self._now()
        outcome = Outcome(delivery.match, at, index, when, result, attempt, detail, delivery.snapshot)
        try:
            self._settled(entry, delivery, outcome)
        except Exception as error:
            self._report(f"the outcome of {entry.subscription} at {entry.place} was not taken", error)

    def drop(self, entry: Entry, made: Delivery | None, attempt: int) -> None:
        """Its subscription ended."""
        try:
            delivery = made or self._prepare(entry)
        except Undeliverable as known:
            delivery = known.delivery
        except Exception as error:
            self.counts["dropped"] += 1
            self._report(f"the dropped entry of {entry.subscription} at {entry.place} could not be prepared", error)
            return
        self.tell(entry, delivery, "dropped", attempt, "the subscription ended")

    def leave(self, lane: Lane) -> None:
        """The lane needs its origin no more, once it is not in flight."""
        if lane.origin is not None:
            lane.origin.lanes -= 1
            self._prune(lane.origin)

    def close(self) -> None:
        self._closed = True

    def _group(self, lane: Lane) -> Delivery:
        parts = grouped(lane.window, 1 if lane.alone else lane.together, self._prepare)
        lane.alone = max(0, lane.alone - 1)
        lane.parts = parts if len(parts) > 1 else ()
        if lane.gathering is not None:
            lane.gathering.left(parts, len(lane.window) - len(parts))
        return together(parts) if len(parts) > 1 else parts[0]

    def _gathers(self, lane: Lane, gathering: Gathering) -> bool:
        """Whether it waits for more."""
        now = self._loop.time()
        if lane.behind or not gathering.waits(len(lane.window), now):
            return False
        lane.stage = "gathering"
        if gathering.is_to_be_woken(now):
            self._timers.at(gathering.alarm, partial(self.ripen, lane))
        return True

    def ripen(self, lane: Lane) -> None:
        """What it gathered goes, if it must by now."""
        if lane.stage == "gathering":
            lane.stage = "idle"
            self._pause(lane)

    def _unprepared(self, lane: Lane, error: Exception) -> None:
        """A dead letter where it is known of what; else it is counted and reported. It does not stop what follows."""
        entry = lane.advance()
        lane.alone = max(0, lane.alone - 1)
        if lane.gathering is not None:
            lane.gathering.manager.left(len(lane.window))
        if isinstance(error, Undeliverable):
            self.tell(entry, error.delivery, "dead", 0, error.reason)
        else:
            self.counts["dropped"] += 1
            self._report(f"the entry of {lane.subscription} at {entry.place} could not be prepared", error)
        self._loop.call_soon(self._pause, lane)

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
        if to.secret is None and not to.consent and not to.node:
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
            if answer.body and lane.delivery is not None:
                self._heard(lane.delivery, answer)
            self._settle(lane, "delivered", _SAID[answer.status])
        else:
            self._failed(lane, origin, answer)
        if origin.line:
            self._admit(origin)
        elif not origin.lanes:
            self._prune(origin)

    def _settle(self, lane: Lane, result: Result, detail: str) -> None:
        """The head, and all that went with it; then what follows."""
        delivery, parts, lane.delivery, lane.parts = lane.delivery, lane.parts, None, ()
        assert delivery is not None
        for part in parts or (delivery,):
            self.tell(lane.advance(), part, result, lane.attempt, detail)
        if lane.window and lane.stage == "idle" and not lane.held and not lane.behind:
            self.start(lane)
        else:
            self._pause(lane)

    def _failed(self, lane: Lane, origin: Origin, answer: Answer) -> None:
        now, detail = self._loop.time(), describe(answer)
        if final(answer):
            # A refusal is an answer: whoever gives it is alive.
            origin.breaker.succeeded()
        else:
            origin.breaker.failed(now)
        divided = bool(lane.parts) and answer.status in DIVISIBLE
        result = "retry" if divided else self._judge(lane, answer)
        if result == "retry" and lane.gone:
            result = "dropped"
        if result != "retry":
            self._settle(lane, result, detail)
            return
        for entry, part in zip(list(lane.window), lane.made(), strict=False):
            self.tell(entry, part, result, lane.attempt, detail)
        if divided:  # each is tried alone: one that cannot be taken must not take its neighbours along
            lane.alone, lane.parts, lane.delivery = len(lane.parts), (), None
            self._pause(lane)
        else:
            lane.stage = "backing off"
            wait = delay(answer, lane.attempt, self._settings, self._random)
            self._timers.at(now + wait, partial(self._back, lane))

    def _judge(self, lane: Lane, answer: Answer) -> Result:
        assert lane.delivery is not None
        return judge_of_node(answer) if lane.delivery.to.node else judge(answer, lane.attempt, self._settings)

    def hurry(self, lane: Lane) -> None:
        """Whoever it goes to is known to be back."""
        if lane.origin is not None:
            lane.origin.breaker.succeeded()
            self._back(lane)
            self._admit(lane.origin)

    def _back(self, lane: Lane) -> None:
        """Unless it went on before its time."""
        if lane.stage != "backing off":
            return
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

    def _report(self, message: str, error: Exception) -> None:
        self._loop.call_exception_handler({"message": message, "exception": error})
