"""What other nodes of the ring have, for the services of this one: the last messages and topics of all of them, and
pull points, each at its home."""

import asyncio
import uuid
from collections.abc import Callable
from typing import TypeVar

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable, number_of
from tocsin.broker.ring.messages import Current, Find, HandOut, Looked, Pull, Read, Request, Seen
from tocsin.mediation.operations import Held
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.routing.ring.roster import Member, Roster
from tocsin.store.pull_points import PointState
from tocsin.wire.peer_messages import UNREADABLE

SECONDS = 5.0  # for what one node of several says
LATER = 10.0  # seconds after which who should have answered by now is given up
Said = TypeVar("Said")


class Elsewhere:
    def __init__(self, circle: Circle, asking: Asking) -> None:
        self._circle, self._asking = circle, asking

    def has(self, name: str) -> bool:
        """Whether what is called so has its home at another node, or will have as soon as this one has moved."""
        circle = self._circle
        return circle.is_in and not circle.is_alone and (circle.is_moving or not circle.is_mine(place_of_name(name)))

    async def current(self, topic: Topic, own: bool) -> list[Notification]:
        """Refused where none is known of though somebody may have one; `own` where this node has."""
        answers, missing = await self._of_all(Current(topic), tuple[Notification, ...])
        found = [each for some in answers for each in some]
        if missing and not found and not own:
            raise Refusal("overloaded", f"{', '.join(missing)} did not answer; try again a little later")
        return found

    async def topics(self) -> set[str]:
        answers, _ = await self._of_all(Seen(), tuple[str, ...])
        return {each for names in answers for each in names}

    async def look(self, name: str) -> Looked:
        return await self._at_home(name, lambda number: Find(number, name), Looked)

    async def pull(self, name: str, most: int | None, seconds: float) -> tuple[Held, ...]:
        ticket = uuid.uuid4().hex
        return await self._at_home(
            name, lambda number: Pull(number, name, most, seconds, ticket), tuple[Held, ...], seconds, ticket
        )

    async def held(self, name: str, after: int, limit: int, seconds: float) -> tuple[Held, ...]:
        ticket = uuid.uuid4().hex
        return await self._at_home(
            name, lambda number: Read(number, name, after, limit, seconds, ticket), tuple[Held, ...], seconds, ticket
        )

    async def hand_out(self, name: str, upto: int) -> PointState:
        return await self._at_home(name, lambda number: HandOut(number, name, upto), PointState)

    async def _at_home(
        self,
        name: str,
        request: Callable[[int], Request],
        kind: type[Said],
        seconds: float = 0.0,
        ticket: str = "",
    ) -> Said:
        async def attempt(roster: Roster) -> Said:
            home, asked = roster.owner(place_of_name(name)), request(number_of(roster))
            return await self._asking.ask_while_wanted(home, asked, kind, seconds + LATER, ticket)

        return await self._circle.agreed(attempt)

    async def _of_all(self, request: Request, kind: type[Said]) -> tuple[list[Said], list[str]]:
        """What they say, and who says nothing."""
        if not self._circle.is_in or self._circle.is_alone:
            return [], []
        others = self._circle.others()
        answers = await asyncio.gather(*(self._answer(each, request, kind) for each in others))
        missing = [member.name for member, each in zip(others, answers, strict=True) if each is None]
        return [each[0] for each in answers if each is not None], missing

    async def _answer(self, of: Member, request: Request, kind: type[Said]) -> tuple[Said] | None:
        try:
            return (await self._asking.ask(of, request, kind, SECONDS),)
        except (Unreachable, Refusal, *UNREADABLE):
            return None
