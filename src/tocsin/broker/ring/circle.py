"""The roster by which this node goes, who may act by it, and work that is begun again when it has passed."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import BITS, identifier_of
from tocsin.routing.ring.roster import Member, Roster

PATIENCE = 20.0  # seconds in which a ring comes to terms with what happened
ALONE = 1.0  # seconds that a node which is cut off hopes to be let back
PAUSE = 0.2  # between two attempts while the roster stays the same
Result = TypeVar("Result")


class Unreachable(Exception):
    """A member that does not answer; it may be put out soon, or back. What was `sent` to it may have been done."""

    def __init__(self, text: str, *, sent: bool = False) -> None:
        super().__init__(text)
        self.sent = sent


def number_of(roster: Roster) -> int:
    """Of two the greater is the later; what an operator forced comes after all that was agreed on before."""
    return (roster.epoch << 40) + roster.number


def life_of(member: Member) -> str:
    """A node from when it came in until it is out: what it had then is that life's, also when it comes back. It says
    where the node was, unless that follows from its name, as it always did in rings of before."""
    place = "" if member.id == identifier_of(member.name) else f"@{member.id:0{BITS // 4}x}"
    return f"{member.incarnation}{place}/{member.name}"


def name_of(life: str) -> str:
    return life.partition("/")[2]


def place_of(life: str) -> int:
    """On the circle: whoever has that now goes on for a life that is over."""
    place = life.partition("/")[0].partition("@")[2]
    return int(place, 16) if place else identifier_of(name_of(life))


def moved(number: int) -> Refusal:
    """To one who goes by a roster that has passed."""
    return Refusal("not-here", f"the ring has changed: it has roster {number} by now")


class Circle:
    """`may_act` says whether a majority of the members was heard of lately: else nothing is acknowledged."""

    def __init__(self, me: str, may_act: Callable[[], bool]) -> None:
        self.me, self._may_act = me, may_act
        self._roster: Roster | None = None
        self._changed = asyncio.Condition()
        self._ready_for = 0  # the number of the roster by which this node has all that it owns
        self.closing = False
        self.is_leaving = False  # it takes nothing more: whoever asks waits for the roster without it
        self.is_moving = False  # it comes back at once, at another place: whoever asks here waits for that

    @property
    def roster(self) -> Roster:
        if self._roster is None:
            raise Refusal("overloaded", "this node has not joined its ring yet; try again a little later")
        return self._roster

    @property
    def number(self) -> int:
        return 0 if self._roster is None else number_of(self._roster)

    @property
    def is_alone(self) -> bool:
        """A ring of one, where nothing need be asked of anybody."""
        return self._roster is not None and len(self._roster.members) == 1 and self.is_in

    @property
    def is_in(self) -> bool:
        return self._roster is not None and self._roster.get(self.me) is not None

    @property
    def member(self) -> Member | None:
        """This node, if it is one."""
        return None if self._roster is None else self._roster.get(self.me)

    @property
    def is_ready(self) -> bool:
        return self._roster is not None and self._ready_for >= number_of(self._roster)

    def is_mine(self, key: int) -> bool:
        return self._roster is None or self._roster.owner(key).name == self.me

    def others(self) -> list[Member]:
        return [each for each in self.roster.members if each.name != self.me]

    async def take(self, roster: Roster) -> None:
        async with self._changed:
            if self._roster is None or number_of(roster) > number_of(self._roster):
                before, self._roster = self.member, roster
                if before is None or self.member is None or self.member.life != before.life:
                    self.is_leaving = False  # not before: by the roster that it left it takes nothing more
                self._changed.notify_all()

    async def ready(self, number: int) -> None:
        async with self._changed:
            self._ready_for = max(self._ready_for, number)
            self.is_moving = self.is_moving and self.is_leaving
            self._changed.notify_all()

    async def stay(self) -> None:
        """It does not leave after all."""
        async with self._changed:
            self.is_leaving = self.is_moving = False
            self._changed.notify_all()

    async def moved(self) -> None:
        """For those who come to a node that moves; a little longer and they are told to come again."""
        await self.until(lambda: not self.is_moving, PATIENCE)

    def put_out(self) -> None:
        """What this node had is others'. It may act again as soon as it is let in, which can be a moment before it goes
        by the roster of then: until it does, it is ready for nothing."""
        self._ready_for = -1

    async def close(self) -> None:
        self.closing = True
        async with self._changed:
            self._changed.notify_all()

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Whether it does so, at the latest after that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self.closing or holds())
        return not self.closing and holds()

    async def same(self, number: int, *, ready: bool = False) -> Roster:
        """The roster of that number, when this node goes by it too; refused when it has passed, or does not come."""

        def is_there() -> bool:
            return self.number >= number and (not ready or self.is_ready or self.number > number)

        if not is_there() and not await self.until(is_there, PATIENCE / 2):
            raise Refusal("overloaded", f"this node is not ready for roster {number} yet; try again a little later")
        if self.number != number:
            raise moved(self.number)
        self.must_act()
        return self.roster

    def may_act(self) -> bool:
        return self.is_in and not self.is_leaving and self._may_act()

    def must_act(self) -> None:
        if not self.may_act():
            raise Refusal(
                "overloaded", "this node does not reach the most of its ring; try again later, or at another node"
            )

    async def agreed(self, work: Callable[[Roster], Awaitable[Result]]) -> Result:
        """What is asked of other nodes goes by one roster: with the next one it is begun again. A node that is cut off
        says so soon: its caller may ask another."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            number, seconds = self.number, PATIENCE if self.is_moving or self.may_act() else ALONE
            try:
                self.must_act()
                return await work(self.roster)
            except (Unreachable, Refusal) as problem:
                if isinstance(problem, Refusal) and problem.reason not in ("not-here", "overloaded"):
                    raise
                if self.closing or loop.time() > began + seconds:
                    raise Refusal("overloaded", f"the ring does not come to terms: {problem}; try again") from None
            await self.until(lambda: self.number > number, PAUSE)  # noqa: B023
