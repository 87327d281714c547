"""What feeds a pull point that has its home at another node is sent there, as to any consumer."""

import asyncio
from collections.abc import Callable

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.messages import Post
from tocsin.flow.addressing import PULL_POINTS
from tocsin.flow.ring_addresses import RING
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.routing.ring.roster import Roster
from tocsin.wire.answer import Answer


class Posting:
    """As the deliverer's other schemes are."""

    def __init__(self, circle: Circle, asking: Asking) -> None:
        self._circle, self._asking = circle, asking
        self._tasks: set[asyncio.Task[None]] = set()

    def post(self, url: str, headers: Pairs, body: bytes, done: Callable[[Answer], None]) -> None:
        del headers
        pull_point, _, subscription = url[len(RING) + len(PULL_POINTS) :].partition("/")
        task = asyncio.create_task(self._post(pull_point, subscription, body, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _post(self, pull_point: str, subscription: str, frames: bytes, done: Callable[[Answer], None]) -> None:
        async def attempt(roster: Roster) -> None:
            home = roster.owner(place_of_name(pull_point))
            await self._asking.tell(home, Post(number_of(roster), pull_point, subscription, frames))

        try:
            await self._circle.agreed(attempt)
            done(Answer(204))
        except Refusal as refusal:
            done(Answer(503 if refusal.reason == "overloaded" else 400, error=refusal.text))
