"""Where registered publishers have their homes in a ring, and how those hear who wants their topics."""

import asyncio
import contextlib
import random
import uuid
from collections.abc import Callable, Sequence

from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.commons import Commons
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import SIZE, named_at, place_of_name
from tocsin.routing.ring.roster import Roster
from tocsin.routing.ring.topic_keys import key_of_topic

AGAIN_SECONDS = 1.0  # until a home that was not reached is told again


class Publishers:
    def __init__(self, circle: Circle, asking: Asking, commons: Commons) -> None:
        self._circle, self._asking, self._commons = circle, asking, commons

    def name_at(self, topics: Sequence[Topic]) -> str:
        """At the key of the first."""
        key = key_of_topic(topics[0]) if topics else random.randrange(SIZE)
        return named_at(key, uuid.uuid4().hex)

    def is_at_home(self, name: str) -> bool:
        return self._circle.is_mine(place_of_name(name))

    def nodes(self) -> set[str]:
        return {each.name for each in self._circle.roster.members}

    async def put_everywhere(self, kind: str, name: str, value: bytes | None) -> None:
        await self._commons.spread(kind, name, value)

    async def tell_wanted(self, name: str, wanted: Callable[[], bool]) -> None:
        async def attempt(roster: Roster) -> None:
            home = roster.owner(place_of_name(name))
            if home.name != self._circle.me:
                await self._asking.tell(home, asked.Wants(number_of(roster), name, wanted()))

        while True:
            with contextlib.suppress(Refusal):
                await self._circle.agreed(attempt)
                return
            await asyncio.sleep(AGAIN_SECONDS)
