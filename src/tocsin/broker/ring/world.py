"""The world of implicit notification at all nodes of a ring: changed at any, in the order of the node that has its key.

A change is acknowledged when all members have it. Who comes to have the key first fetches what any member has: so what
was acknowledged is never lost, and no two nodes have different changes under one number.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Iterable, Mapping

from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import PAUSE, Circle, life_of, moved, number_of
from tocsin.broker.ring.messages import ChangeWorld, PutWorld, WorldAfter, WorldPage
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.services import Changes
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.roster import Member, Roster
from tocsin.semantics.interest.changes import Changing

KEY = identifier_of("world")
PAGE = 2000  # changes in one message
MOST_DONE = 50  # that are remembered, for who did not hear the answer
SECONDS = 30.0  # a large world takes a while


class RingWorld:
    def __init__(self, circle: Circle, asking: Asking, registry: LocalRegistry) -> None:
        self._circle, self._asking, self._registry = circle, asking, registry
        self._lock = asyncio.Lock()
        self._led = 0  # the number of the roster by which this node has all that any member had
        self._known: dict[str, int] = {}  # by the life of a member, the version that it has
        self._done: dict[str, int] = {}
        self._is_another = False  # the world of this node is not yet that of its ring

    def spread(self, changes: Changes, by: str) -> Awaitable[int] | None:
        """None where there is nobody else."""
        return None if self._circle.is_alone else self._spread(changes, by)

    async def _spread(self, changes: Changes, by: str) -> int:
        """What depends on the world as it is was worked out for one version, and is again when there is another."""
        nonce = uuid.uuid4().hex

        async def attempt(roster: Roster) -> int:
            while self._circle.number == number_of(roster):
                if done := self._done.get(nonce, 0):
                    return done
                world = self._registry.world()
                version, made = world.version, tuple(changes(world) if callable(changes) else changes)
                if not made or (
                    done := await self._asked(roster, ChangeWorld(number_of(roster), nonce, version, made, by))
                ):
                    return done if made else version
                await self._registry.newer(version, PAUSE)
            raise moved(self._circle.number)

        return await self._circle.agreed(attempt)

    async def _asked(self, roster: Roster, asked: ChangeWorld) -> int:
        first = roster.owner(KEY)
        if first.name == self._circle.me:
            return await self.order(asked)
        return await self._asking.ask(first, asked, int, SECONDS)

    async def order(self, asked: ChangeWorld) -> int:
        async with self._lock:
            roster = await self._circle.same(asked.number)
            await self._lead(roster)
            if asked.nonce not in self._done:
                if asked.version != self._registry.world().version:
                    return 0
                self._heard({asked.nonce: await self._registry.change_here(asked.changes, asked.by)})
            await asyncio.gather(*(self._bring(roster, each) for each in self._others(roster)))
            return self._done[asked.nonce]

    async def put(self, asked: PutWorld) -> int:
        """The version that this node has by then."""
        async with self._lock:
            await self._circle.same(asked.number)
            if self._is_another:
                raise Refusal("overloaded", "this node has not fetched the world yet; try again a little later")
            version = await self._registry.append(asked.changes)
            self._heard(asked.done)
            return version

    async def after(self, asked: WorldAfter) -> WorldPage:
        async with self._lock:
            await self._circle.same(asked.number)
            return WorldPage(tuple(await self._registry.history(asked.after, PAGE)), self._done)

    def _heard(self, done: Mapping[str, int]) -> None:
        self._done |= done
        for nonce in list(self._done)[:-MOST_DONE]:
            del self._done[nonce]

    def forget(self) -> None:
        """What this node has is not its ring's: it was in none, or in another."""
        self._is_another = True

    async def gather(self, number: int) -> None:
        """All that others have. Nobody waits for this node meanwhile, for it waits for them."""
        others = self._circle.others()
        if self._is_another and others:
            changes = await self._changes_of(number, others[0], 0)
            async with self._lock:
                await self._registry.replace(changes)
                self._is_another = False
        for each in others:
            await self._fetch(number, each)

    async def _lead(self, roster: Roster) -> None:
        if self._led != number_of(roster):
            for each in self._others(roster):
                await self._fetch(number_of(roster), each)
            self._known, self._led = {}, number_of(roster)

    async def _fetch(self, number: int, member: Member) -> None:
        if found := await self._changes_of(number, member, self._registry.world().version):
            await self._registry.append(found)

    async def _changes_of(self, number: int, member: Member, after: int) -> list[Changing]:
        found: list[Changing] = []
        while True:
            asked = WorldAfter(number, found[-1].version if found else after)
            page = await self._asking.ask(member, asked, WorldPage, SECONDS)
            found += page.changes
            self._heard(page.done)
            if len(page.changes) < PAGE:
                return found

    async def _bring(self, roster: Roster, member: Member) -> None:
        """Up to what this node has."""
        number, life = number_of(roster), life_of(member)
        have = self._known.get(life)
        if have is None:
            have = await self._asking.ask(member, PutWorld(number, (), {}), int, SECONDS)
        while have < self._registry.world().version:
            page = await self._registry.history(have, PAGE)
            have = await self._asking.ask(member, PutWorld(number, tuple(page), self._done), int, SECONDS)
        self._known[life] = have

    def _others(self, roster: Roster) -> Iterable[Member]:
        return [each for each in roster.members if each.name != self._circle.me]
