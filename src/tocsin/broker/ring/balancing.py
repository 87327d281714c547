"""That no node of a ring has more than twice the mean to do for long: one node looks at how much lies on whom, and asks
who has least to move (Karger and Ruhl; `routing/ring/balance.py` decides)."""

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable, number_of
from tocsin.broker.ring.messages import Move, Relieved, Weigh, Weighed, Where
from tocsin.broker.ring.moving import Moving
from tocsin.broker.ring.placing import is_of_ring
from tocsin.broker.ring.tally import Tally
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.balance import Load, Mark, next_move, place_by_load
from tocsin.routing.ring.identifiers import SIZE, distance, identifier_of, place_of_name, within
from tocsin.routing.ring.roster import Member, Roster
from tocsin.wire.peer_messages import UNREADABLE

KEY = identifier_of("balance")  # whoever has it looks: by one roster that is one node
STRETCH = 30.0  # seconds, where nobody is to move
STEADY = 3  # stretches that a roster has stood before its loads are compared: two of them are counted, whole
OF_A_SUBSCRIPTION = 0.001  # a second, at its home: it is renewed now and then, and listed
HOMES = 256  # subscriptions that are looked at for all
GIVEN_SECONDS = 10.0  # in which who was told a place should be there
SECONDS = 5.0


class Balancing:
    """It is looked every so many `seconds`; None for never."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        tally: Tally,
        standing: StandingSubscriptions,
        moving: Moving,
        seconds: float | None,
        report: Callable[[str], None],
    ) -> None:
        self._circle, self._asking, self._tally, self._standing = circle, asking, tally, standing
        self._moving, self._seconds, self._report = moving, seconds, report
        self._number = self._stood = 0
        self._suspect = ""  # who had too much when it was last looked
        self._given: dict[int, float] = {}

    def marks(self) -> tuple[Mark, ...]:
        """What this node has to do a second, by keys."""
        if (me := self._circle.member) is None:
            return ()
        return self._tally.marks(*self._circle.roster.range_of(me), self._homes())

    def _homes(self) -> list[Mark]:
        by_id = self._standing.by_id
        step = len(by_id) // HOMES + 1
        some = [each for each in islice(by_id.values(), 0, None, step) if is_of_ring(each)]
        return [(place_of_name(each.id), step * OF_A_SUBSCRIPTION) for each in some]

    def weight(self) -> float:
        return sum(weight for _, weight in self.marks())

    async def answer(self, peer: str, request: Weigh | Where | Move | Relieved) -> object:
        match request:
            case Weigh(number):
                if number:
                    await self._circle.same(number, ready=True)
                return Weighed(self.marks(), self._moving.is_under_way)
            case Where():
                return await self._where()
            case Move(number):
                await self._circle.same(number, ready=True)
                self._moving.begin(request)
            case Relieved():
                self._report(f"{peer} has moved to relieve this node, and has a part of what was to do here")
        return None

    # For one that comes

    async def _where(self) -> int:
        """Nobody is waited for: whoever does not say is taken to have little to do."""
        roster, now = self._circle.roster, asyncio.get_running_loop().time()
        self._given = {place: until for place, until in self._given.items() if until > now}
        answers = await asyncio.gather(*(self._weighed(each, 0) for each in roster.members))
        marks = [() if each is None else each.marks for each in answers]
        taken = [place for place in self._given if roster.owner(place).id != place]
        place = place_by_load(_loads(roster, marks), taken)
        self._given[place] = now + GIVEN_SECONDS
        return place

    # For those that are there

    async def run(self) -> None:
        while True:
            await asyncio.sleep(STRETCH if self._seconds is None else self._seconds / 2)
            self._tally.turn()
            self._stood = self._stood + 1 if self._number == self._circle.number else 0
            self._number = self._circle.number
            if self._seconds is not None and self._stood >= STEADY and self._looks():
                await self._look()

    def _looks(self) -> bool:
        circle = self._circle
        return circle.is_ready and circle.may_act() and not circle.is_alone and circle.is_mine(KEY)

    async def _look(self) -> None:
        """What is so only once may be chance. Nobody is asked to move while one does, or does not answer."""
        roster = self._circle.roster
        answers = await asyncio.gather(*(self._weighed(each, number_of(roster)) for each in roster.members))
        found = [each for each in answers if each is not None and not each.moving]
        if len(found) < len(answers) or self._circle.number != number_of(roster):
            return
        loads = _loads(roster, [each.marks for each in found])
        move, before = next_move(loads), self._suspect
        self._suspect = "" if move is None else move.relieved
        mover = None if move is None or move.relieved != before else roster.get(move.name)
        if move is not None and mover is not None:
            self._suspect = ""
            times = max(each.weight for each in loads) * len(loads) / sum(each.weight for each in loads)
            await self._ask(mover, Move(number_of(roster), move.place, move.relieved, times))

    async def _ask(self, mover: Member, move: Move) -> None:
        """One that cannot now is asked again when it is looked again."""
        try:
            if mover.name == self._circle.me:
                await self.answer(mover.name, move)
            else:
                await self._asking.tell(mover, move)
        except (Unreachable, Refusal) as problem:
            self._report(f"{mover.name} does not move to relieve {move.relieved}: {problem}")

    async def _weighed(self, member: Member, number: int) -> Weighed | None:
        if member.name == self._circle.me:
            return Weighed(self.marks(), self._moving.is_under_way)
        try:
            return await self._asking.ask(member, Weigh(number), Weighed, SECONDS)
        except (Unreachable, Refusal, *UNREADABLE):
            return None


def _loads(roster: Roster, marks: Iterable[Iterable[Mark]]) -> list[Load]:
    """Who goes by another roster may have said more than belongs to it by this one."""
    found = []
    for member, some in zip(roster.members, marks, strict=True):
        after, upto = roster.range_of(member)
        own = [each for each in some if within(each[0], after, upto)]
        own.sort(key=lambda mark: distance(after, mark[0]) or SIZE)
        found.append(Load(member.name, after, upto, tuple(own)))
    return found
