"""Notifiers and histories on the ring: each is a machine of the node that has the key of its name, a message's results
are gathered by the node that has the key of its id, and what is for them goes there, whoever that is by then."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Raw

from tocsin.broker.implicit.family import MESSAGES
from tocsin.broker.implicit.registry import ON_RING
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import PAUSE, Circle, Unreachable, number_of
from tocsin.broker.ring.messages import Letters, Outcome
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Handled, Publication, key_of
from tocsin.routing.implicit.result import Dissemination
from tocsin.routing.ring.roster import Member, Roster
from tocsin.runtime.family import Place
from tocsin.runtime.peers import MOST_ROWS, UNREADABLE_THERE, Carried, Rows
from tocsin.runtime.runtime import Runtime
from tocsin.store.machines import Outgoing
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import Batch, Question, Taken, WireLetter, decode_batch, encode

Results = Callable[[str, float], Awaitable[Dissemination]]


class Notifying:
    """`was_shared`: before it was started again this node was in a ring with others."""

    most = MOST_ROWS

    def __init__(
        self, circle: Circle, asking: Asking, runtime: Runtime[Any], results: Results, *, was_shared: bool
    ) -> None:
        self._circle, self._asking, self._runtime, self._results = circle, asking, runtime, results
        self._was_shared = was_shared

    @property
    def is_shared(self) -> bool:
        return self._was_shared if not self._circle.number else not self._circle.is_alone

    def holds(self, name: str) -> bool:
        circle = self._circle
        return bool(circle.number) and circle.is_ready and circle.is_mine(key_of(name))

    def check(self, name: str) -> None:
        if not self.holds(name):
            raise Refusal("overloaded", f"the ring is about to move {name[:80]!r}; try again a little later")
        self._circle.must_act()

    def place(self, name: str, lane: str) -> Place:
        owner = self._circle.roster.owner(key_of(name)).name if self._circle.number else ""
        return Place(f"{ON_RING}{owner}", lane)

    async def ask(self, of: str, question: Any) -> Any:
        asked = Batch(questions=(Question(0, of, Raw(MESSAGES.encode(question))),))

        async def attempt(roster: Roster) -> Any:
            taken = await self._give(roster, roster.owner(key_of(of)), asked)
            return MESSAGES.decode(taken.replies[0].body)

        while True:
            try:
                return await self._circle.agreed(attempt)
            except Refusal as refusal:
                if refusal.reason != "overloaded":
                    raise
            await asyncio.sleep(PAUSE)

    async def announce(self, publication: Publication) -> None:
        said = Batch((WireLetter("", "", Raw(MESSAGES.encode(publication))),))

        async def attempt(roster: Roster) -> None:
            await self._give(roster, roster.owner(key_of(publication.id)), said)

        await self._circle.agreed(attempt)

    async def outcome(self, message: str, seconds: float) -> Dissemination:
        async def attempt(roster: Roster) -> Dissemination:
            owner = roster.owner(key_of(message))
            if owner.name == self._circle.me:
                return await self._results(message, seconds)
            asked = Outcome(number_of(roster), message, seconds)
            return await self._asking.ask(owner, asked, Dissemination, 2 * seconds + PAUSE)

        return await self._circle.agreed(attempt)

    # What others ask

    async def take(self, asked: Letters) -> Taken:
        """What is for machines that are here; between the look at the roster and the queue nothing can happen."""
        await self._circle.same(asked.number, ready=True)
        return await self._runtime.receive(decode_batch(asked.batch))

    async def results(self, asked: Outcome) -> Dissemination:
        await self._circle.same(asked.number, ready=True)
        return await self._results(asked.message, asked.seconds)

    # What goes out

    async def carry(self, peer: str, rows: Rows, attempt: int) -> Carried:
        """Each to who has its key by now, whoever had it when it was written down."""
        del peer, attempt
        if not self._circle.number:
            return Carried(Answer(0, error="this node has not joined its ring yet"), rows)
        roster, groups = self._circle.roster, defaultdict[str, list[Outgoing]](list)
        for row in rows:
            groups[roster.owner(key_of(row.to or _message_of(row.body))).name].append(row)
        found = await asyncio.gather(*(self._carry(roster, name, group) for name, group in groups.items()))
        failed = next((each.answer for each in found if each.answer.status != 200), Answer(200))
        left = [row for each in found for row in each.left]
        return Carried(failed, left, [row for each in found for row in each.lost])

    async def _carry(self, roster: Roster, owner: str, rows: Sequence[Outgoing]) -> Carried:
        batch = Batch(tuple(WireLetter(row.id, row.to, Raw(row.body)) for row in rows))
        member = roster.get(owner)
        assert member is not None
        try:
            taken = await self._give(roster, member, batch)
        except (Unreachable, Refusal) as problem:
            if isinstance(problem, Refusal) and problem.reason in UNREADABLE_THERE:
                return await self._one_by_one(roster, owner, rows, problem)
            return Carried(Answer(0, error=str(problem)), rows)
        return Carried(Answer(200), [row for row in rows if row.to and row.id in taken.absent])

    async def _one_by_one(self, roster: Roster, owner: str, rows: Sequence[Outgoing], problem: Refusal) -> Carried:
        """What can never be read there is let go, and nothing else."""
        if len(rows) == 1:
            return Carried(Answer(0, error=problem.text), lost=rows)
        found = [await self._carry(roster, owner, [row]) for row in rows]
        left = [row for each in found for row in each.left]
        return Carried(Answer(0, error=problem.text), left, [row for each in found for row in each.lost])

    async def _give(self, roster: Roster, member: Member, batch: Batch) -> Taken:
        asked = Letters(number_of(roster), encode(batch))
        if member.name == self._circle.me:
            return await self.take(asked)
        return await self._asking.ask(member, asked, Taken)


def _message_of(report: bytes) -> str:
    said: Handled | Publication = MESSAGES.decode(report)
    return said.id if isinstance(said, Publication) else said.message
