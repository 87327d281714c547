"""What a change of the roster means for this node: which arc it has now, what it must fetch before it takes anything
for that, for whom it goes on, and what it need not have any more."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.ring.adoption import Adoption
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import PAUSE, Circle, Unreachable, life_of, name_of, number_of, place_of
from tocsin.broker.ring.commons import Commons
from tocsin.broker.ring.copies import Copies
from tocsin.broker.ring.handing_over import HandingOver
from tocsin.broker.ring.messages import Adopted, Gather, Gathered, Known
from tocsin.broker.ring.placing import Placing, is_of_ring
from tocsin.broker.ring.replicas import Replicas
from tocsin.broker.ring.sharing import Sharing
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.deliverer import Deliverer
from tocsin.model.declarations import Declaration
from tocsin.model.identity import SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import distance
from tocsin.routing.ring.roster import Member, Roster
from tocsin.store.database import Store

READY = "ring_ready"  # in the store: which arc this node has all of
SINCE = "ring_since"  # in the store: the place in the log behind all that it had when it was put out
UNCONFIRMED = "ring"  # why nothing is sent yet by a node that was started again
LEAVING = "leaving"  # why nothing more is sent by one that leaves
DRAIN_SECONDS, LAST_SECONDS = 10.0, 2.0  # for what is on its way when a node leaves
LOOK_AGAIN = 0.02
SWEEP_SECONDS = 5.0
STABLE_SECONDS = 30.0  # that a roster has stood before anything is thrown away that others may still ask for


class Ready(Struct, frozen=True, array_like=True):
    """By the roster of that number this node has all that is asked for of (after, upto]."""

    number: int
    after: int
    upto: int

    def has(self, after: int, upto: int) -> bool:
        if self.after == self.upto:
            return True
        inside = distance(self.after, after) <= distance(self.after, upto)
        return after != upto and inside and distance(self.after, upto) <= distance(self.after, self.upto)


def own_since(store: Store) -> int:
    """What is before that in the log is not this node's any more, whether others had it or not."""
    return int(store.meta(SINCE) or 0)


def was_shared(store: Store) -> bool:
    """Whether this node was one of several when it was last up."""
    kept = store.meta(READY)
    ready = msgspec.json.decode(kept, type=Ready) if kept else None
    return ready is not None and ready.after != ready.upto


