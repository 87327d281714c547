"""Requests of clients that another node answers: as they came, to its doors."""

import asyncio

from msgspec.structs import replace

from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.answering import Door
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable, number_of
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.routing.ring.roster import Member, Roster
from tocsin.wire.peer_messages import UNREADABLE


class Forwarding:
    """`door` takes a client's request that came to another node: set by whoever opens the doors."""

    def __init__(self, circle: Circle, asking: Asking) -> None:
        self._circle, self._asking = circle, asking
        self.door: Door = _no_door

    async def forwarded(self, to: Member, request: asked.Forward, seconds: float) -> asked.Forwarded | None:
        """None from one that does not answer."""
        try:
            return await self.forward(to, request, seconds)
        except (Refusal, *UNREADABLE):
            return None

    async def forward(self, to: Member, request: asked.Forward, seconds: float) -> asked.Forwarded:
        try:
            return await self._asking.ask_while_wanted(to, request, asked.Forwarded, seconds, request.ticket)
        except Unreachable as problem:
            raise Refusal("overloaded", f"{problem}; try again a little later") from None

    async def forward_home(self, name: str, request: asked.Forward, seconds: float) -> asked.Forwarded:
        """To whoever has what is called so, also when that is another by now; once, if it may have been done."""

        async def attempt(roster: Roster) -> asked.Forwarded:
            home, numbered = roster.owner(place_of_name(name)), replace(request, number=number_of(roster))
            if home.name == self._circle.me:
                await self._circle.same(numbered.number, ready=True)
                return await self.door(request, asyncio.Event())
            try:
                return await self._asking.ask_while_wanted(home, numbered, asked.Forwarded, seconds, request.ticket)
            except Unreachable as problem:
                if problem.sent and request.method != "GET":
                    raise Refusal("cannot-store", f"{problem}; whether it was done is not known") from None
                raise

        return await self._circle.agreed(attempt)


async def _no_door(request: asked.Forward, left: asyncio.Event) -> asked.Forwarded:
    del request, left
    raise Refusal("overloaded", "the doors of this node are not open yet; try again a little later")
