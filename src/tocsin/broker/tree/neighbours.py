"""The subscriptions that stand for neighbours, one for each: by them the log, matching and delivery pass things on."""

import uuid
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from tocsin.broker.journal import Journal
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import Place
from tocsin.mediation import between_nodes
from tocsin.model.identity import SubscriptionId
from tocsin.model.subscription import Endpoint, Form, Position, Subscription, neighbour_of
from tocsin.routing.tree.messages import End, Open, Stand
from tocsin.runtime.serial import Serial

TOGETHER = 500  # notifications in one request, if so many wait
NOT_JOINED = "not joined"  # why nothing is sent to a neighbour
Unsettled = Callable[[], Mapping[SubscriptionId, Place]]


class Neighbours:
    """`unsettled` says for those that something waits for which place of the log all is settled up to."""

    def __init__(
        self, journal: Journal, standing: StandingSubscriptions, deliverer: Deliverer, unsettled: Unsettled
    ) -> None:
        self._journal, self._standing, self._deliverer, self._unsettled = journal, standing, deliverer, unsettled
        self._serial = Serial()

    def of(self, neighbour: str) -> Subscription | None:
        known = self._standing.neighbours.values()
        return next((each for each in known if neighbour_of(each) == neighbour), None)

    async def do(self, asked: Stand | End | Open) -> None:
        """One after the other, each to its end."""
        match asked:
            case Stand():
                await self._serial.do(self._stand(asked))
            case End(neighbour):
                await self._serial.do(self._end(neighbour))
            case Open(neighbour, is_open):
                await self._serial.do(self._open(neighbour, is_open))

    async def _stand(self, asked: Stand) -> None:
        """Again is as once. What waits for one that is reached elsewhere now goes there: its subscription begins anew
        where the former one was."""
        consumer = Endpoint(between_nodes.address_of(asked.neighbour, asked.called), node=asked.neighbour)
        former = self.of(asked.former) if asked.former else None
        known, filters = self.of(asked.neighbour), asked.interest.filters()
        if known is not None and known.consumer != consumer:
            known, former = None, known
        if known is None:
            since = self._journal.position() if former is None else self._since(former)
            form, name = Form(between_nodes.NAME, together=TOGETHER), SubscriptionId(uuid.uuid4().hex)
            await self._standing.change(Subscription(name, None, consumer, None, form, filters, since, None))
        elif known.filters != filters or known.state != "active":
            await self._standing.change(replace(known, filters=filters, state="active", reason=""))
        if known is not None:  # who says what it asks for is there
            self._deliverer.hurry(known.id)
        if former is not None:
            await self._standing.end(former.id, f"{asked.neighbour} is told in its place")

    def _since(self, former: Subscription) -> Position:
        place = self._unsettled().get(former.id)
        position = self._journal.position()
        return position if place is None else Position(position.node, min(max(place[0], 0), position.offset))

    async def _end(self, neighbour: str) -> None:
        if (known := self.of(neighbour)) is not None:
            await self._standing.end(known.id, f"{neighbour} is no neighbour any more")

    async def _open(self, neighbour: str, is_open: bool) -> None:
        if (known := self.of(neighbour)) is not None:
            (self._deliverer.release if is_open else self._deliverer.hold)(known.id, NOT_JOINED)
            if is_open:
                self._deliverer.hurry(known.id)
