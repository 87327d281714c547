"""The notifiers of this node: how they come, how their services are told, how they leave."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from tocsin.app.implicit.one_by_one import OneByOne
from tocsin.app.implicit.registry import Registry
from tocsin.app.implicit.shell import Shell
from tocsin.app.implicit.turn import Join, Leave
from tocsin.flow.services import door_of
from tocsin.mediation import cloudevents
from tocsin.mediation.dialects import BY_NAME, NAMES
from tocsin.model.filters import ForNotifier
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.refusal import OUR_FAULT, Refusal
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.routing.implicit.messages import Copy
from tocsin.semantics.service import Service
from tocsin.store.implicit import Residing
from tocsin.wire.peer_messages import Registering
from tocsin.wire.port import Seen

AGAIN_AFTER = 1.0


class Host(Protocol):
    """The node, as far as implicit notification needs it."""

    base_url: str
    body_limit: int

    def now(self) -> Instant: ...

    async def tell_service(self, copy: Copy, topic: Topic, producer: str) -> None: ...

    async def subscribe_service(
        self, notifier: str, consumer: Endpoint | None, form: Form, owner: str | None = None
    ) -> Subscription: ...

    async def unsubscribe(self, subscription: str) -> Subscription: ...

    def subscriptions(self, after: str, limit: int, seen: Seen | None = None) -> Sequence[Subscription]: ...


class Residents:
    def __init__(self, host: Host, registry: Registry, shell: Shell, report: Callable[[str], None]) -> None:
        self._host, self._registry, self._shell, self._report = host, registry, shell, report
        self._works = OneByOne()
        self._strays: defaultdict[str, list[str]] = defaultdict(list)

    def start(self) -> None:
        self._note_strays()
        self._moving = asyncio.create_task(self._move())

    async def close(self) -> None:
        self._moving.cancel()
        await asyncio.gather(self._moving, return_exceptions=True)

    def get(self, name: str) -> Residing:
        found = self._shell.machines.residing.get(name)
        if found is None:
            known = ", ".join(sorted(self._shell.machines.residing)[:10]) or "none"
            raise Refusal("unknown-name", f"there is no notifier {name[:80]!r} at this node; there are: {known}")
        return found

    def _note_strays(self) -> None:
        """Subscriptions of notifiers that were half made when the node was killed: with another the service would be
        told twice."""
        used = {each.subscription for each in self._shell.machines.residing.values()}
        for each in self._host.subscriptions("", sys.maxsize, lambda one: one.id not in used):
            for name in (one.name for one in each.filters if isinstance(one, ForNotifier)):
                self._strays[name].append(each.id)

    async def create(self, service: Service, by: str) -> None:
        service.check()
        await self._works.do(self._create(self._placed(service), form_of(service.dialect), by))

    async def _create(self, service: Service, form: Form, by: str) -> None:
        name, consumer = service.name, Endpoint(service.address) if service.address else None
        if name in self._shell.machines.residing:
            raise Refusal("in-use", f"there is a notifier {name!r} at this node already; remove it first")
        for stray in self._strays.pop(name, ()):
            await self._unsubscribe(stray)
        made = await self._host.subscribe_service(name, consumer, form, by or None)
        try:
            await self._registry.register(Registering(name, self._host.base_url, by, service))
            await self._shell.take([Join(Residing(service, made.id))])
        except Refusal:
            await self._unsubscribe(made.id)
            raise

    async def remove(self, name: str, by: str) -> None:
        await self._works.do(self._remove(name, by))

    async def _remove(self, name: str, by: str) -> None:
        """Out of the world first: whoever sends to it then hears that it is gone."""
        residing = self.get(name)
        await self._registry.register(Registering(name, self._host.base_url, by, before=residing.service.node))
        await self._shell.take([Leave(name)])
        await self._unsubscribe(residing.subscription)

    async def _unsubscribe(self, subscription: str) -> None:
        try:
            await self._host.unsubscribe(subscription)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else somebody ended it before
                raise

    async def _move(self) -> None:
        """A node that has another address than before tells the world so, as soon as that can be reached."""
        base = self._host.base_url
        for each in list(self._shell.machines.residing.values()):
            if (before := each.service.node) != base:
                moved = Residing(self._placed(each.service), each.subscription)
                asked = Registering(each.service.name, base, base, moved.service, before)
                await self._until_moved(asked, moved)

    async def _until_moved(self, asked: Registering, residing: Residing) -> None:
        """Not if another node has the name by now; what cannot be reached is tried again."""
        told, again = False, True
        while again:
            try:
                await self._registry.register(asked)
                await self._shell.take([Join(residing)])
                return
            except Refusal as refusal:
                if not told:
                    self._report(f"the notifier of {asked.name!r} is not known at {asked.node} yet: {refusal.text}")
                told, again = True, refusal.reason in OUR_FAULT
            await asyncio.sleep(AGAIN_AFTER)

    def _placed(self, service: Service) -> Service:
        base = self._host.base_url
        return replace(service, notifier=f"{base}{door_of(service.name)}", node=base)


def form_of(dialect: str) -> Form:
    """As the service wants to be told; CloudEvents where it does not say."""
    rules = BY_NAME.get(dialect or cloudevents.NAME)
    if rules is None or rules.name not in NAMES:
        text = f"{dialect[:80]!r} is not a dialect to be told in; choose one of {', '.join(NAMES)}"
        raise Refusal("unsupported-delivery", text)
    wrapped = rules.wrapped is not None or not rules.is_soap
    return Form(rules.name, "1.2" if rules.is_soap else None, rules.addressing, wrapped)
