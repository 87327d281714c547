"""What other nodes of the ring ask of this one, and what is done about it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tocsin.broker.caller import NODE
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.asking import decode_request, encode, unknown
from tocsin.broker.ring.balancing import Balancing
from tocsin.broker.ring.circle import Circle
from tocsin.broker.ring.commons import Commons
from tocsin.broker.ring.declaring import Declaring
from tocsin.broker.ring.demanding import Demanding
from tocsin.broker.ring.harvesting import Harvesting
from tocsin.broker.ring.membership import Membership
from tocsin.broker.ring.placing import Placing
from tocsin.broker.ring.relaying import Relaying
from tocsin.broker.ring.replicas import Replicas
from tocsin.broker.ring.settling import Settling
from tocsin.broker.ring.sharing import Asked, Sharing
from tocsin.flow.addressing import PULL_POINTS
from tocsin.mediation.between_nodes import ring_door
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Disconnected, Message, while_connected
from tocsin.wire.peer_messages import UNREADABLE

DONE = b"\xc0"  # nothing, in MessagePack
Door = Callable[[asked.Forward, asyncio.Event], Awaitable[asked.Forwarded]]
Found = TypeVar("Found")


class Answering:
    """`door` takes a client's request that came to another node, and is told when that client left."""

    def __init__(
        self,
        circle: Circle,
        membership: Membership,
        placing: Placing,
        relaying: Relaying,
        demanding: Demanding,
        harvesting: Harvesting,
        replicas: Replicas,
        settling: Settling,
        declaring: Declaring,
        commons: Commons,
        *,
        view_replicas: Replicas,
        declarations: Declarations,
        publishing: Publishing,
        points: PullPoints,
        door: Door,
        load: Callable[[], asked.Loaded],
        stored: Callable[[], tuple[Any, ...]],
        sharing: Sharing | None,
        current: Callable[[Topic], Notification | None],
        seen: Callable[[], tuple[str, ...]],
        heard: Callable[[str, str, bool], None],
        balancing: Balancing,
    ) -> None:
        self._sharing, self._balancing = sharing, balancing
        self._circle, self._membership, self._placing, self._relaying = circle, membership, placing, relaying
        self._demanding, self._harvesting, self._view_replicas = demanding, harvesting, view_replicas
        self._replicas, self._settling, self._declaring, self._commons = replicas, settling, declaring, commons
        self._declarations, self._publishing = declarations, publishing
        self._points, self._door, self._load, self._stored = points, door, load, stored
        self._current, self._seen, self._heard = current, seen, heard
        self._tickets: dict[str, asyncio.Event] = {}

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
                return encode(await self._relaying.take(peer, request))
            case asked.Demanded(what):
                self._demanding.told(what)
            case asked.Begun():
                self._demanding.forget()
            case asked.Asks():
                return encode(await self._harvesting.take(peer, request))
            case asked.Has():
                return encode(await self._harvesting.has(request))
            case asked.OfViews(inner):
                return await self._of_views(inner)
            case asked.Tell() | asked.Replied() | asked.Question():
                return await self._harvesting.answer(request)
            case asked.Change(number, now, subscription):
                roster = await self._circle.same(number, ready=True)
                await self._placing.change_here(roster, self._placing.on_clock(subscription, now))
            case asked.Put(number, now, subscriptions):
                await self._circle.same(number)
                await self._placing.put(subscriptions, now)
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
                if self._sharing is not None:
                    await self._sharing.forget(origin)
            case asked.Post(number, pull_point, subscription, frames, moved):
                await self._circle.same(number, ready=True)
                door = ring_door(peer, only=(subscription,), door=f"{PULL_POINTS}{pull_point}", moved=moved)
                await self._publishing.take(door, frames, None)
            case asked.Forward(number=number, ticket=ticket):
                if number:
                    await self._circle.same(number, ready=True)
                with self._leaving(ticket) as left:
                    return encode(await self._door(request, left))
            case asked.Find() | asked.Pull() | asked.Read() | asked.HandOut():
                await self._circle.same(request.number, ready=True)
                return encode(await self._point(request))
            case asked.Gone(ticket):
                self._tickets.get(ticket, asyncio.Event()).set()
            case asked.Common(number):
                await self._circle.same(number)
                await self._commons.take(request)
            case asked.Wants(number, registration, wanted):
                await self._circle.same(number)
                self._heard(peer, registration, wanted)
            case asked.AllCommon(number):
                await self._circle.same(number)
                return encode(await asyncio.to_thread(self._commons.all))
            case asked.Current(topic):
                found = self._current(topic)
                return encode(() if found is None else (found,))
            case asked.Seen():
                return encode(self._seen())
            case asked.Load():
                return encode(self._load())
            case asked.Weigh() | asked.Where() | asked.Move() | asked.Relieved():
                return encode(await self._balancing.answer(peer, request))
            case _:
                return await self._shared(request)
        return DONE

    async def _of_views(self, request: asked.Keep | asked.Copies) -> bytes:
        await self._circle.same(request.number)
        if isinstance(request, asked.Keep):
            return encode(await self._view_replicas.keep(request))
        return encode(await asyncio.to_thread(self._view_replicas.copy, request.origin, request.first))

    async def _shared(self, request: Asked) -> bytes:
        """A node that has another keep its world takes no part in that of a ring."""
        if self._sharing is None:
            raise Refusal("malformed", "this node has its world elsewhere (implicit.registry), and not on the ring")
        return encode(await self._sharing.answer(request))

    async def _point(self, request: asked.Find | asked.Pull | asked.Read | asked.HandOut) -> Any:
        """Whoever asks has looked whether it may."""
        points = self._points
        match request:
            case asked.Find(name=name):
                return points.looked(name)
            case asked.Pull(_, name, most, seconds, ticket):
                with self._leaving(ticket) as left:
                    return (await _while_wanted(left, points.pull(NODE, name, most, seconds))).held
            case asked.Read(_, name, after, limit, seconds, ticket):
                with self._leaving(ticket) as left:
                    return await _while_wanted(left, points.held(NODE, name, after, limit, seconds))
            case asked.HandOut(_, name, upto):
                await points.hand_out(NODE, name, upto)
                return points.state(NODE, name)

    @contextmanager
    def _leaving(self, ticket: str) -> Iterator[asyncio.Event]:
        """Set when whoever waits for an answer has left."""
        left = asyncio.Event()
        if ticket:
            self._tickets[ticket] = left
        try:
            yield left
        finally:
            self._tickets.pop(ticket, None)

    async def _gathered(self, after: int, upto: int, behind: str) -> asked.Gathered:
        orphans = self._settling.orphans()
        kept = [await asyncio.to_thread(self._replicas.subscriptions, each) for each in orphans]
        also = [each for subscriptions in kept for each in subscriptions.values()]
        return self._placing.gathered(after, upto, behind, also, orphans)


async def _while_wanted(left: asyncio.Event, work: Coroutine[Any, Any, Found]) -> Found:
    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    try:
        return await while_connected(receive, work)
    except Disconnected:
        raise Refusal("over", "nobody waits for it any more") from None
