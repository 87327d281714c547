"""Going on for a node that is no more: what it had acknowledged and not delivered is taken from a copy of its log, and
told to just those it was for."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import NamedTuple

import msgspec

from tocsin.broker.journal import readable
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.reply.harvests import Harvests
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle
from tocsin.broker.ring.copies import Settled
from tocsin.broker.ring.messages import Copies, Copy, OfViews
from tocsin.broker.ring.placing import Placing, is_of_ring
from tocsin.broker.ring.replicas import Replicas, standing_in
from tocsin.broker.ring.view_copies import rows_in
from tocsin.flow.addressing import PULL_POINTS, addressed_to, pulled_by
from tocsin.flow.flow import Flow
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.judge import Judge
from tocsin.mediation.between_nodes import RING_DOOR, Arcs, frame_of, framed, ring_door
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.model.records import Accepted, Changed
from tocsin.model.subscription import Subscription
from tocsin.routing.ring.roster import Member
from tocsin.store.codec import decode

TOGETHER = 500  # notifications in one record
NOBODY = ("-",)  # for whom it is that asks for replies and has no receivers: there is a view all the same
_settled = msgspec.msgpack.Decoder(Settled).decode


class Left(NamedTuple):
    """A notification that these were still to be told of; at a door of its own if it is for a pull point. It is for the
    plane and the arcs that it came for: others of it may still be on their way here."""

    notification: Notification
    only: tuple[str, ...]
    principal: str | None
    door: str = RING_DOOR
    plane: str = EVERY_PLANE
    arcs: Arcs = ()

    @property
    def company(self) -> tuple[tuple[str, ...], str | None, str, str, Arcs]:
        """What those have in common that go into one record."""
        return self[1:]


class Adoption:
    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        placing: Placing,
        publishing: Publishing,
        replicas: Replicas,
        base_url: str,
        judge: Judge,
        known: Catalogue,
        view_replicas: Replicas,
        harvests: Harvests,
    ) -> None:
        self._view_replicas, self._harvests = view_replicas, harvests
        self._circle, self._asking, self._placing, self._publishing = circle, asking, placing, publishing
        self._replicas, self._base_url, self._judge, self._known = replicas, base_url, judge, known

    async def adopt(self, origin: str) -> int:
        """How many notifications were left; all of them are on disk here."""
        await self._adopt_views(origin)
        settled, payloads = await self._best(origin)
        subscriptions = [each for each in standing_in(iter(payloads)).values() if is_of_ring(each)]
        await self._placing.put_here(each for each in subscriptions if each.state != "ended")
        count, waiting = 0, list[Left]()
        async for each in self._left(payloads, settled):
            if waiting and (len(waiting) >= TOGETHER or each.company != waiting[0].company):
                await self._take(origin, waiting)
                waiting = []
            waiting.append(each)
            count += 1
        if waiting:
            await self._take(origin, waiting)
        return count

    async def _take(self, origin: str, waiting: list[Left]) -> None:
        first = waiting[0]
        door = ring_door(origin, first.plane, first.only, first.door, first.arcs, moved=origin)
        frames = framed(frame_of(each.notification) for each in waiting)
        await self._publishing.take(door, frames, waiting[0].principal)

    async def _adopt_views(self, origin: str) -> None:
        """Before what is told anew: those who reply to that find the view."""
        _, payloads = await self._best(origin, of_views=True)
        await self._harvests.inherit(rows_in(payloads, self._harvests.read_row))

    async def _best(self, origin: str, *, of_views: bool = False) -> tuple[Settled, list[bytes]]:
        """The copy that goes furthest: any has all that was acknowledged."""
        replicas = self._view_replicas if of_views else self._replicas
        best, furthest = None, replicas.next(origin)
        for each in self._circle.others():
            found = await self._copy(each, origin, -1, of_views)
            if found.last > furthest:
                best, furthest = each, found.last
        payloads: list[bytes] = []
        while True:
            page = await self._copy(best, origin, len(payloads), of_views)
            payloads += page.payloads
            if not page.more:
                return _settled(page.settled) if page.settled else Settled(), payloads

    async def _copy(self, of: Member | None, origin: str, first: int, of_views: bool) -> Copy:
        """A page of what is kept there, or here."""
        if of is None:
            replicas = self._view_replicas if of_views else self._replicas
            return await asyncio.to_thread(replicas.copy, origin, first)
        asked = Copies(self._circle.number, origin, first)
        return await self._asking.ask(of, OfViews(asked) if of_views else asked, Copy)

    async def _left(self, payloads: Iterable[bytes], settled: Settled) -> AsyncIterator[Left]:
        """As the node itself would have matched them, record by record. There may be many, and a node that does nothing
        else meanwhile is put out: so others have their turn between two records."""
        flow = Flow(self._base_url, self._known, self._judge)
        for payload in payloads:
            match record := decode(payload):
                case Changed(subscription=subscription):
                    flow.apply(subscription)
                case Accepted():
                    for left in _left_of(record, flow, settled):
                        yield left
                    await asyncio.sleep(0)


def _left_of(record: Accepted, flow: Flow, settled: Settled) -> Iterator[Left]:
    point, lagging = addressed_to(record), settled.lagging
    is_new = record.at.offset >= settled.matched_to

    def waits(lane: str, index: int) -> bool:
        return is_new or (lane in lagging and lagging[lane] < (record.at.offset, index))

    for each in readable(record):
        if point is not None:
            if waits(point, each.index):
                by = each.way.only if each.way is not None else ()
                yield Left(each, by or (point,), record.principal, f"{PULL_POINTS}{point}")
            continue
        matched = flow.match(each)
        wanted = (*matched.wanted, *(pair[0] for pair in matched.undecided))
        only = tuple(one.id for one in wanted if is_of_ring(one) and waits(_lane(one), each.index))
        if only or (is_new and each.reply is not None):
            yield _left(each, only or NOBODY, record.principal)


def _left(told: Notification, only: tuple[str, ...], principal: str | None) -> Left:
    """What asks for replies is all of it that the view waits for."""
    if told.way is None or told.reply is not None:
        return Left(told, only, principal)
    return Left(told, only, principal, plane=told.way.plane or EVERY_PLANE, arcs=told.way.arcs)


def _lane(subscription: Subscription) -> str:
    """What feeds a pull point is as far as that is."""
    return pulled_by(subscription) or subscription.id
