"""What nobody wants need not be relayed (paper 004 s5.B): what this node knows of that as an interface node, and what
it promised to others as a rendezvous.

A promise is kept within one roster. Whoever gets an arc has heard from all others that they go by the new roster before
it takes anything (`Settling`), and whoever goes by that has forgotten what it was promised by the one before; who was
put out had stopped acting. So nothing is handed over, and nobody waits for the leases of a node that is no more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import PATIENCE, PAUSE, Circle, Unreachable
from tocsin.broker.ring.messages import Begun, Demanded
from tocsin.model.filters import TOPICS
from tocsin.model.identity import SECOND, Instant
from tocsin.model.names import Topic
from tocsin.model.notification import EVERY_PLANE
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.routing.machine import Ask, Deliver, Effect, SetTimer, Unanswered, Woken
from tocsin.routing.ring.demand import Demand, DemandSettings
from tocsin.routing.ring.relay import RELAY, Relay, Verdict
from tocsin.routing.ring.relay_messages import (
    Answered,
    Arc,
    Flow,
    Question,
    Settled,
    Tell,
    Told,
    Unwanted,
    Wanting,
)
from tocsin.routing.ring.roster import Member
from tocsin.routing.ring.wants import Wants, flow_of_space, flow_of_topic, may_want, may_want_topic, spans_of

WHOLE = Arc(0, 0)
SECONDS = 2.0  # for an answer of an interface node that is told


class Demanding:
    """With `leaves` this node asks whether anybody wants what it relays, and leaves what nobody does. Whether it does
    or not, it answers those that ask. `now` is of a clock that is never set."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        standing: Iterable[Subscription],
        now: Callable[[], Instant],
        *,
        leaves: bool,
    ) -> None:
        self._circle, self._asking, self._now, self._leaves = circle, asking, now, leaves
        self._wants = Wants()
        for each in standing:
            self._wants.put(each)
        settings = DemandSettings()
        self._relay, self._epoch = Relay(circle.me, now(), 0, may_want_topic), 0
        self._demand = Demand(0, self._wanted, may_want, settings)
        self._kept = settings.lease * (1 + settings.margin)  # seconds in which all ends that was promised
        self._begun = asyncio.Event()
        self._unsettled: dict[str, asyncio.Future[None]] = {}  # by the subscription that was changed
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # As an interface node

    def verdict(self, plane: str, key: int, topic: Topic) -> Verdict:
        """Of a notification that is accepted now, for the owner of that key."""
        if not self._leaves or (flow := self._flow(plane, key, topic)) is None:
            return RELAY
        if self._epoch != self._circle.number:
            self._epoch = self._circle.number
            self._relay.moved(self._epoch)
        verdict, may_leave = self._relay.wanted(flow, self._now()), not self._circle.is_moving
        return verdict if verdict.relay or (may_leave and self._circle.may_act()) else RELAY

    def answered(self, answers: Iterable[Answered]) -> None:
        for each in answers:
            self._relay.step(each, self._now())

    def told(self, what: Tell | Unwanted) -> None:
        self._relay.step(what, self._now())

    def forget(self) -> None:
        """Somebody who may have promised something was started again, and knows nothing of that."""
        self._relay.moved(self._epoch)

    def _flow(self, plane: str, key: int, topic: Topic) -> Flow | None:
        if plane in (EVERY_PLANE, TOPICS):
            return flow_of_topic(topic)
        return flow_of_space(plane, self._circle.roster.owner(key).name)

    # As a rendezvous

    def asked(self, questions: Sequence[Question]) -> tuple[Answered, ...]:
        """Who goes by the same roster asks for nothing but what belongs here."""
        is_owner = self._circle.is_ready and self._circle.may_act()
        self._demand.moved(self._circle.number, WHOLE if is_owner else None)
        return tuple(self._demand.asked(each, self._now()) for each in questions)

    def changed(self, change: Changed) -> None:
        """Of each that is on disk."""
        subscription = change.subscription
        if subscription.state == "ended":
            before = self._wants.remove(subscription.id)
            if before is not None and len(self._demand):
                self._do(self._demand.ended(self._wanting(before), self._now(), spans_of(before.filters)))
            return
        self._wants.put(subscription)
        if len(self._demand):
            self._unsettled.setdefault(subscription.id, asyncio.get_running_loop().create_future())
            spans = spans_of(subscription.filters)
            self._do(self._demand.changed(subscription.id, self._wanting(subscription), self._now(), spans))

    async def settled(self, names: Iterable[str]) -> None:
        """Until no node leaves what those want that stand here: then they may be acknowledged."""
        circle = self._circle
        if circle.is_alone:
            return
        if not circle.is_ready and not await circle.until(lambda: circle.is_ready, PATIENCE / 2):
            raise Refusal("overloaded", "this node does not have all of its part of the ring yet; try again")
        await self._begun.wait()
        waiting = [found for each in names if (found := self._unsettled.get(each)) is not None]
        for future in waiting:
            await asyncio.shield(future)

    async def begin(self) -> None:
        """All others forget what this node promised before it was started; who does not answer, with the lease."""
        told = set[str]()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._kept):
                while not await self._have_forgotten(told):  # noqa: ASYNC110 - others must be asked again
                    await asyncio.sleep(PAUSE)
        self._begun.set()

    async def _have_forgotten(self, told: set[str]) -> bool:
        if not self._circle.is_in:
            return False
        left = [each for each in self._circle.others() if each.name not in told]
        answers = await asyncio.gather(*(self._said(each, Begun()) for each in left))
        told.update(each.name for each, is_done in zip(left, answers, strict=True) if is_done)
        return told.issuperset(each.name for each in self._circle.others())

    def collect(self) -> None:
        now = self._now()
        self._relay.collect(now)
        self._demand.collect(now)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _wanted(self, flow: Flow) -> list[Wanting]:
        return [self._wanting(each) for each in self._wants.find(flow)]

    def _wanting(self, subscription: Subscription) -> Wanting:
        expires = subscription.expires
        lasts = None if expires is None else max(0, expires - self._now())
        return Wanting(subscription.id, subscription.version, subscription.filters, lasts)

    # What the machine asks for

    def _step(self, message: Told | Unanswered | Woken) -> None:
        self._do(self._demand.step(message, self._now()))

    def _do(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Ask(of, question):
                    task = asyncio.create_task(self._tell(of, question))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                case Deliver(Settled(change)):
                    self._unsettled.pop(change).set_result(None)
                case SetTimer(when):
                    self._wake_at(when)

    def _wake_at(self, when: Instant | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        seconds = 0.0 if when is None else max(0.0, (when - self._now()) / SECOND)
        later = asyncio.get_running_loop().call_later
        self._timer = None if when is None else later(seconds, self._step, Woken())

    async def _tell(self, node: str, what: Tell | Unwanted) -> None:
        """Who is not in the roster any more had stopped acting before, and comes back knowing nothing."""
        member = self._circle.roster.get(node)
        is_told = member is None or await self._said(member, Demanded(what))
        if isinstance(what, Tell):
            self._step(Told(what.number) if is_told else Unanswered(what))

    async def _said(self, to: Member, request: Begun | Demanded) -> bool:
        try:
            await self._asking.tell(to, request, SECONDS)
        except (Unreachable, Refusal):
            return False
        return True
