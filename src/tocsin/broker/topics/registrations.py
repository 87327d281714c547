"""The publishers that registered; at those who publish on demand the broker subscribes itself."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tocsin.broker.caller import Caller
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics import upstream
from tocsin.mediation.operations import RegisterPublisher
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.names import Topic
from tocsin.model.paths import BROKER
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Registration
from tocsin.routing.demand import (
    REGISTRATION,
    UPSTREAM,
    Demand,
    Destroy,
    Message,
    Register,
    Request,
    Upstream,
    Wanted,
    may_want,
)
from tocsin.runtime.family import Family
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter
from tocsin.wire.addresses import AddressGuard, BadAddress
from tocsin.wire.http_client import HttpClient

MOST_REGISTRATIONS = 10_000


class _Wanting(Struct):
    """Who wants what a publisher on demand has."""

    topics: tuple[Topic, ...]
    subscriptions: set[SubscriptionId]


class Registrations(Family[Demand]):
    title = "the registered publishers"
    begins = (Register,)

    def __init__(
        self,
        store: Store,
        guard: AddressGuard,
        base_url: str,
        now: Callable[[], Instant],
        client: HttpClient,
        standing: StandingSubscriptions,
        report: Callable[[str], None],
    ) -> None:
        self._guard, self._now, self._client, self._subscriptions = guard, now, client, standing
        self._consumer = f"{base_url}{BROKER}"
        self._wanting: dict[str, _Wanting] = {}
        tables = store.machines("demand", Codec(), Codec(registration=Registration, upstream=Upstream))
        self._runtime = Runtime(self, tables, now, report)

    def start(self) -> None:
        for name, each in self._runtime.machines.items():
            if each.registration is not None and each.registration.demand:
                wanted = self._begin_wanting(each.registration)
                self._runtime.post(name, Wanted(wanted))
        self._runtime.start()

    async def close(self) -> None:
        """What is under way at a publisher is left; it is taken up at the next start."""
        await self._runtime.close()

    async def register(self, caller: Caller, request: RegisterPublisher) -> Registration:
        """On disk when it returns; the broker subscribes at a publisher on demand after that."""
        if not request.topics and not caller.may_publish_everything():
            raise caller.may_not("register for every topic; name topics in the registration")
        for topic in request.topics:
            caller.must_publish(topic)
        now = self._now()
        self._check(request, now)
        made = Registration(
            uuid.uuid4().hex,
            caller.name,
            request.publisher,
            tuple(dict.fromkeys(request.topics)),
            request.demand,
            request.form,
            now,
            request.expires,
        )
        try:
            await self._runtime.take([Letter(made.id, Register(made, self._begin_wanting(made)))])
        except Refusal:
            self._wanting.pop(made.id, None)
            raise
        return made

    async def destroy(self, caller: Caller, registration: str) -> Registration:
        """That it ended is on disk when this returns; the publisher is told after that, for as long as it takes."""
        found = self.get(caller, registration)
        await self._runtime.take([Letter(registration, Destroy())])
        return found

    def get(self, caller: Caller, registration: str) -> Registration:
        found = self._standing(registration)[0]
        if not _is_of(caller, found):
            raise caller.may_not(f"manage the registration {registration}, which is another's")
        return found

    def has(self, registration: str) -> bool:
        return registration in self._runtime.machines

    def all(self, caller: Caller) -> Sequence[Registration]:
        machines = self._runtime.machines.values()
        standing = (each.registration for each in machines if each.registration is not None and not each.ending)
        return sorted((each for each in standing if _is_of(caller, each)), key=lambda each: each.created)

    def upstream_of(self, caller: Caller, registration: str) -> str | None:
        """How the broker's subscription at that publisher stands, in a word; None where it needs none."""
        self.get(caller, registration)
        found, machine = self._standing(registration)
        if not found.demand:
            return None
        if machine.upstream.manager is None:
            return "failing" if machine.failures else "none"
        return "paused" if machine.upstream.paused else "active"

    def changed(self, change: Changed) -> None:
        """A subscription of ours began, ended, was paused or resumed."""
        subscription = change.subscription
        for name, each in self._wanting.items():
            before = bool(each.subscriptions)
            if may_want(subscription, each.topics):
                each.subscriptions.add(subscription.id)
            else:
                each.subscriptions.discard(subscription.id)
            if bool(each.subscriptions) != before:
                self._runtime.post(name, Wanted(not before))

    # What the machines need

    def make(self, name: str, rows: Mapping[str, Any]) -> Demand:
        wanting = self._wanting.get(name)
        wanted = None if wanting is None else bool(wanting.subscriptions)
        return Demand(self._consumer, rows.get(REGISTRATION), rows.get(UPSTREAM, Upstream()), wanted)

    async def ask(self, name: str, of: str, question: Request) -> Message:
        del name
        headers, body = upstream.request(question, self._consumer)
        answer = await self._client.request("POST", of, headers, body)
        return upstream.answer(question.operation, answer, self._now())

    def ended(self, name: str) -> None:
        self._wanting.pop(name, None)

    def _begin_wanting(self, registration: Registration) -> bool:
        if not registration.demand:
            return False
        standing = self._subscriptions.by_id.values()
        found = {each.id for each in standing if may_want(each, registration.topics)}
        self._wanting[registration.id] = _Wanting(registration.topics, found)
        return bool(found)

    def _standing(self, registration: str) -> tuple[Registration, Demand]:
        machine = self._runtime.machines.get(registration)
        if machine is None or machine.registration is None or machine.ending:
            text = f"there is no registration {registration!r} here; it may have ended, register again"
            raise Refusal("unknown-subscription", text)
        return machine.registration, machine

    def _check(self, request: RegisterPublisher, now: Instant) -> None:
        if request.expires is not None and request.expires <= now:
            raise Refusal("bad-expiry", "the initial termination time is not in the future")
        if len(self._runtime.machines) >= MOST_REGISTRATIONS:
            raise Refusal("overloaded", f"{MOST_REGISTRATIONS} publishers are registered, which is all that are taken")
        if request.demand:
            self._check_publisher(request.publisher)

    def _check_publisher(self, publisher: Endpoint | None) -> None:
        if publisher is None:
            raise Refusal("bad-registration", "Demand needs a PublisherReference: the broker subscribes there")
        try:
            self._guard.check(publisher.address)
        except BadAddress as problem:
            text = f"the publisher {publisher.address!r} cannot be subscribed at: {problem}"
            raise Refusal("bad-registration", text) from None


def _is_of(caller: Caller, registration: Registration) -> bool:
    return caller.manages_everything() or registration.owner == caller.name
