"""This node in its ring: it takes what belongs to it, and asks the others for what does not (paper 004 s3)."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tocsin.broker.caller import Caller
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.reply.harvests import Harvests
from tocsin.broker.reply.replying import Replying
from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.adoption import Adoption
from tocsin.broker.ring.answering import Answering
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.balancing import Balancing
from tocsin.broker.ring.circle import PAUSE, Circle
from tocsin.broker.ring.commons import Commons, Table
from tocsin.broker.ring.copies import Copies, Settled
from tocsin.broker.ring.declaring import Declaring
from tocsin.broker.ring.demanding import Demanding
from tocsin.broker.ring.elsewhere import Elsewhere
from tocsin.broker.ring.forwarding import Forwarding
from tocsin.broker.ring.gathering import Gathering
from tocsin.broker.ring.handing_over import HandingOver
from tocsin.broker.ring.harvesting import Harvesting
from tocsin.broker.ring.membership import Membership
from tocsin.broker.ring.moving import LEAVING_SECONDS, Moving, known_place, place_of
from tocsin.broker.ring.notifying import Notifying
from tocsin.broker.ring.overview import Overview
from tocsin.broker.ring.placing import Placing, is_of_ring
from tocsin.broker.ring.port import RingPort
from tocsin.broker.ring.posting import Posting
from tocsin.broker.ring.publishers import Publishers
from tocsin.broker.ring.relaying import Relaying
from tocsin.broker.ring.replicas import Replicas
from tocsin.broker.ring.settling import SWEEP_SECONDS, Settling, was_shared
from tocsin.broker.ring.sharing import Sharing
from tocsin.broker.ring.tally import Tally
from tocsin.broker.ring.view_copies import ViewCopies
from tocsin.broker.settings import RingSettings
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.start_position import start_position
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.topics import TopicCounts
from tocsin.delivery.deliverer import Deliverer
from tocsin.mediation.operations import Start
from tocsin.model.declarations import Declaration
from tocsin.model.filters import Filter
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal, known_names
from tocsin.model.subscription import Subscription
from tocsin.routing.implicit.services import Changes
from tocsin.routing.ring import roster_messages as said
from tocsin.routing.ring.identifiers import place_of_name, within
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.roster_hearing import Settings as Pace
from tocsin.store.database import Store
from tocsin.store.errors import StoreError
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader
from tocsin.store.places import Places
from tocsin.wire.addresses import WireError

USERS_SECONDS = 0.5  # until a change of the users is seen
GIVING_UP_SECONDS = 10.0


class CannotLeave(WireError):
    """Nobody goes on for this node."""


class Means(Struct, frozen=True):
    """What a ring is made of besides its own parts."""

    settings: RingSettings
    base_url: str
    store: Store
    places: Places
    log: Log
    reader: LogReader
    standing: StandingSubscriptions
    declarations: Declarations
    publishing: Publishing
    harvests: Harvests
    replying: Replying
    deliverer: Deliverer
    mailboxes: Mailboxes
    pull_points: PullPoints
    current_messages: CurrentMessages
    topic_counts: TopicCounts
    registrations: Registrations
    commons: Mapping[str, Table]
    judge: Any
    settled: Callable[[], Settled]
    counts: Callable[[], tuple[int, int]]
    now: Callable[[], Instant]
    report: Callable[[str], None]
    journal: Any
    implicit: Implicit
    tally: Tally
    is_worker: bool


class Ring:
    def __init__(self, port: RingPort, means: Means) -> None:
        self._port, self._means = port, means
        store, standing, publishing = means.store, means.standing, means.publishing
        declarations, now, report = means.declarations, means.now, means.report
        self.circle = circle = Circle(port.name, lambda: self.membership.may_act())
        self.asking = asking = Asking(port.links)
        pace, steady = _pace(means.settings), _steady(now)
        self.membership = Membership(self._me, pace, store, asking, steady, report, self._reported)
        self.elsewhere, self.forwarding = Elsewhere(circle, asking), Forwarding(circle, asking)
        expect, known_now = means.mailboxes.expect, lambda: declarations.known
        leaves = means.settings.relay == "on-demand"
        self.demanding = demanding = Demanding(circle, asking, standing.by_id.values(), steady, leaves=leaves)
        settled, log = demanding.settled, means.places.log()
        since = lambda when: start_position(Start(when=min(when, now())), log, means.log.next_offset, now())  # noqa: E731
        self.placing = Placing(circle, asking, means.journal, standing, known_now, now, expect, settled, since)
        longest, idle = means.settings.max_latency, means.settings.idle
        gathering = None if longest is None else Gathering(longest, idle)
        self.relaying = Relaying(circle, asking, self.placing, publishing, demanding, gathering)
        self.harvesting = Harvesting(circle, asking, self.relaying, publishing, means.harvests, means.replying, now)
        self.copies = Copies(
            circle,
            asking,
            means.log,
            means.reader,
            means.settled,
            lambda: [each for each in standing.all() if is_of_ring(each)],
            now,
        )
        harvests = means.harvests
        self.view_copies = ViewCopies(circle, asking, self.copies, harvests.written_rows, harvests.changed_rows)
        view_replicas = Replicas(means.places.data / "view_replicas")
        self._replicas = Replicas(means.places.data / "replicas", view_replicas)
        self._view_replicas = view_replicas
        kept = means.implicit.kept
        self.sharing = (
            None
            if kept is None
            else Sharing(circle, asking, means.implicit, kept, store, now(), was_shared=was_shared(store))
        )
        known = declarations.known
        adoption = Adoption(
            circle,
            asking,
            self.placing,
            publishing,
            self._replicas,
            means.base_url,
            means.judge,
            known,
            view_replicas,
            harvests,
        )
        self.commons = Commons(circle, asking, store, means.commons)
        self.publishers = Publishers(circle, asking, self.commons)
        self._settling = Settling(
            store,
            circle,
            asking,
            self.placing,
            self.copies,
            self._replicas,
            adoption,
            standing,
            declarations,
            means.deliverer,
            HandingOver(circle, asking, means.journal, self.placing, standing, means.mailboxes),
            self.commons,
            means.registrations.settle,
            means.settings.replicas,
            report,
            self.sharing,
            publishing.forget,
        )
        self._declaring = Declaring(circle, asking, self.placing, declarations)
        self._moving = Moving(
            port.name, store, circle, asking, self.membership, self._settling, self._hand_over, report
        )
        every = means.settings.balance
        self._balancing = Balancing(circle, asking, means.tally, standing, self._moving, every, report)
        answering = Answering(
            circle,
            self.membership,
            self.placing,
            self.relaying,
            demanding,
            self.harvesting,
            self._replicas,
            self._settling,
            self._declaring,
            self.commons,
            view_replicas=view_replicas,
            declarations=declarations,
            publishing=publishing,
            points=means.pull_points,
            door=lambda request, left: self.forwarding.door(request, left),
            load=self._load,
            stored=lambda: tuple(store.past.declared(means.reader.end())),
            sharing=self.sharing,
            current=means.current_messages.at,
            seen=means.topic_counts.names,
            heard=means.registrations.heard,
            balancing=self._balancing,
        )
        port.answer = answering.answer
        self.posting = Posting(circle, asking)
        self.overview = Overview(circle, asking, lambda: self.membership.standing, self._load)
        self._tasks: list[asyncio.Task[None]] = []
        self._departed, self.left = asyncio.Event(), asyncio.Event()
        self._stays = True  # it comes back when it has departed, for that it did to move
        self._contacts: tuple[str, ...] = ()

    # The life of the service

    def hold(self) -> None:
        """Before anything is sent: until it is known that this node is still in its ring."""
        self._settling.hold()

    def start(self, join: str | None, *, enter: bool = True) -> None:
        """`join` is where another node of the ring is reached by its like; without one it is a ring of its own, until
        others join. Who was in a ring before goes on there, or enters it again."""
        self.membership.start()
        machine = self.membership.machine
        self._stays, self._contacts = enter, () if join is None else (join,)
        if machine.is_in and machine.roster is not None:
            self._settling.chosen(machine.roster)
        elif enter and machine.roster is not None and not machine.contacts:
            self._tasks.append(asyncio.create_task(self._enter_again(machine.roster)))
        elif enter and join is None:
            self.membership.post(said.Found())
        elif enter:
            self._tasks.append(asyncio.create_task(self._enter(choose=known_place(self._means.store) is None)))
        works = (
            self._settling.run(),
            self._settling.release(),
            self._sweep(),
            self._share_users(),
            self.view_copies.run(),
            self._balancing.run(),
            self.demanding.begin(),
        )
        self._tasks += [asyncio.create_task(each) for each in works]

    @property
    def is_in(self) -> bool:
        return self.membership.machine.is_in

    async def in_place(self) -> bool:
        """Whether it has its place among the others and all that belongs there; it may be so a moment later."""
        circle = self.circle
        return await circle.until(lambda: circle.is_ready and circle.may_act(), PAUSE)

    async def leave(self) -> None:
        """For good: the others have all that it had when this returns. Who was interrupted does it again."""
        self._stays = False
        try:
            async with asyncio.timeout(LEAVING_SECONDS):
                if self.is_in and not self.circle.is_alone:
                    await self._hand_over()
                    self.membership.post(said.Depart())
                    await self._departed.wait()
        except TimeoutError:
            raise CannotLeave(f"the others did not take over in {LEAVING_SECONDS:.0f} seconds") from None
        except Refusal as refusal:
            raise CannotLeave(f"the others did not take over: {refusal.text}") from None
        if not self.is_in and self.membership.machine.roster is not None:
            await self._settling.put_out()

    async def _hand_over(self, *, moving: bool = False) -> None:
        await self._settling.hand_over(moving=moving)
        if (views := self.view_copies.kept()) is not None:
            await views

    async def close(self) -> None:
        await self.circle.close()
        await self._moving.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.posting.close()
        await self._settling.close()
        await self.demanding.close()
        await self.copies.close()
        if self.sharing is not None:
            await self.sharing.close()
        await self.membership.close()
        await self._replicas.close()
        await self._view_replicas.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self._settling.sweep()
            self.demanding.collect()

    async def _share_users(self) -> None:
        while True:
            await asyncio.sleep(USERS_SECONDS)
            with contextlib.suppress(Refusal, StoreError):  # it is tried again
                await self.commons.share_users()

    def _me(self) -> Member:
        asked, port = self._means.settings, self._port
        place = place_of(port.name, self._means.store)
        return Member(port.name, place, port.address, asked.role == "broker", asked.site or "")

    @property
    def place(self) -> int:
        return self._moving.place

    def _reported(self, what: Any) -> None:
        match what:
            case said.Chosen(roster):
                many = len(roster.members)
                self._means.report(f"the ring has {many} {'node' if many == 1 else 'nodes'} (roster {roster.number})")
                if (me := roster.get(self.circle.me)) is not None:
                    self._moving.stand(me.id)
                self._settling.chosen(roster)
            case said.PutOut(roster):
                self._means.report("this node was put out of its ring, where it was not heard of; it enters again")
                self._given_up()
                self._tasks.append(asyncio.create_task(self._enter_again(roster, stop=True)))
            case said.Departed(roster):
                self._given_up()
                self._departed.set()
                if self._stays and roster is not None:
                    self._tasks.append(asyncio.create_task(self._enter_again(roster)))
            case said.Kept(name, heard_by):
                self._means.report(f"{name} is not heard of here, but by {heard_by}: is the line between bad?")
            case said.Forced(roster, out, by):
                self._means.report(
                    f"{by} put {', '.join(out)} out of the ring without a majority (roster {roster.number})"
                )
            case said.Refused():  # its place is another's, who came in the meantime
                self._tasks.append(asyncio.create_task(self._enter(choose=True)))

    def _given_up(self) -> None:
        """At once: others have what was this node's."""
        self.circle.put_out()
        self.demanding.forget()

    async def _enter(self, *, choose: bool) -> None:
        contacts = dict.fromkeys((*self._contacts, *self.membership.machine.contacts))
        if choose:
            self._moving.stand(await self._moving.choose(tuple(contacts)))
        for address in contacts:
            self.membership.post(said.Enter(address, self._moving.place))

    async def _enter_again(self, roster: Roster, *, stop: bool = False) -> None:
        """Where it was, or where it was to move to when it departed."""
        if stop:
            await self._moving.stop()
        for work in (self._settling.put_out, self._means.harvests.abandon):
            try:
                async with asyncio.timeout(GIVING_UP_SECONDS):
                    await work()
            except Exception as problem:  # it enters all the same: others have gone on with all of that
                self._means.report(f"not all that this node had is given up: {type(problem).__name__}: {problem}")
        self._contacts = tuple(each.address for each in roster.members if each.name != self.circle.me)
        await self._enter(choose=False)

    @property
    def address(self) -> str:
        return self._port.address

    # What the services of the node ask

    def name(self, filters: tuple[Filter, ...]) -> SubscriptionId:
        return self.placing.name(filters)

    def spread(self, subscription: Subscription) -> Awaitable[None] | None:
        """None for what is this node's own, and where there is nobody else."""
        if self.circle.is_alone or not is_of_ring(subscription):
            return None
        return self.placing.change(subscription)

    def relay(self, notifications: Sequence[Notification], principal: str | None) -> Awaitable[str | None] | None:
        """Done with the view of one that asks for replies."""
        if (parts := self.relaying.elsewhere(notifications)) is None:
            return None
        if notifications[0].reply is not None:
            return self.harvesting.ask(parts, principal)
        return self.relaying.spread(parts, principal)

    @property
    def views(self) -> Harvesting | None:
        """None where there is nobody else."""
        return None if self.harvesting.is_alone else self.harvesting

    def declare(self, what: Sequence[Declaration]) -> Awaitable[None] | None:
        return self._declaring.spread(what)

    def notifying(self) -> Notifying | None:
        """None where notifiers are this node's own."""
        found = None if self.sharing is None else self.sharing.notifying
        return found if found is not None and found.is_shared else None

    def change_world(self, changes: Changes, by: str) -> Awaitable[int] | None:
        return None if self.sharing is None else self.sharing.world.spread(changes, by)

    # What the doors ask

    def home_of(self, name: str) -> Member | None:
        """The node that has what is called so; None for this one."""
        if self.circle.is_alone or not self.circle.is_in:
            return None
        home = self.circle.roster.owner(place_of_name(name))
        return None if home.name == self.circle.me else home

    def another(self, name: str) -> Member | None:
        """The member of that name, if that is not this one."""
        return None if name == self.circle.me or not self.circle.is_in else self.circle.roster.get(name)

    @property
    def has_others(self) -> bool:
        return self.circle.is_in and not self.circle.is_alone

    def homes(self) -> Callable[[Subscription], bool]:
        """Which subscriptions are at home here; of many at once. What is this node's own always is."""
        member = self.circle.roster.get(self.circle.me)
        after, upto = self.circle.roster.range_of(member) if member is not None else (0, 0)
        first, last = f"{after:016x}", f"{upto:016x}"

        def is_home(subscription: Subscription) -> bool:
            name = subscription.id
            if name[16:17] != "-":
                return not is_of_ring(subscription) or within(place_of_name(name), after, upto)
            key = name[:16]
            return first < key <= last if first < last else key > first or key <= last

        return is_home

    def is_held(self, subscription: Subscription) -> bool:
        """Whether it belongs at this node, and is not merely left here until it is swept away."""
        if not self.has_others or not is_of_ring(subscription):
            return True
        member = self.circle.roster.get(self.circle.me)
        return member is not None and self.placing.is_held(subscription, *self.circle.roster.range_of(member))

    @property
    def has_doors(self) -> bool:
        return self._means.settings.role == "broker"

    # What an operator does

    def depart(self, caller: Caller) -> None:
        """This node, for good: it hands over what it has while it serves, and ends when others go on for it."""
        caller.must_manage_everything("take a node out of its ring")
        if not self.circle.is_in or self.circle.is_alone:
            raise Refusal("malformed", "this node is a ring of one: nobody could go on for it")
        if self._means.is_worker:
            raise Refusal("malformed", "this node is one of several workers: stop them, and start fewer of them")
        if self._stays:
            self._stays = False
            self._tasks.append(asyncio.create_task(self._leave_and_end()))

    async def _leave_and_end(self) -> None:
        self._means.report("this node hands over what it has, and leaves its ring")
        try:
            await self.leave()
        except CannotLeave as problem:
            self._means.report(f"this node stays in its ring: {problem}")
            self._stays = True
            await self._settling.stay()
            return
        self._means.report("this node has left its ring; started again it enters again")
        self.left.set()

    async def remove(self, caller: Caller, names: Sequence[str]) -> None:
        """Nodes that do not come back, when most of the ring is gone with them: nobody else is asked."""
        caller.must_manage_everything("put nodes out of the ring")
        known = [each.name for each in self.circle.roster.members if each.name != self.circle.me]
        if strangers := [each for each in names if each not in known]:
            raise Refusal(
                "unknown-name", f"there is no other node {strangers[0][:80]!r}; {known_names(strangers[0], known)}"
            )
        await self.membership.tell(said.Force(tuple(names), caller.name or "an operator"))

    def _load(self) -> asked.Loaded:
        accepted, delivered = self._means.counts()
        count = sum(is_of_ring(each) for each in self._means.standing.by_id.values())
        keepers = tuple(self.copies.keepers())
        url = self._means.base_url if self._means.settings.role == "broker" else ""
        relayed, left, weight = self.relaying.relayed, self.relaying.left, self._balancing.weight()
        return asked.Loaded(url, count, accepted, relayed, delivered, keepers, self.circle.is_ready, left, weight)


def _steady(now: Callable[[], Instant]) -> Callable[[], Instant]:
    """The same clock, but for what somebody sets it by while the node runs."""
    begun = now() - time.monotonic_ns()
    return lambda: Instant(begun + time.monotonic_ns())


def _pace(settings: RingSettings) -> Pace:
    return Pace(beat=settings.beat, silence=settings.silence, lease=settings.lease, replicas=settings.replicas)
