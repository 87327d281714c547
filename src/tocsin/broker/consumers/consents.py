"""The consent of consumers: asks for it, holds what is for them until they give it, and remembers that they did."""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tocsin.broker.engines.settlement import REDRIVEN
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.courier import CannotDress
from tocsin.delivery.deliverer import Deliverer
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, Pairs, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.routing.consent import (
    Answered,
    CalledBack,
    Consent,
    ConsentMachine,
    Consumer,
    End,
    Ended,
    Given,
    Patience,
    Question,
)
from tocsin.runtime.family import Family
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter
from tocsin.wire.http_client import HttpClient

WHY = "no consent yet"
ORIGIN_HEADER = "WebHook-Request-Origin"
MOST_ASKED_AT_ONCE = 64
MINUTE = 60.0


class Waiting(Struct, frozen=True):
    """A consumer that was asked and did not consent yet."""

    subscription: SubscriptionId
    consumer: str
    state: str


class Asking(Struct, frozen=True):
    """How consumers are asked: under which name, where they may call back, for how many requests a minute."""

    origin: str
    callback: str
    rate: int
    patience: Patience


class Consents(Family[ConsentMachine]):
    """A subscription whose consumer refuses is cancelled."""

    title = "the consent of consumers"
    begins = (Consumer,)

    def __init__(
        self,
        store: Store,
        asking: Asking,
        http: HttpClient,
        deliverer: Deliverer,
        standing: StandingSubscriptions,
        now: Callable[[], Instant],
        report: Callable[[str], None],
    ) -> None:
        self._asking, self._http, self._deliverer, self._standing = asking, http, deliverer, standing
        self._at_once = asyncio.Semaphore(MOST_ASKED_AT_ONCE)
        self._addresses: dict[SubscriptionId, str] = {}  # of the consumers that are asked, as they are now
        self._runtime = Runtime(self, store.machines("consent", Codec(), Codec(consent=Consent)), now, report)
        self._tokens: dict[str, str] = self._all_tokens()

    def start(self) -> None:
        """Before anything is offered: who did not consent before the last end is asked again, by the same token."""
        for subscription in self._standing.by_id.values():
            self._look_at(subscription)
        for name in map(SubscriptionId, self._machines):
            if name not in self._addresses:
                self._runtime.post(name, Consumer("") if name in self._standing.by_id else Ended())
        self._runtime.start()

    async def close(self) -> None:
        """Who was asked is asked again after the next start."""
        await self._runtime.close()

    def changed(self, subscription: Subscription) -> None:
        """In the order of the log, before what follows is matched: nothing goes to who was not asked."""
        if subscription.state != "ended":
            self._look_at(subscription)
        elif subscription.id in self._addresses or subscription.id in self._machines:
            self._addresses.pop(subscription.id, None)
            self._deliverer.release(SubscriptionId(REDRIVEN + subscription.id), WHY)
            self._runtime.post(subscription.id, Ended())

    async def called_back(self, token: str, rate: str) -> SubscriptionId:
        """From outside, while we may still wait for the answer to our question: that is no longer needed."""
        name = self._tokens.get(token, "")
        if name not in self._machines or token not in self._machines[name].tokens:
            raise Refusal("unknown-consent", "nobody is asked for consent by this address; it may have ended")
        await self._runtime.take([Letter(name, CalledBack(token, rate))])
        return SubscriptionId(name)

    def headers_for(self, delivery: Delivery) -> Pairs:
        """With consent the name it was given to goes with every request (s4.1.2). It ends with its subscription."""
        if not delivery.to.consent:
            return ()
        machine = self._machines.get(delivery.match.subscription)
        if machine is None or delivery.to.address not in machine.consenting:
            raise CannotDress("the consumer has not consented to be sent to, or its subscription has ended")
        return ((ORIGIN_HEADER, self._asking.origin),)

    def waiting(self) -> Sequence[Waiting]:
        return [
            Waiting(SubscriptionId(name), each.asked.address, each.state)
            for name, each in self._machines.items()
            if each.asked is not None
        ]

    # What the machines need

    def make(self, name: str, rows: Mapping[str, Any]) -> ConsentMachine:
        return ConsentMachine(name, self._asking.origin, self._asking.patience, rows)

    async def ask(self, name: str, of: str, question: Question | End) -> Answered | Ended:
        if isinstance(question, Question):
            return await self._ask_consumer(name, of, question.token)
        await self._standing.cancel_if_there(SubscriptionId(name), "DeliveryFailure", question.reason)
        return Ended()

    def reported(self, what: Given) -> None:
        """Not if it goes to another by now."""
        name = SubscriptionId(what.subscription)
        if self._addresses.get(name) == what.consent.address:
            self._open(name, what.consent)

    @property
    def _machines(self) -> Mapping[str, ConsentMachine]:
        return self._runtime.machines

    async def _ask_consumer(self, name: str, address: str, token: str) -> Answered:
        if len(self._tokens) > 2 * len(self._machines):
            self._tokens = self._all_tokens()
        self._tokens[token] = name
        headers = (
            (ORIGIN_HEADER, self._asking.origin),
            ("WebHook-Request-Callback", f"{self._asking.callback}/{token}"),
            ("WebHook-Request-Rate", str(self._asking.rate)),
        )
        async with self._at_once:
            answer = await self._http.request("OPTIONS", address, headers)
        said = dict(answer.headers)
        origin, rate = said.get("webhook-allowed-origin", ""), said.get("webhook-allowed-rate", "")
        return Answered(token, answer.status, origin, rate, answer.error, answer.refused)

    def _all_tokens(self) -> dict[str, str]:
        return {token: name for name, each in self._machines.items() for token in each.tokens}

    def _look_at(self, subscription: Subscription) -> None:
        """Consent is for one address: what is for another is held at once."""
        name, address = subscription.id, _asked_address(subscription)
        if self._addresses.get(name, "") == address:
            return
        machine = self._machines.get(name)
        given = None if machine is None else machine.given
        if not address:
            del self._addresses[name]
            self._open(name, None)
        else:
            self._addresses[name] = address
            if given is not None and given.address == address:
                self._open(name, given)
            else:
                for lane in _lanes(name):
                    self._deliverer.hold(lane, WHY)
        self._runtime.post(name, Consumer(address, secrets.token_urlsafe(32)))

    def _open(self, name: SubscriptionId, given: Consent | None) -> None:
        """Who is not asked any more is not bound to the rate that another allowed."""
        for lane in _lanes(name):
            if given is not None and given.rate is not None:
                self._deliverer.pace(lane, MINUTE / given.rate)
            elif given is None or given.earlier:
                self._deliverer.pace(lane, 0.0)
            self._deliverer.release(lane, WHY)


def _asked_address(subscription: Subscription) -> str:
    """Empty where nobody is asked."""
    consumer = subscription.consumer
    return consumer.address if consumer is not None and consumer.consent else ""


def _lanes(name: SubscriptionId) -> tuple[SubscriptionId, SubscriptionId]:
    """Its own, and that of what is tried again."""
    return name, SubscriptionId(REDRIVEN + name)
