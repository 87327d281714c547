"""What is declared at one node is declared at all of them, in one order: that of the node with the key of it."""

import asyncio
from collections.abc import Awaitable, Sequence

from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.messages import Declare
from tocsin.broker.ring.placing import Placing
from tocsin.model.declarations import Declaration
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.roster import Roster

KEY = identifier_of("declarations")
SECONDS = 30.0  # a large ontology takes a while


class Declaring:
    def __init__(self, circle: Circle, asking: Asking, placing: Placing, declarations: Declarations) -> None:
        self._circle, self._asking, self._placing, self._declarations = circle, asking, placing, declarations
        self._lock = asyncio.Lock()

    def spread(self, what: Sequence[Declaration]) -> Awaitable[None] | None:
        """None where there is nobody else."""
        return None if self._circle.is_alone else self._spread(tuple(what))

    async def take(self, what: Sequence[Declaration], is_ordered: bool) -> None:
        if is_ordered:
            await self._declarations.append_here(what)
            self._placing.spaces_changed()
        else:
            await self._order(self._circle.roster, tuple(what))

    async def _spread(self, what: tuple[Declaration, ...]) -> None:
        async def attempt(roster: Roster) -> None:
            first = roster.owner(KEY)
            if first.name == self._circle.me:
                await self._order(roster, what)
            else:
                await self._asking.tell(first, Declare(number_of(roster), what), SECONDS)

        await self._circle.agreed(attempt)

    async def _order(self, roster: Roster, what: tuple[Declaration, ...]) -> None:
        async with self._lock:
            await self._declarations.append_here(what)
            self._placing.spaces_changed()
            declare = Declare(number_of(roster), what, ordered=True)
            others = [each for each in roster.members if each.name != self._circle.me]
            await asyncio.gather(*(self._asking.tell(each, declare, SECONDS) for each in others))
