"""The registrations of a ring, known at every node: any of them may have to go on for the one that has it at home, and
each tells that one whether somebody wants its topics (paper 004 s3.D)."""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from tocsin.model.identity import SubscriptionId
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Registration, Subscription
from tocsin.routing.demand import may_want
from tocsin.store.database import Store
from tocsin.store.errors import DatabaseFailed

KIND = "registrations"  # as the nodes of a ring call them
_META = "ring_registrations"
_decode = msgspec.json.Decoder(dict[str, Registration]).decode


class KnownRegistrations:
    """On disk when `put` and `remove` return."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, asyncio.Lock()
        kept = store.meta(_META)
        self.by_id: dict[str, Registration] = _decode(kept) if kept else {}

    async def put(self, registration: Registration) -> None:
        await self._save(self.by_id | {registration.id: registration})
        self.by_id[registration.id] = registration

    async def remove(self, name: str) -> None:
        await self._save({each: kept for each, kept in self.by_id.items() if each != name})
        self.by_id.pop(name, None)

    async def _save(self, registrations: dict[str, Registration]) -> None:
        async with self._lock:
            try:
                await asyncio.to_thread(self._store.set_meta, _META, msgspec.json.encode(registrations).decode())
            except DatabaseFailed as problem:
                raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None


class Wanting:
    """Who wants what publishers on demand have: subscriptions of this node, and other nodes that have some.

    `turned` hears of a registration of which that is another than before, at this node or in all.
    """

    def __init__(self, turned: Callable[[str, bool], None]) -> None:
        self._turned = turned
        self._topics: dict[str, tuple[Topic, ...]] = {}
        self._here: dict[str, set[SubscriptionId]] = {}
        self._elsewhere: dict[str, set[str]] = {}

    def begin(self, registration: Registration, standing: Iterable[Subscription]) -> bool:
        found = {each.id for each in standing if may_want(each, registration.topics)}
        self._topics[registration.id], self._here[registration.id] = registration.topics, found
        return self.wanted(registration.id)

    def end(self, name: str) -> None:
        self._topics.pop(name, None)
        self._here.pop(name, None)
        self._elsewhere.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._topics

    def here(self, name: str) -> bool:
        return bool(self._here.get(name))

    def wanted(self, name: str) -> bool:
        return self.here(name) or bool(self._elsewhere.get(name))

    def changed(self, subscription: Subscription) -> None:
        for name, topics in self._topics.items():
            before, of = self.here(name), self._here[name]
            (of.add if may_want(subscription, topics) else of.discard)(subscription.id)
            if self.here(name) != before:
                self._turned(name, not before)

    def heard(self, node: str, name: str, wanted: bool) -> None:
        """Another node says so of its subscriptions."""
        of = self._elsewhere.setdefault(name, set())
        (of.add if wanted else of.discard)(node)

    def only(self, nodes: set[str]) -> None:
        """Those that are still there."""
        for of in self._elsewhere.values():
            of &= nodes