class Settling:
    def __init__(
        self,
        store: Store,
        circle: Circle,
        asking: Asking,
        placing: Placing,
        copies: Copies,
        replicas: Replicas,
        adoption: Adoption,
        standing: StandingSubscriptions,
        declarations: Declarations,
        deliverer: Deliverer,
        handing_over: HandingOver,
        commons: Commons,
        registrations: Callable[[], Awaitable[None]],
        replicated: int,
        report: Callable[[str], None],
        sharing: Sharing | None,
        forget: Callable[[], None],
    ) -> None:
        self._sharing, self._forget = sharing, forget
        self._store, self._circle, self._asking, self._placing = store, circle, asking, placing
        self._copies, self._replicas, self._adoption = copies, replicas, adoption
        self._standing, self._declarations, self._deliverer = standing, declarations, deliverer
        self._handing_over, self._commons, self._registrations = handing_over, commons, registrations
        self._replicated, self._report = replicated, report
        self._rosters: asyncio.Queue[Roster] = asyncio.Queue()
        self._settling: asyncio.Task[None] | None = None
        self._since = 0.0
        self._held: list[SubscriptionId] = []
        self._kept_back: list[SubscriptionId] = []
        self._is_leaving = False

    def hold(self) -> None:
        """Nothing is sent by a node that may have been put out while it was down: another has gone on for it."""
        if self._ready() is None:
            return
        self._held = [each.id for each in self._standing.by_id.values() if is_of_ring(each)]
        for name in self._held:
            self._deliverer.hold(name, UNCONFIRMED)

    async def release(self) -> None:
        """When most of the ring was heard of: whoever was put out hears of that first."""
        while not await self._circle.until(self._circle.may_act, PAUSE):
            if self._circle.closing:
                return
        for name in self._held:
            self._deliverer.release(name, UNCONFIRMED)
        self._held = []

    def chosen(self, roster: Roster) -> None:
        self._rosters.put_nowait(roster)

    async def run(self) -> None:
        while not self._circle.closing:
            roster = await self._rosters.get()
            while not self._rosters.empty():
                roster = self._rosters.get_nowait()
            await self._stop()
            await self._take(roster)

    async def sweep(self) -> None:
        """What asks for nothing here any more goes when it has been told all, and when nobody can ask for it."""
        circle = self._circle
        if circle.is_alone or not circle.is_ready or asyncio.get_running_loop().time() - self._since < STABLE_SECONDS:
            return
        member = circle.roster.get(circle.me)
        if member is None:
            return
        if self._sharing is not None:
            await self._sharing.sweep()
        unsettled = self._deliverer.unsettled()
        for each in self._placing.strangers(*circle.roster.range_of(member)):
            if each.id not in unsettled:
                self._standing.change_here(replace(each, state="ended", reason="it stands at other nodes of the ring"))

    async def close(self) -> None:
        await self._stop()

    async def hand_over(self, *, moving: bool = False) -> None:
        """Until all that this node has is with others, who go on for it as soon as it is out. It is told on as long as
        it takes new things; then it is held, so that nothing is told twice."""
        circle = self._circle
        self._is_leaving = True
        self._keep_copies(circle.roster)
        await self._deliverer.drain(DRAIN_SECONDS)
        await self._copies.caught_up()
        circle.is_leaving, circle.is_moving = True, moving
        await self._deliverer.drain(LAST_SECONDS)
        self._kept_back = [each.id for each in self._standing.all() if is_of_ring(each)]
        for name in self._kept_back:
            self._deliverer.hold(name, LEAVING)
        await self._deliverer.drain(LAST_SECONDS)
        await self._level()

    async def stay(self) -> None:
        """What was handed over is not taken by anybody: this node goes on."""
        self._is_leaving = False
        self._keep_copies(self._circle.roster)
        await self._circle.stay()
        for name in self._kept_back:
            self._deliverer.release(name, LEAVING)
        self._kept_back = []

    async def _level(self) -> None:
        sharing = self._sharing
        while not (self._copies.is_level and (sharing is None or sharing.copies.is_level)):  # noqa: ASYNC110 - each delivery would have to tell
            await asyncio.sleep(LOOK_AGAIN)

    async def put_out(self) -> None:
        """Others go on for this node: what it had is theirs, and it takes nothing more by the roster it was in. What
        they never had was not acknowledged, and is not taken for known when it comes again."""
        self._circle.is_leaving, self._is_leaving = True, False
        if self._sharing is not None:
            self._sharing.copies.put_out()
        await self._stop()
        self._copies.put_out()
        self._forget()
        self._store.set_meta(SINCE, str(self._copies.end))
        self._store.set_meta(READY, "")
        ended = [
            self._standing.change_here(replace(each, state="ended", reason="this node was put out of its ring"))
            for each in self._standing.all()
            if is_of_ring(each)
        ]
        for future in ended:
            with contextlib.suppress(Exception):
                await future
        if self._sharing is not None:
            await self._sharing.put_out()

    async def _stop(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.gather(self._settling, return_exceptions=True)
            self._settling = None

    async def _take(self, roster: Roster) -> None:
        """An arc that became smaller is so on disk before anybody else is given what it had."""
        circle, me = self._circle, roster.get(self._circle.me)
        if me is None:
            return
        ready, arc, number = self._ready(), roster.range_of(me), number_of(roster)
        is_whole = ready is not None and number <= ready.number + 1 and ready.has(*arc)
        if is_whole or (len(roster.members) == 1 and ready is None):
            self._save(Ready(number, *arc))
        await circle.take(roster)
        self._since = asyncio.get_running_loop().time()
        self._keep_copies(roster, is_new=ready is None and len(roster.members) > 1)
        for each in self._placing.moved():
            self._standing.change_here(each)
        self._settling = asyncio.create_task(self._settle(roster, me, is_whole or len(roster.members) == 1))

    def _keep_copies(self, roster: Roster, *, is_new: bool = False) -> None:
        """Who leaves has a copy of all it has elsewhere, however few replicas there are else."""
        if (me := roster.get(self._circle.me)) is not None:
            successor = roster.behind(me)[:1] if self._is_leaving else ()
            keepers = roster.keepers(me, self._replicated) or successor
            self._copies.chosen(life_of(me), keepers)
            if self._sharing is not None:
                self._sharing.chosen(life_of(me), keepers, is_new=is_new)

    async def _settle(self, roster: Roster, me: Member, is_whole: bool) -> None:
        """Again until it is done, or the roster is another."""
        number, told = number_of(roster), ""
        if is_whole:
            await self._circle.ready(number)
        while True:
            try:
                orphans = set(self.orphans()) if is_whole else await self._gather(number, *roster.range_of(me))
                for origin in sorted(orphans):
                    if roster.owner(place_of(origin)).name == me.name:
                        await self._adopt(number, origin)
                if not is_whole:
                    self._save(Ready(number, *roster.range_of(me)))
                    await self._circle.ready(number)
                    is_whole = True
                    if self._sharing is not None:
                        await self._sharing.ready(number, *roster.range_of(me))
                await self._registrations()
                await self._handing_over.run()
                return
            except (Refusal, Unreachable) as problem:
                if told != (told := str(problem)):
                    self._report(f"this node does not have all of its part of the ring yet: {told}")
            await asyncio.sleep(PAUSE)

    async def _gather(self, number: int, after: int, upto: int) -> set[str]:
        """All that is asked for of an arc, and what is declared; and whose logs are kept for nobody."""
        orphans = set(self.orphans())
        for each in self._circle.others():
            behind, more = "", True
            while more:
                page = await self._asking.ask(each, Gather(number, after, upto, behind), Gathered)
                await self._placing.put_here(page.subscriptions, page.now)
                orphans |= set(page.orphans)
                more, behind = page.more, page.subscriptions[-1].id if page.subscriptions else ""
        for each in self._circle.others()[:1]:
            known = await self._asking.ask(each, Known(number), tuple[Declaration, ...])
            await self._declarations.append_here(known)
        if self._sharing is not None:
            await self._sharing.gather(number, after, upto)
        await self._commons.gather(number)
        return orphans

    def orphans(self) -> list[str]:
        """Lives of nodes that are over, whose log is kept here."""
        lives = {life_of(each) for each in self._circle.roster.members}
        return [each for each in self._replicas.origins() if each not in lives]

    async def _adopt(self, number: int, origin: str) -> None:
        count = await self._adoption.adopt(origin)
        if self._sharing is not None:
            await self._sharing.adopt(number, origin)
        self._report(f"this node goes on for {name_of(origin)}, which left {count:,} notifications to be told")
        for each in self._circle.others():
            await self._asking.tell(each, Adopted(number, origin))
        await self._replicas.forget(origin)
        if self._sharing is not None:
            await self._sharing.forget(origin)

    def _ready(self) -> Ready | None:
        kept = self._store.meta(READY)
        return msgspec.json.decode(kept, type=Ready) if kept else None

    def _save(self, ready: Ready) -> None:
        self._store.set_meta(READY, msgspec.json.encode(ready).decode())
