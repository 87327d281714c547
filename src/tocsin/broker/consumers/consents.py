"""The consent of consumers: asks for it, holds what is for them until they give it, and remembers that they did."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from tocsin.broker.engines.settlement import REDRIVEN
from tocsin.delivery.courier import CannotDress
from tocsin.delivery.deliverer import Deliverer
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Pairs, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.routing.consent import (
    Answered,
    Ask,
    Begin,
    CalledBack,
    ConsentMachine,
    Effect,
    Give,
    Message,
    Nothing,
    Patience,
    Refuse,
    Wait,
    Woken,
)
from tocsin.store import consents
from tocsin.store.consents import Consent
from tocsin.store.errors import StoreError
from tocsin.wire.http_client import HttpClient

WHY = "no consent yet"
ORIGIN_HEADER = "WebHook-Request-Origin"
MOST_ASKED_AT_ONCE = 64
AGAIN_AFTER = 1.0
MINUTE = 60.0
MOST_EARLIER = 16
End = Callable[[SubscriptionId, str], Awaitable[object]]


class Waiting(Struct, frozen=True):
    """A consumer that was asked and did not consent yet."""

    subscription: SubscriptionId
    consumer: str
    state: str


class _Case:
    def __init__(self, subscription: Subscription, machine: ConsentMachine, consent: Consent) -> None:
        assert subscription.consumer is not None
        self.name, self.address = subscription.id, subscription.consumer.address
        self.machine, self.consent = machine, consent
        self.task: asyncio.Task[None] | None = None


class Consents:
    """`callback` is the address below which tokens are answered; `rate` what is asked for, in requests a minute."""

    def __init__(
        self, store: consents.Consents, *, origin: str, callback: str, rate: int, patience: Patience, end: End
    ) -> None:
        self._store, self._origin, self._callback, self._rate = store, origin, callback, rate
        self._patience, self._end = patience, end
        self._given: dict[SubscriptionId, Consent] = {}
        self._cases: dict[SubscriptionId, _Case] = {}
        self._tokens: dict[str, SubscriptionId] = {}
        self._asking = asyncio.Semaphore(MOST_ASKED_AT_ONCE)
        self._http: HttpClient
        self._deliverer: Deliverer

    def start(self, http: HttpClient, deliverer: Deliverer, standing: Iterable[Subscription]) -> None:
        """Before anything is offered: who did not consent before the last end is asked again, by the same token."""
        self._http, self._deliverer = http, deliverer
        known = {each.subscription: each for each in self._store.all()}
        for subscription in standing:
            consent = known.get(subscription.id)
            if consent is not None and consent.given:
                self._remember(consent)
                consent = None
            self._look_at(subscription, consent)

    async def close(self) -> None:
        """Who was asked is asked again after the next start."""
        tasks = [case.task for case in self._cases.values() if case.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def changed(self, subscription: Subscription) -> None:
        """In the order of the log, before what follows is matched: nothing goes to who was not asked.

        Consent is for one address: another is asked anew, and nobody waits for an answer that is not needed.
        """
        if subscription.state == "ended":
            self._forget(subscription.id)
            return
        case = self._cases.get(subscription.id)
        if case is not None and (not _is_asked(subscription) or case.address != _address(subscription)):
            self._drop(case)
            case = None
        if case is None:
            self._look_at(subscription, None)

    async def called_back(self, token: str, rate: str) -> SubscriptionId:
        """From outside, while we may still wait for the answer to our question: that is no longer needed."""
        name = self._tokens.get(token)
        if name is None:
            raise Refusal("unknown-consent", "nobody is asked for consent by this address; it may have ended")
        if (case := self._cases.get(name)) is not None and case.consent.token == token:
            effect = case.machine.step(CalledBack(rate), _now())
            if isinstance(effect, Give):
                if case.task is not None:
                    case.task.cancel()
                await self._give(case, effect.rate)
        return name

    def headers_for(self, delivery: Delivery) -> Pairs:
        """With consent the name it was given to goes with every request (s4.1.2). It ends with its subscription."""
        if not delivery.to.consent:
            return ()
        if delivery.to.address not in self._consenting(delivery.match.subscription):
            raise CannotDress("the consumer has not consented to be sent to, or its subscription has ended")
        return ((ORIGIN_HEADER, self._origin),)

    def waiting(self) -> Sequence[Waiting]:
        return [Waiting(each.name, each.address, each.machine.state) for each in self._cases.values()]

    def _look_at(self, subscription: Subscription, before: Consent | None) -> None:
        """Who is not asked any more is not bound to the rate that another allowed."""
        if not _is_asked(subscription):
            if subscription.id in self._given:
                self._pace(subscription.id, 0.0)
            return
        given = self._given.get(subscription.id)
        if given is not None and given.address == _address(subscription):
            self._remember(given)
        else:
            self._begin(subscription, before)

    def _consenting(self, name: SubscriptionId) -> tuple[str, ...]:
        """The addresses that what is for one subscription may go to: what waits may be for one of before."""
        given, case = self._given.get(name), self._cases.get(name)
        known = () if given is None else (given.address, *given.earlier)
        return known if case is None else (*known, *case.consent.earlier)

    def _begin(self, subscription: Subscription, before: Consent | None) -> None:
        """By the token of before where it is the same address that did not answer yet."""
        name, address = subscription.id, _address(subscription)
        earlier = before.earlier if before is not None else self._consenting(name)
        if before is None or before.address != address:
            earlier = tuple(dict.fromkeys(earlier))[:MOST_EARLIER]
            consent = Consent(name, secrets.token_urlsafe(32), address=address, earlier=earlier)
        else:
            consent = before
        case = _Case(subscription, ConsentMachine(self._origin, self._patience), consent)
        self._cases[subscription.id] = case
        self._tokens[consent.token] = subscription.id
        for lane in _lanes(subscription.id):
            self._deliverer.hold(lane, WHY)
        case.task = asyncio.get_running_loop().create_task(self._run(case, known=consent is before))

    async def _run(self, case: _Case, *, known: bool) -> None:
        """The token is on disk before anybody is told of it: who comes back with it after a restart is known."""
        if not known:
            await self._kept(case.consent)
        effect, message = case.machine.step(Begin(), _now()), None
        while (message := await self._do(case, effect)) is not None:
            effect = case.machine.step(message, _now())

    async def _do(self, case: _Case, effect: Effect) -> Message | None:
        match effect:
            case Ask():
                return await self._ask(case)
            case Wait(until):
                await asyncio.sleep(until - _now())
                return Woken()
            case Give(rate):
                await self._give(case, rate)
            case Refuse(reason):
                await self._refuse(case, reason)
            case Nothing():
                pass
        return None

    async def _ask(self, case: _Case) -> Answered:
        headers = (
            (ORIGIN_HEADER, self._origin),
            ("WebHook-Request-Callback", f"{self._callback}/{case.consent.token}"),
            ("WebHook-Request-Rate", str(self._rate)),
        )
        async with self._asking:
            answer = await self._http.request("OPTIONS", case.address, headers)
        said = dict(answer.headers)
        origin, rate = said.get("webhook-allowed-origin", ""), said.get("webhook-allowed-rate", "")
        return Answered(answer.status, origin, rate, answer.error, answer.refused)

    async def _give(self, case: _Case, rate: int | None) -> None:
        """On disk first: what was sent with consent is not held after a restart."""
        given = msgspec.structs.replace(case.consent, given=True, rate=rate)
        await self._kept(given)
        if self._cases.get(case.name) is case:
            del self._cases[case.name]
            self._remember(given)
            for lane in _lanes(case.name):
                self._deliverer.release(lane, WHY)

    def _remember(self, consent: Consent) -> None:
        before = self._given.get(consent.subscription, consent)
        self._tokens.pop(before.token, None)
        self._given[consent.subscription] = consent
        self._tokens[consent.token] = consent.subscription
        if consent.rate is not None:
            self._pace(consent.subscription, MINUTE / consent.rate)
        elif consent.earlier:
            self._pace(consent.subscription, 0.0)

    def _pace(self, name: SubscriptionId, seconds: float) -> None:
        for lane in _lanes(name):
            self._deliverer.pace(lane, seconds)

    async def _refuse(self, case: _Case, reason: str) -> None:
        while self._cases.get(case.name) is case:
            try:
                await self._end(case.name, reason)
            except Refusal as refusal:
                if refusal.reason == "unknown-subscription":
                    return
                await asyncio.sleep(AGAIN_AFTER)

    def _drop(self, case: _Case) -> None:
        """Its row stays until another takes its place, and is harmless: it says that nothing was given."""
        del self._cases[case.name]
        self._tokens.pop(case.consent.token, None)
        _stop(case)
        for lane in _lanes(case.name):
            self._deliverer.release(lane, WHY)

    def _forget(self, name: SubscriptionId) -> None:
        case, given = self._cases.pop(name, None), self._given.pop(name, None)
        if case is None and given is None:
            return
        for consent in (given, None if case is None else case.consent):
            if consent is not None:
                self._tokens.pop(consent.token, None)
        self._deliverer.release(SubscriptionId(REDRIVEN + name), WHY)
        if case is not None:
            _stop(case)
        self._store_later(name)

    def _store_later(self, name: SubscriptionId) -> None:
        """A row that stays is harmless: its subscription stands no more."""
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(None, self._store.remove, name)
        done.add_done_callback(lambda each: each.cancelled() or each.exception())

    async def _kept(self, consent: Consent) -> None:
        while True:
            try:
                await asyncio.to_thread(self._store.put, consent)
            except StoreError as problem:
                text = f"the consent for {consent.subscription} could not be written"
                asyncio.get_running_loop().call_exception_handler({"message": text, "exception": problem})
                await asyncio.sleep(AGAIN_AFTER)
            else:
                return


def _stop(case: _Case) -> None:
    if case.task is not None and case.task is not asyncio.current_task():
        case.task.cancel()


def _address(subscription: Subscription) -> str:
    return "" if subscription.consumer is None else subscription.consumer.address


def _is_asked(subscription: Subscription) -> bool:
    return subscription.consumer is not None and subscription.consumer.consent


def _lanes(name: SubscriptionId) -> tuple[SubscriptionId, SubscriptionId]:
    """Its own, and that of what is tried again."""
    return name, SubscriptionId(REDRIVEN + name)


def _now() -> float:
    return asyncio.get_running_loop().time()
