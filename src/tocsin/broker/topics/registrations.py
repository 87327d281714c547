"""The publishers that registered; at those who publish on demand the broker subscribes itself.

In a ring a registration is known at all nodes, and its home, which has the key of its first topic, does that.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics import upstream
from tocsin.broker.topics.known_registrations import KIND, KnownRegistrations, Wanting
from tocsin.mediation.operations import RegisterPublisher
from tocsin.model.identity import Instant
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
)
from tocsin.runtime.family import Family
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter
from tocsin.wire.addresses import AddressGuard, BadAddress
from tocsin.wire.http_client import HttpClient

MOST_REGISTRATIONS = 10_000


class Ring(Protocol):
    def name_at(self, topics: Sequence[Topic]) -> str: ...

    def is_at_home(self, name: str) -> bool: ...

    def nodes(self) -> set[str]: ...

    async def put_everywhere(self, kind: str, name: str, value: bytes | None) -> None: ...

    async def tell_wanted(self, name: str, wanted: Callable[[], bool]) -> None:
        """To its home, until that has heard it; as it is when it is said."""
        ...


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
        ring: Callable[[], Ring | None] = lambda: None,
    ) -> None:
        self._guard, self._now, self._client, self._subscriptions = guard, now, client, standing
        self._consumer = f"{base_url}{BROKER}"
        self._ring, self._known = ring, KnownRegistrations(store)
        self._wanting = Wanting(self._turned)
        self._telling: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        tables = store.machines("demand", Codec(), Codec(registration=Registration, upstream=Upstream))
        self._runtime = Runtime(self, tables, now, report)

    def start(self) -> None:
        for each in self._known.by_id.values():
            self._begin_wanting(each)
        for name, machine in self._runtime.machines.items():
            if machine.registration is not None and machine.registration.demand:
                wanted = self._begin_wanting(machine.registration)
                self._runtime.post(name, Wanted(wanted))
        self._runtime.start()

    async def close(self) -> None:
        """What is under way at a publisher is left; it is taken up at the next start."""
        tasks = (*self._tasks, *self._telling.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._runtime.close()

    async def register(self, caller: Caller, request: RegisterPublisher) -> Registration:
        """On disk when it returns; the broker subscribes at a publisher on demand after that."""
        if not request.topics and not caller.may_publish_everything():
            raise caller.may_not("register for every topic; name topics in the registration")
        for topic in request.topics:
            caller.must_publish(topic)
        now = self._now()
        self._check(request, now)
        ring = self._ring()
        made = Registration(
            uuid.uuid4().hex if ring is None else ring.name_at(request.topics),
            caller.name,
            request.publisher,
            tuple(dict.fromkeys(request.topics)),
            request.demand,
            request.form,
            now,
            request.expires,
        )
        if ring is None:
            await self._begin(made)
            return made
        value = msgspec.json.encode(made)
        try:
            await self.take(made.id, value)
            await ring.put_everywhere(KIND, made.id, value)
        except Refusal:
            await self.take(made.id, None)
            raise
        return made

    async def _begin(self, made: Registration) -> None:
        try:
            await self._runtime.take([Letter(made.id, Register(made, self._begin_wanting(made)))])
        except Refusal:
            self._wanting.end(made.id)
            raise

    async def destroy(self, caller: Caller, registration: str) -> Registration:
        """That it ended is on disk when this returns; the publisher is told after that, for as long as it takes."""
        found = self.get(caller, registration)
        ring = self._ring()
        if ring is not None:
            await self._known.remove(registration)
        await self._runtime.take([Letter(registration, Destroy())])
        if ring is not None:
            await ring.put_everywhere(KIND, registration, None)
        return found

    # In a ring

    def entries(self) -> dict[str, bytes]:
        return {name: msgspec.json.encode(each) for name, each in self._known.by_id.items()}

    async def take(self, name: str, value: bytes | None) -> None:
        """As it is at all nodes; begun where it is at home."""
        if value is None:
            await self._known.remove(name)
            if name in self._runtime.machines:
                await self._runtime.take([Letter(name, Destroy())])
            self._wanting.end(name)
            return
        made = msgspec.json.decode(value, type=Registration)
        await self._known.put(made)
        if self._is_home(name) and name not in self._runtime.machines:
            await self._begin(made)
        elif self._begin_wanting(made):
            self._turned(name, True)

    async def settle(self) -> None:
        """By another roster: what is at home here begins, what is no longer is left to its new home."""
        ring = self._ring()
        assert ring is not None
        self._wanting.only(ring.nodes())
        for name, each in list(self._known.by_id.items()):
            machine = self._runtime.machines.get(name)
            if self._is_home(name) and machine is None:
                await self._begin(each)
            elif self._is_home(name):
                self._runtime.post(name, Wanted(self._wanting.wanted(name)))
            elif machine is not None and not machine.ending:
                await self._runtime.take([Letter(name, Destroy())])
                self._begin_wanting(each)
            if each.demand and not self._is_home(name):
                self._turned(name, self._wanting.here(name))

    def heard(self, node: str, name: str, wanted: bool) -> None:
        """Another node says whether somebody there wants what is registered."""
        self._wanting.heard(node, name, wanted)
        if name in self._runtime.machines:
            self._runtime.post(name, Wanted(self._wanting.wanted(name)))

    def _is_home(self, name: str) -> bool:
        ring = self._ring()
        return ring is None or ring.is_at_home(name)

    def _turned(self, name: str, wanted: bool) -> None:
        del wanted
        if name in self._runtime.machines:
            self._runtime.post(name, Wanted(self._wanting.wanted(name)))
        ring, telling = self._ring(), self._telling.get(name)
        if ring is not None and not ring.is_at_home(name):
            if telling is not None:
                telling.cancel()
            self._telling[name] = asyncio.create_task(ring.tell_wanted(name, lambda: self._wanting.here(name)))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forget(self, ring: Ring, name: str) -> None:
        with contextlib.suppress(Refusal):
            await self._known.remove(name)
            self._wanting.end(name)
            await ring.put_everywhere(KIND, name, None)

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
        """How the broker's subscription at that publisher stands, in a word; None where it needs none. What has just
        begun elsewhere in a ring has none yet."""
        known = self._known.by_id.get(registration)
        if known is not None and not self._is_home(registration):
            return "none" if known.demand else None
        self.get(caller, registration)
        found, machine = self._standing(registration)
        if not found.demand:
            return None
        if machine.upstream.manager is None:
            return "failing" if machine.failures else "none"
        return "paused" if machine.upstream.paused else "active"

    def changed(self, change: Changed) -> None:
        """A subscription of ours began, ended, was paused or resumed."""
        self._wanting.changed(change.subscription)

    # What the machines need

    def make(self, name: str, rows: Mapping[str, Any]) -> Demand:
        wanted = self._wanting.wanted(name) if name in self._wanting else None
        return Demand(self._consumer, rows.get(REGISTRATION), rows.get(UPSTREAM, Upstream()), wanted)

    async def ask(self, name: str, of: str, question: Request) -> Message:
        del name
        headers, body = upstream.request(question, self._consumer)
        answer = await self._client.request("POST", of, headers, body)
        return upstream.answer(question.operation, answer, self._now())

    def ended(self, name: str) -> None:
        """It was destroyed, its time was over, or it was at home elsewhere; then it may have come back since."""
        ring, known = self._ring(), self._known.by_id.get(name)
        if ring is None or known is None:
            self._wanting.end(name)
        elif ring.is_at_home(name):
            over = known.expires is not None and known.expires <= self._now()
            self._later(self._forget(ring, name) if over else self._begin(known))

    def _begin_wanting(self, registration: Registration) -> bool:
        if not registration.demand:
            return False
        return self._wanting.begin(registration, self._subscriptions.by_id.values())

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
