"""The ring as it is seen from this node: its members, which part each has, and what they say of themselves."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from tocsin.broker.caller import Caller
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.messages import Load, Loaded
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import SIZE, distance
from tocsin.routing.ring.roster import Member, Roster
from tocsin.wire.peer_messages import UNREADABLE

LOOK_SECONDS = 5.0  # for an answer about how a node is


class Seat(Struct, frozen=True):
    """A member as it is seen from here: `share` is its part of the circle; None for what it did not say."""

    member: Member
    share: float
    load: Loaded | None
    trouble: str = ""

    @property
    def weight(self) -> float:
        return 0.0 if self.load is None else self.load.weight


class View(Struct, frozen=True):
    """`standing` is "member", "alone" of one that does not reach the most of its ring, "out" or "waiting"."""

    node: str
    standing: str
    number: int
    seats: tuple[Seat, ...]

    @property
    def mean(self) -> float:
        """Of what the members have to do."""
        known = [each.weight for each in self.seats if each.load is not None]
        return sum(known) / max(1, len(known))


class Overview:
    """`standing` and `load` are this node's own."""

    def __init__(self, circle: Circle, asking: Asking, standing: Callable[[], str], load: Callable[[], Loaded]) -> None:
        self._circle, self._asking, self._standing, self._load = circle, asking, standing, load

    async def view(self, caller: Caller) -> View:
        caller.anybody()
        roster = self._circle.roster
        seats = await asyncio.gather(*(self._seat(roster, each) for each in roster.members))
        return View(self._circle.me, self._standing(), roster.number, tuple(seats))

    async def with_doors(self) -> list[str]:
        """Where clients are served."""
        roster = self._circle.roster
        seats = await asyncio.gather(*(self._seat(roster, each) for each in roster.members if each.doors))
        return [each.load.url for each in seats if each.load is not None]

    async def _seat(self, roster: Roster, member: Member) -> Seat:
        after, upto = roster.range_of(member)
        share = (distance(after, upto) or SIZE) / SIZE
        if member.name == self._circle.me:
            return Seat(member, share, self._load())
        try:
            return Seat(member, share, await self._asking.ask(member, Load(), Loaded, LOOK_SECONDS))
        except (Unreachable, Refusal, *UNREADABLE) as problem:
            return Seat(member, share, None, str(problem))
