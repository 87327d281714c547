"""What other nodes of the ring ask of this one, and what is done about it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.asking import decode_request, encode, unknown
from tocsin.broker.ring.circle import Circle
from tocsin.broker.ring.circle import moved as moved_on
from tocsin.broker.ring.declaring import Declaring
from tocsin.broker.ring.membership import Membership
from tocsin.broker.ring.placing import Placing
from tocsin.broker.ring.relaying import Relaying
from tocsin.broker.ring.replicas import Replicas
from tocsin.broker.ring.settling import Settling
from tocsin.flow.addressing import PULL_POINTS
from tocsin.mediation.between_nodes import ring_door
from tocsin.model.notification import EVERY_PLANE
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.wire.peer_messages import UNREADABLE

DONE = b"\xc0"  # nothing, in MessagePack
Door = Callable[[asked.Forward], Awaitable[asked.Forwarded]]


class Answering:
    """`door` takes a client's request that came to another node."""

    def __init__(
        self,
        circle: Circle,
        membership: Membership,
        placing: Placing,
        relaying: Relaying,
        replicas: Replicas,
        settling: Settling,
        declaring: Declaring,
        *,
        declarations: Declarations,
        publishing: Publishing,
        door: Door,
        load: Callable[[], asked.Loaded],
        stored: Callable[[], tuple[Any, ...]],
    ) -> None:
        self._circle, self._membership, self._placing, self._relaying = circle, membership, placing, relaying
        self._replicas, self._settling, self._declaring = replicas, settling, declaring
        self._declarations, self._publishing = declarations, publishing
        self._door, self._load, self._stored = door, load, stored

    async def answer(self, peer: str, body: bytes) -> bytes:
        try:
            request = decode_request(body)
        except UNREADABLE as problem:
            raise unknown(problem) from None
        return await self._answer(peer, request)

    async def _answer(self, peer: str, request: asked.Request) -> bytes:
        match request:
            case asked.Machine(question=question):
                return await self._membership.answer(question)
            case asked.Relay():
                await self._relaying.take(peer, request)
            case asked.Change(number, now, subscription):
                roster = await self._circle.same(number, ready=True)
                await self._placing.change_here(roster, self._placing.on_clock(subscription, now))
            case asked.Put(number, now, subscriptions):
                await self._circle.same(number)
                await self._placing.put_here(subscriptions, now)
            case asked.Gather(number, after, upto, behind):
                await self._circle.same(number)
                return encode(await self._gathered(after, upto, behind))
            case asked.Declare(number, declarations, is_ordered):
                await self._circle.same(number)
                await self._declaring.take(declarations, is_ordered)
            case asked.Known(number):
                await self._circle.same(number)
                return encode(await asyncio.to_thread(self._stored))
            case asked.Keep(number):
                await self._circle.same(number)
                return encode(await self._replicas.keep(request))
            case asked.Copies(number, origin, first):
                await self._circle.same(number)
                return encode(await asyncio.to_thread(self._replicas.copy, origin, first))
            case asked.Adopted(number, origin):
                await self._circle.same(number)
                await self._replicas.forget(origin)
            case asked.Post(number, pull_point, frames, moved):
                roster = await self._circle.same(number or self._circle.number, ready=True)
                if roster.owner(place_of_name(pull_point)).name != self._circle.me:
                    raise moved_on(self._circle.number)
                plane = (
                    f"{EVERY_PLANE}{roster.number}" if moved else EVERY_PLANE
                )  # what moves with another roster is another
                door = ring_door(peer, plane, (pull_point,), f"{PULL_POINTS}{pull_point}")
                await self._publishing.take(door, frames, None)
            case asked.Forward():
                return encode(await self._door(request))
            case asked.Load():
                return encode(self._load())
        return DONE

    async def _gathered(self, after: int, upto: int, behind: str) -> asked.Gathered:
        orphans = self._settling.orphans()
        also = [each for origin in orphans for each in self._replicas.subscriptions(origin).values()]
        return self._placing.gathered(after, upto, behind, also, orphans)
