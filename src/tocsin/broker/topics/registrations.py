"""The publishers that registered, and the shell of the machines that subscribe at those who publish on demand."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics import upstream as _upstream
from tocsin.mediation.operations import RegisterPublisher
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.paths import BROKER
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Registration
from tocsin.routing.demand import (
    Demand,
    Destroy,
    Effect,
    Failed,
    Forget,
    Keep,
    Look,
    Message,
    Send,
    Upstream,
    Wanted,
    may_want,
)
from tocsin.store.errors import StoreError
from tocsin.store.registrations import RegistrationTable
from tocsin.wire.addresses import AddressGuard, BadAddress
from tocsin.wire.http_client import HttpClient

LOOK_SECONDS = 0.25
MOST_REGISTRATIONS = 10_000
_decode = msgspec.msgpack.Decoder(Upstream).decode


@dataclass
class _Entry:
    registration: Registration
    demand: Demand | None = None
    wanting: set[SubscriptionId] = field(default_factory=set)
    saving: asyncio.Lock = field(default_factory=asyncio.Lock)
    unsaved: bool = False
    gone: bool = False


class Registrations:
    def __init__(
        self,
        table: RegistrationTable,
        guard: AddressGuard,
        base_url: str,
        now: Callable[[], Instant],
        client: HttpClient,
        standing: StandingSubscriptions,
    ) -> None:
        self._table, self._guard, self._now, self._client, self._subscriptions = table, guard, now, client, standing
        self._consumer = f"{base_url}{BROKER}"
        self._entries: dict[str, _Entry] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        for kept in table.all():
            upstream = Upstream() if kept.upstream is None else _decode(kept.upstream)
            self._entries[kept.registration.id] = self._entry(kept.registration, upstream)

    def start(self) -> None:
        on_demand = [entry for entry in self._entries.values() if entry.demand is not None]
        for subscription in self._subscriptions.by_id.values() if on_demand else ():
            for entry in on_demand:
                if may_want(subscription, entry.registration.topics):
                    entry.wanting.add(subscription.id)
        for entry in on_demand:
            self._step(entry, Wanted(bool(entry.wanting)))

    async def close(self) -> None:
        """What is under way at a publisher is left; it is taken up at the next start."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
        entry = self._entry(made, Upstream())
        await self._save(entry)
        self._entries[made.id] = entry
        if entry.demand is not None:
            standing = self._subscriptions.by_id.values()
            entry.wanting = {each.id for each in standing if may_want(each, made.topics)}
            self._step(entry, Wanted(bool(entry.wanting)))
        return made

    async def destroy(self, caller: Caller, registration: str) -> Registration:
        self.get(caller, registration)
        return await self._destroy(registration)

    async def _destroy(self, registration: str) -> Registration:
        """That it ended is on disk when this returns; the publisher is told after that, for as long as it takes."""
        entry = self._standing(registration)
        if entry.demand is None:
            await self._stored(self._table.remove, registration)
            self._entries.pop(registration, None)
        else:
            async with entry.saving:
                await self._write(entry, msgspec.structs.replace(entry.demand.upstream, ending=True))
                self._step(entry, Destroy())
        return entry.registration

    def get(self, caller: Caller, registration: str) -> Registration:
        found = self._standing(registration).registration
        if not _is_of(caller, found):
            raise caller.may_not(f"manage the registration {registration}, which is another's")
        return found

    def has(self, registration: str) -> bool:
        return registration in self._entries

    def all(self, caller: Caller) -> Sequence[Registration]:
        standing = (entry.registration for entry in self._entries.values() if not _is_ending(entry))
        return [each for each in standing if _is_of(caller, each)]

    def upstream_of(self, caller: Caller, registration: str) -> str | None:
        """How the broker's subscription at that publisher stands, in a word; None where it needs none."""
        self.get(caller, registration)
        demand = self._standing(registration).demand
        if demand is None:
            return None
        if demand.upstream.manager is None:
            return "failing" if demand.failures else "none"
        return "paused" if demand.upstream.paused else "active"

    def changed(self, change: Changed) -> None:
        """A subscription of ours began, ended, was paused or resumed."""
        subscription = change.subscription
        for entry in self._entries.values():
            demand = entry.demand
            if demand is None:  # it publishes whether it is wanted or not
                continue
            if may_want(subscription, entry.registration.topics):
                entry.wanting.add(subscription.id)
            else:
                entry.wanting.discard(subscription.id)
            if bool(entry.wanting) != demand.wanted:
                self._step(entry, Wanted(bool(entry.wanting)))

    async def look(self) -> None:
        """From time to time: what ended by its lease, what is due at a publisher, what could not be written before."""
        now = self._now()
        for entry in list(self._entries.values()):
            expires, demand = entry.registration.expires, entry.demand
            if expires is not None and expires <= now and not _is_ending(entry):
                await self._destroy(entry.registration.id)
            elif demand is not None and demand.wake is not None and demand.wake <= now:
                self._step(entry, Look())
            if entry.unsaved:
                await self._save(entry)

    def _entry(self, registration: Registration, upstream: Upstream) -> _Entry:
        return _Entry(registration, Demand(self._consumer, upstream) if registration.demand else None)

    def _standing(self, registration: str) -> _Entry:
        entry = self._entries.get(registration)
        if entry is None or _is_ending(entry):
            text = f"there is no registration {registration!r} here; it may have ended, register again"
            raise Refusal("unknown-subscription", text)
        return entry

    def _check(self, request: RegisterPublisher, now: Instant) -> None:
        if request.expires is not None and request.expires <= now:
            raise Refusal("bad-expiry", "the initial termination time is not in the future")
        if len(self._entries) >= MOST_REGISTRATIONS:
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

    def _step(self, entry: _Entry, message: Message) -> None:
        assert entry.demand is not None
        effects = entry.demand.step(message, self._now())
        if effects:
            task = asyncio.create_task(self._perform(entry, entry.demand, effects))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _perform(self, entry: _Entry, demand: Demand, effects: Sequence[Effect]) -> None:
        while effects:
            answered: Message | None = None
            for effect in effects:
                match effect:
                    case Keep():
                        await self._save_if_possible(entry)
                    case Forget():
                        await self._forget(entry)
                    case Send():
                        answered = await self._ask(entry, effect)
            effects = [] if answered is None else demand.step(answered, self._now())

    async def _ask(self, entry: _Entry, send: Send) -> Message:
        """Whatever goes wrong is an answer too: a machine that hears none waits for ever."""
        name = f"urn:uuid:{uuid.uuid4()}"
        try:
            url, headers, body = _upstream.said(send, entry.registration, self._consumer, name)
            answer = await self._client.request("POST", url, headers, body)
            return _upstream.heard(send.operation, answer, self._now())
        except Exception as error:
            self._report(error, f"a publisher could not be asked to {send.operation}")
            return Failed(send.operation, "unreachable")

    async def _forget(self, entry: _Entry) -> None:
        """A row that stays is an ending one: the next start finds it and ends it again."""
        self._entries.pop(entry.registration.id, None)
        async with entry.saving:
            entry.gone = True
            try:
                await self._stored(self._table.remove, entry.registration.id)
            except Refusal as problem:
                self._report(problem)

    async def _save_if_possible(self, entry: _Entry) -> None:
        entry.unsaved = True
        try:
            await self._save(entry)
        except Refusal as problem:
            self._report(problem)

    async def _save(self, entry: _Entry) -> None:
        """One at a time, each with the newest: an older state must not come last."""
        async with entry.saving:
            if not entry.gone:
                await self._write(entry, None if entry.demand is None else entry.demand.upstream)

    async def _write(self, entry: _Entry, upstream: Upstream | None) -> None:
        kept = None if upstream is None else msgspec.msgpack.encode(upstream)
        await self._stored(self._table.keep, entry.registration, kept)
        entry.unsaved = False

    async def _stored(self, write: Callable[..., None], *what: object) -> None:
        try:
            await asyncio.to_thread(write, *what)
        except StoreError as problem:
            raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None

    def _report(self, error: Exception, what: str = "a registration could not be written down") -> None:
        asyncio.get_running_loop().call_exception_handler({"message": what, "exception": error})


def _is_ending(entry: _Entry) -> bool:
    return entry.demand is not None and entry.demand.upstream.ending


def _is_of(caller: Caller, registration: Registration) -> bool:
    return caller.manages_everything() or registration.owner == caller.name
