"""This node in its ring: it takes what belongs to it, and asks the others for what does not (paper 004 s3)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from tocsin.broker.caller import Caller
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.adoption import Adoption
from tocsin.broker.ring.answering import Answering
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import PAUSE, Circle, Unreachable, number_of
from tocsin.broker.ring.copies import Copies, Settled
from tocsin.broker.ring.declaring import Declaring
from tocsin.broker.ring.gathering import Gathering
from tocsin.broker.ring.mail import Mail
from tocsin.broker.ring.membership import Membership
from tocsin.broker.ring.placing import Placing, is_of_ring
from tocsin.broker.ring.port import RingPort
from tocsin.broker.ring.relaying import Relaying
from tocsin.broker.ring.replicas import Replicas
from tocsin.broker.ring.settling import SWEEP_SECONDS, Settling
from tocsin.broker.settings import RingSettings
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.deliverer import Deliverer
from tocsin.flow.addressing import PULL_POINTS, RING
from tocsin.model.declarations import Declaration
from tocsin.model.filters import Filter
from tocsin.model.identity import Instant, Pairs, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal, known_names
from tocsin.model.subscription import Subscription
from tocsin.routing.ring import roster_messages as said
from tocsin.routing.ring.identifiers import SIZE, distance, identifier_of, place_of_name
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.roster_hearing import Settings as Pace
from tocsin.store.database import Store
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader
from tocsin.store.places import Places
from tocsin.wire.addresses import WireError
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import UNREADABLE

LEAVING_SECONDS = 120.0
LOOK_SECONDS = 5.0  # for an answer about how a node is


class CannotLeave(WireError):
    """Nobody goes on for this node."""


class Seat(Struct, frozen=True):
    """A member as it is seen from here: `share` is its part of the circle; None for what it did not say."""

    member: Member
    share: float
    load: asked.Loaded | None
    trouble: str = ""


class View(Struct, frozen=True):
    """`standing` is "member", "alone" of one that does not reach the most of its ring, "out" or "waiting"."""

    node: str
    standing: str
    number: int
    seats: tuple[Seat, ...]


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
    deliverer: Deliverer
    mailboxes: Mailboxes
    judge: Any
    settled: Callable[[], Settled]
    counts: Callable[[], tuple[int, int]]
    now: Callable[[], Instant]
    report: Callable[[str], None]
    journal: Any


class Ring:
    """`door` takes a client's request that came to another node: set by whoever opens the doors."""

    def __init__(self, port: RingPort, means: Means) -> None:
        self._port, self._means = port, means
        store, standing, publishing = means.store, means.standing, means.publishing
        declarations, now, report = means.declarations, means.now, means.report
        self.circle = circle = Circle(port.name, lambda: self.membership.may_act())
        self.asking = asking = Asking(port.links)
        self.membership = Membership(self._me, _pace(means.settings), store, asking, now, report, self._reported)
        self.placing = Placing(circle, asking, means.journal, standing, lambda: declarations.known, now)
        longest, idle = means.settings.max_latency, means.settings.idle
        gathering = None if longest is None else Gathering(longest, idle)
        self.relaying = Relaying(circle, asking, self.placing, publishing, gathering)
        self.copies = Copies(
            circle,
            asking,
            means.log,
            means.reader,
            means.settled,
            lambda: [each for each in standing.all() if is_of_ring(each)],
            now,
        )
        self._replicas = Replicas(means.places.data / "replicas")
        self._mail = Mail(circle, asking, means.mailboxes)
        known = declarations.known
        adoption = Adoption(
            circle, asking, self.placing, publishing, self._replicas, means.base_url, means.judge, known
        )
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
            self._mail,
            means.settings.replicas,
            report,
        )
        self._declaring = Declaring(circle, asking, self.placing, declarations)
        self.door: Callable[[asked.Forward], Awaitable[asked.Forwarded]] = _no_door
        answering = Answering(
            circle,
            self.membership,
            self.placing,
            self.relaying,
            self._replicas,
            self._settling,
            self._declaring,
            declarations=declarations,
            publishing=publishing,
            door=lambda request: self.door(request),
            load=self._load,
            stored=lambda: tuple(store.past.declared(means.reader.end())),
        )
        port.answer = answering.answer
        self._tasks: list[asyncio.Task[None]] = []
        self._posts: set[asyncio.Task[None]] = set()
        self._departed = asyncio.Event()

    # The life of the service

    def hold(self) -> None:
        """Before anything is sent: until it is known that this node is still in its ring."""
        self._settling.hold()

    def start(self, join: str | None, *, enter: bool = True) -> None:
        """`join` is where another node of the ring is reached by its like; without one it is a ring of its own, until
        others join. Who was in a ring before goes on there."""
        self.membership.start()
        machine = self.membership.machine
        if machine.is_in and machine.roster is not None:
            self._settling.chosen(machine.roster)
        elif enter:
            self.membership.post(said.Found() if join is None else said.Enter(join))
        works = (self._settling.run(), self._settling.release(), self._sweep())
        self._tasks = [asyncio.create_task(each) for each in works]

    @property
    def is_in(self) -> bool:
        return self.membership.machine.is_in

    async def in_place(self) -> bool:
        """Whether it has its place among the others and all that belongs there; it may be so a moment later."""
        circle = self.circle
        return await circle.until(lambda: circle.is_ready and circle.may_act(), PAUSE)

    async def leave(self) -> None:
        """For good: the others have all that it had when this returns. Who was interrupted does it again."""
        try:
            async with asyncio.timeout(LEAVING_SECONDS):
                if self.is_in and not self.circle.is_alone:
                    await self._settling.hand_over()
                    self.membership.post(said.Depart())
                    await self._departed.wait()
        except TimeoutError:
            raise CannotLeave(f"the others did not take over in {LEAVING_SECONDS:.0f} seconds") from None
        if not self.is_in and (roster := self.membership.machine.roster) is not None:
            await self._left_to(roster)

    async def _left_to(self, roster: Roster) -> None:
        try:
            await self._mail.leave(roster)
        except (Refusal, Unreachable) as problem:
            raise CannotLeave(f"what waits in pull points is not taken by the others: {problem}") from None
        await self._settling.put_out()

    async def close(self) -> None:
        await self.circle.close()
        for task in (*self._tasks, *self._posts):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._posts, return_exceptions=True)
        await self._settling.close()
        await self.copies.close()
        await self.membership.close()
        await self._replicas.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self._settling.sweep()

    def _me(self) -> Member:
        asked, port = self._means.settings, self._port
        return Member(port.name, identifier_of(port.name), port.address, asked.role == "broker", asked.site or "")

    def _reported(self, what: Any) -> None:
        match what:
            case said.Chosen(roster):
                self._means.report(f"the ring has {len(roster.members)} nodes (roster {roster.number})")
                self._settling.chosen(roster)
            case said.PutOut(roster):
                self._means.report("this node was put out of its ring, where it was not heard of; it enters again")
                self._tasks.append(asyncio.create_task(self._enter_again(roster)))
            case said.Departed():
                self._departed.set()
            case said.Kept(name, heard_by):
                self._means.report(f"{name} is not heard of here, but by {heard_by}: is the line between bad?")
            case said.Refused(why):
                self._means.report(f"this node is not let into the ring: {why}")

    async def _enter_again(self, roster: Roster) -> None:
        await self._settling.put_out()
        for each in roster.members:
            self.membership.post(said.Enter(each.address))

    @property
    def address(self) -> str:
        return self._port.address

    # What the services of the node ask

    def name(self, filters: tuple[Filter, ...], is_pulled: bool) -> SubscriptionId:
        return self.placing.name(filters, is_pulled)

    def spread(self, subscription: Subscription) -> Awaitable[None] | None:
        """None for what is this node's own, and where there is nobody else."""
        if self.circle.is_alone or not is_of_ring(subscription):
            return None
        return self.placing.change(subscription)

    def relay(self, notifications: Sequence[Notification], principal: str | None) -> Awaitable[None] | None:
        return self.relaying.relay(notifications, principal)

    def declare(self, what: Sequence[Declaration]) -> Awaitable[None] | None:
        return self._declaring.spread(what)

    def post(self, url: str, headers: Pairs, body: bytes, done: Callable[[Answer], None]) -> None:
        """What a pull point is to hold that has its home elsewhere."""
        del headers
        task = asyncio.create_task(self._post(url[len(RING) + len(PULL_POINTS) :], body, done))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _post(self, pull_point: str, frames: bytes, done: Callable[[Answer], None]) -> None:
        async def attempt(roster: Roster) -> None:
            home = roster.owner(place_of_name(pull_point))
            await self.asking.tell(home, asked.Post(number_of(roster), pull_point, frames))

        try:
            await self.circle.agreed(attempt)
            done(Answer(204))
        except Refusal as refusal:
            done(Answer(503 if refusal.reason == "overloaded" else 400, error=refusal.text))

    # What the doors ask

    def is_home(self, name: str) -> bool:
        """Whether what is called so is at home here; nothing is at a node that is in no ring."""
        return self.circle.is_in and self.circle.is_mine(place_of_name(name))

    def home_of(self, name: str) -> Member | None:
        """The node that has what is called so; None for this one."""
        if self.circle.is_alone or not self.circle.is_in:
            return None
        home = self.circle.roster.owner(place_of_name(name))
        return None if home.name == self.circle.me else home

    def another(self, name: str) -> Member | None:
        """The member of that name, if that is not this one."""
        return None if name == self.circle.me or not self.circle.is_in else self.circle.roster.get(name)

    def stands(self, name: str) -> bool:
        """Whether there is such a subscription here that belongs to the ring."""
        found = self._means.standing.by_id.get(SubscriptionId(name))
        return found is not None and is_of_ring(found)

    async def forward(self, to: Member, request: asked.Forward, seconds: float) -> asked.Forwarded:
        try:
            return await self.asking.ask(to, request, asked.Forwarded, seconds)
        except Unreachable as problem:
            raise Refusal("overloaded", f"{problem}; try again a little later") from None

    @property
    def has_doors(self) -> bool:
        return self._means.settings.role == "broker"

    async def with_doors(self) -> list[str]:
        """Where clients are served."""
        others = [each for each in self.circle.roster.members if each.doors]
        seats = await asyncio.gather(*(self._seat(self.circle.roster, each) for each in others))
        return [each.load.url for each in seats if each.load is not None]

    # What an operator does

    async def view(self, caller: Caller) -> View:
        caller.anybody()
        machine, now = self.membership.machine, self._means.now()
        roster = self.circle.roster
        seats = await asyncio.gather(*(self._seat(roster, each) for each in roster.members))
        return View(self.circle.me, machine.standing(now), roster.number, tuple(seats))

    async def remove(self, caller: Caller, names: Sequence[str]) -> None:
        """Nodes that do not come back, when most of the ring is gone with them: nobody else is asked."""
        caller.must_manage_everything("put nodes out of the ring")
        known = [each.name for each in self.circle.roster.members if each.name != self.circle.me]
        if strangers := [each for each in names if each not in known]:
            raise Refusal(
                "unknown-name", f"there is no other node {strangers[0][:80]!r}; {known_names(strangers[0], known)}"
            )
        await self.membership.tell(said.Force(tuple(names), caller.name or "an operator"))

    async def _seat(self, roster: Roster, member: Member) -> Seat:
        after, upto = roster.range_of(member)
        share = (distance(after, upto) or SIZE) / SIZE
        if member.name == self.circle.me:
            return Seat(member, share, self._load())
        try:
            return Seat(member, share, await self.asking.ask(member, asked.Load(), asked.Loaded, LOOK_SECONDS))
        except (Unreachable, Refusal, *UNREADABLE) as problem:
            return Seat(member, share, None, str(problem))

    def _load(self) -> asked.Loaded:
        accepted, delivered = self._means.counts()
        count = sum(is_of_ring(each) for each in self._means.standing.by_id.values())
        keepers = tuple(self.copies.keepers())
        url = self._means.base_url if self._means.settings.role == "broker" else ""
        relayed = self.relaying.relayed
        return asked.Loaded(url, count, accepted, relayed, delivered, keepers, self.circle.is_ready)


async def _no_door(request: asked.Forward) -> asked.Forwarded:
    del request
    raise Refusal("overloaded", "the doors of this node are not open yet; try again a little later")


def _pace(settings: RingSettings) -> Pace:
    return Pace(beat=settings.beat, silence=settings.silence, lease=settings.lease, replicas=settings.replicas)
