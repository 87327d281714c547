"""The notifiers of this node: how they come, how their services are told, how they leave."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tocsin.broker.implicit.host import Host
from tocsin.broker.implicit.on_ring import OnRing
from tocsin.broker.implicit.registry import ON_RING, Registry
from tocsin.flow.addressing import door_of
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import outgoing
from tocsin.model.filters import ForNotifier
from tocsin.model.refusal import OUR_FAULT, Refusal, known_names
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.routing.implicit.messages import Join, Leave, Membership
from tocsin.routing.implicit.notifier import Notifier
from tocsin.runtime.runtime import Runtime
from tocsin.runtime.serial import Serial
from tocsin.semantics.interest.ino import Service
from tocsin.store.errors import StoreError
from tocsin.store.machines import Letter
from tocsin.wire.peer_messages import Registering

AGAIN_AFTER = 1.0
BETWEEN_ENDS = 10.0  # seconds: a consumer that refuses is not asked all the time


class LocalNotifiers:
    """`ring` is that which this node shares with others, None where there are none."""

    def __init__(
        self,
        host: Host,
        registry: Registry,
        runtime: Runtime[Any],
        report: Callable[[str], None],
        ring: Callable[[], OnRing | None] = lambda: None,
    ) -> None:
        self._host, self._registry, self._runtime, self._report = host, registry, runtime, report
        self._ring = ring
        self._works = Serial()
        self._strays: defaultdict[str, list[str]] = defaultdict(list)
        self._ended = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        # Subscriptions of notifiers that were half made when the node was killed: with another the service would be
        # told twice
        used = {each.subscription for each in self.all().values()}
        for each in self._host.subscriptions("", sys.maxsize, lambda one: one.id not in used):
            for name in (one.name for one in each.filters if isinstance(one, ForNotifier)):
                self._strays[name].append(each.id)
        self._ended.set()
        self._tasks += [asyncio.create_task(self._move()), asyncio.create_task(self._mind())]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def has(self, name: str) -> bool:
        return self._membership(name) is not None

    def get(self, name: str) -> Membership:
        self._check(name)
        found = self._membership(name)
        if found is None:
            raise Refusal("unknown-name", f"there is no notifier {name[:80]!r} at this node; {self._hint(name)}")
        return found

    def all(self) -> dict[str, Membership]:
        notifiers = ((name, each) for name, each in self._runtime.machines.items() if isinstance(each, Notifier))
        ring, found = self._ring(), {name: each.membership for name, each in notifiers}
        return {name: each for name, each in found.items() if each and (ring is None or ring.holds(name))}

    def _check(self, name: str) -> None:
        """What is another's by now is not looked for here."""
        if (ring := self._ring()) is not None:
            ring.check(name)

    def remembered(self, name: str) -> int:
        """Messages that the notifier has in its history."""
        machine = self._runtime.machines.get(name)
        return machine.remembered() if isinstance(machine, Notifier) else 0

    def _membership(self, name: str) -> Membership | None:
        machine = self._runtime.machines.get(name)
        return machine.membership if isinstance(machine, Notifier) else None

    async def _join(self, service: Service, subscription: str) -> None:
        await self._runtime.take([Letter(service.name, Join(Membership(service, subscription)))])

    def _hint(self, name: str) -> str:
        """Where it is, as far as this node knows the world; else those that are here."""
        entry = self._registry.entry(name)
        if entry is not None and entry.node not in ("", self._host.base_url):
            return f"it runs at {entry.node}: ask there"
        if entry is not None and entry.notifier and not entry.node:
            return f"the world has it at {entry.notifier}"
        return known_names(name, sorted(self.all()))

    async def create(self, service: Service, by: str, owner: str = "") -> None:
        service.check()
        self._check(service.name)
        await self._works.do(self._create(self._placed(service), form_of(service.dialect), by, owner))

    async def _create(self, service: Service, form: Form, by: str, owner: str) -> None:
        name, consumer = service.name, Endpoint(service.address) if service.address else None
        if self.has(name):
            raise Refusal("in-use", f"there is a notifier {name!r} at this node already; remove it first")
        await self._end_strays(name)
        made = await self._host.subscribe_service(name, consumer, form, owner or by or None)
        self._strays[name].append(made.id)  # until its notifier has it
        try:
            await self._registry.register(Registering(name, service.node, by, service))
            await self._join(service, made.id)
        except (Refusal, StoreError) as problem:
            await self._end_strays(name)
            raise _refusal(problem) from None
        del self._strays[name]

    async def _end_strays(self, name: str) -> None:
        """One that cannot be ended now is when the notifier is created next."""
        while strays := self._strays[name]:
            await self._unsubscribe(strays[-1])
            strays.pop()

    async def remove(self, name: str, by: str) -> None:
        await self._works.do(self._remove(name, by))

    async def _remove(self, name: str, by: str) -> None:
        """Out of the world first: whoever sends to it then hears that it is gone."""
        member = self.get(name)
        node = self._placed(member.service).node
        await self._registry.register(Registering(name, node, by, before=member.service.node))
        await self._runtime.take([Letter(name, Leave())])
        await self._unsubscribe(member.subscription)

    async def _unsubscribe(self, subscription: str) -> None:
        try:
            await self._host.unsubscribe(subscription)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else somebody ended it before
                raise

    def has_ended(self, subscription: Subscription) -> None:
        if any(isinstance(each, ForNotifier) for each in subscription.filters):
            self._ended.set()

    async def _mind(self) -> None:
        """A service whose subscription has ended, whoever ended it, is told again: its notifier still takes messages
        for it. Who wants it otherwise removes the notifier."""
        while True:
            await self._ended.wait()
            self._ended.clear()
            pause = 0.0
            for name in self._untold():
                pause = BETWEEN_ENDS
                try:
                    await self._works.do(self._mend(name))
                except (Refusal, StoreError) as problem:
                    self._report(f"the service of the notifier {name!r} is not told: {problem}; it is tried again")
                    self._ended.set()
            await asyncio.sleep(pause)

    def _untold(self) -> list[str]:
        return [name for name, each in self.all().items() if not self._stands(each.subscription)]

    async def _mend(self, name: str) -> None:
        member = self._membership(name)
        if member is None or self._stands(member.subscription):
            return  # it was removed meanwhile
        await self._end_strays(name)
        made = await self._subscribe_again(member)
        self._strays[name].append(made.id)
        await self._join(member.service, made.id)
        del self._strays[name]
        self._report(f"the subscription of the notifier {name!r} had ended; its service is told by {made.id} now")

    async def _subscribe_again(self, member: Membership) -> Subscription:
        service = member.service
        try:
            return await self._host.subscribe_again(service.name, member.subscription)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":
                raise
        consumer = Endpoint(service.address) if service.address else None
        return await self._host.subscribe_service(service.name, consumer, form_of(service.dialect))

    def _stands(self, subscription: str) -> bool:
        try:
            return self._host.subscription(subscription).state != "ended"
        except Refusal:
            return False

    async def _move(self) -> None:
        """A node that has another address than before tells the world so, as soon as that can be reached."""
        base = self._host.base_url
        for each in self.all().values():
            if (before := each.service.node) not in (base, ON_RING):
                moved = self._placed(each.service)
                await self._until_moved(Registering(moved.name, base, base, moved, before), moved)

    async def _until_moved(self, asked: Registering, moved: Service) -> None:
        """Not if another node has the name by now; what cannot be reached is tried again."""
        told, again = False, True
        while again:
            try:
                await self._registry.register(asked)
                await self._works.do(self._join_again(moved))
                return
            except Refusal as refusal:
                if not told:
                    self._report(f"the notifier of {asked.name!r} is not known at {asked.node} yet: {refusal.text}")
                told, again = True, refusal.reason in OUR_FAULT
            await asyncio.sleep(AGAIN_AFTER)

    async def _join_again(self, moved: Service) -> None:
        """With the subscription that it has by now, unless it was removed meanwhile."""
        if (member := self._membership(moved.name)) is not None:
            await self._join(moved, member.subscription)

    def _placed(self, service: Service) -> Service:
        base = self._host.base_url
        node = base if self._ring() is None else ON_RING
        return replace(service, notifier=f"{base}{door_of(service.name)}", node=node)


def _refusal(problem: Refusal | StoreError) -> Refusal:
    if isinstance(problem, Refusal):
        return problem
    return Refusal("cannot-store", f"it could not be stored, try again: {problem}")


def form_of(dialect: str) -> Form:
    """As the service wants to be told; CloudEvents where it does not say."""
    rules = outgoing(dialect or cloudevents.NAME)
    wrapped = rules.wrapped is not None or not rules.is_soap
    return Form(rules.name, "1.2" if rules.is_soap else None, rules.addressing, wrapped)
