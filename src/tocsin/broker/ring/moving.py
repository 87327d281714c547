"""Where on the circle this node is: the place at which it comes in, and how it goes to another."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from tocsin.broker.ring.asking import Asking, encode
from tocsin.broker.ring.circle import PAUSE, Circle, Unreachable
from tocsin.broker.ring.membership import Membership
from tocsin.broker.ring.messages import Move, Relieved, Where
from tocsin.broker.ring.settling import Settling
from tocsin.model.refusal import Refusal
from tocsin.routing.ring import roster_messages as said
from tocsin.routing.ring.identifiers import SIZE, identifier_of
from tocsin.routing.ring.roster import Life
from tocsin.store.database import Store
from tocsin.store.places import RING_PLACE
from tocsin.wire.peer_messages import UNREADABLE

CHOOSING_SECONDS = 5.0  # for somebody to say where one more helps; then any place is taken
LEAVING_SECONDS = 120.0
LEAST = 3  # members: of two the other would be alone meanwhile


class HandOver(Protocol):
    async def __call__(self, *, moving: bool) -> None: ...


def known_place(store: Store) -> int | None:
    """That of a node that was in a ring, or was told one."""
    kept = store.meta(RING_PLACE)
    return int(kept, 16) if kept else None


def place_of(name: str, store: Store) -> int:
    """Before there were others to choose it by, and in rings of before, that of its name."""
    known = known_place(store)
    return identifier_of(name) if known is None else known


class Moving:
    """`hand_over` returns when others have all that this node has."""

    def __init__(
        self,
        name: str,
        store: Store,
        circle: Circle,
        asking: Asking,
        membership: Membership,
        settling: Settling,
        hand_over: HandOver,
        report: Callable[[str], None],
    ) -> None:
        self._store, self._circle, self._asking = store, circle, asking
        self._membership, self._settling, self._hand_over, self._report = membership, settling, hand_over, report
        self._task: asyncio.Task[None] | None = None
        self.place = place_of(name, store)

    def stand(self, place: int) -> None:
        """It comes back there when it is started again."""
        if known_place(self._store) != place:
            self._store.set_meta(RING_PLACE, f"{place:016x}")
        self.place = place

    async def choose(self, addresses: Sequence[str]) -> int:
        """As one of these nodes says, or any."""
        until = asyncio.get_running_loop().time() + CHOOSING_SECONDS
        while asyncio.get_running_loop().time() < until:
            for each in addresses:
                with contextlib.suppress(Unreachable, Refusal, *UNREADABLE):
                    answer = await self._asking.ask_at(each, encode(Where()))
                    return msgspec.msgpack.decode(answer, type=int)
            await asyncio.sleep(PAUSE)
        return random.randrange(SIZE)

    # To another place

    @property
    def is_under_way(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self, asked: Move) -> None:
        """Not by one that has still to go on for another: what it keeps of that may be the only copy."""
        if self.is_under_way or len(self._circle.roster.members) < LEAST or self._settling.orphans():
            raise Refusal("overloaded", "this node cannot move now")
        self._task = asyncio.create_task(self._move(asked))

    async def stop(self) -> None:
        """It is put out meanwhile, and enters again as who was put out does; or the node closes."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def _life(self) -> Life | None:
        return None if self._circle.member is None else self._circle.member.life

    async def _move(self, asked: Move) -> None:
        """After it asked to depart there is no way back: what follows is the same as for one that was started again
        meanwhile (`Ring`)."""
        life, whom = self._life, asked.relieved
        self._report(f"this node moves on the circle, to relieve {whom}, which has {asked.times:.1f} times the mean")
        try:
            async with asyncio.timeout(LEAVING_SECONDS):
                await self._hand_over(moving=True)
        except (TimeoutError, Refusal) as problem:
            self._report(f"this node stays where it is: the others did not take over what it has {problem}".rstrip())
            await self._settling.stay()
            return
        self.stand(asked.place)
        self._membership.post(said.Depart())
        while not await self._circle.until(lambda: self._circle.is_ready and self._life != life, PAUSE):
            if self._circle.closing:
                return
        self._report(f"this node has moved, and has a part of what was to do at {whom}")
        if (relieved := self._circle.roster.get(whom)) is not None:
            with contextlib.suppress(Unreachable, Refusal):
                await self._asking.tell(relieved, Relieved())
