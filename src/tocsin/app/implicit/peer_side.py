"""What other nodes of the world ask of this one: it takes copies, reports and claims, and tells them their part."""

from collections.abc import Callable, Mapping, Sequence

from tocsin.app.implicit.registry import LocalRegistry
from tocsin.app.implicit.shell import Shell
from tocsin.app.implicit.turn import Here, Item, Report
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.part import Entry, Part
from tocsin.wire.peer_messages import Batch, Registering, Taken


class PeerSide:
    """Implements `tocsin.wire.peer_door.PeerPort`. `kept` is the world, where it is kept here."""

    def __init__(
        self,
        here: Here,
        key: bytes,
        body_limit: int,
        shell: Shell,
        kept: LocalRegistry | None,
        now: Callable[[], Instant],
    ) -> None:
        self.key, self.body_limit, self._now = key, body_limit, now
        self._here, self._shell, self._kept = here, shell, kept

    def now(self) -> Instant:
        return self._now()

    async def from_peer(self, batch: Batch) -> Taken:
        if batch.claims and self._shell.machines.history is None:
            raise Refusal("not-here", f"the central history is at {self._here.history}; name it in implicit.history")
        residing = self._shell.machines.residing
        absent = tuple(copy.id for copy in batch.copies if copy.to not in residing)
        items: list[Item] = [copy for copy in batch.copies if copy.to in residing]
        items += [Report(self._here.node, handled) for handled in batch.reports]
        granted = await self._shell.take([*items, *batch.claims])
        return Taken(absent, tuple(granted))

    async def part(self, node: str, after: int, seconds: float) -> Part | None:
        return await self._world().part_after(node, after, seconds)

    async def register(self, asked: Registering) -> Part:
        world = self._world()
        await world.register(asked)
        return world.part(asked.node)

    async def entries(self, names: Sequence[str]) -> Mapping[str, Entry]:
        return self._world().entries(names)

    def _world(self) -> LocalRegistry:
        if self._kept is None:
            raise Refusal("not-here", f"{self._here.node} does not keep the world; name another in implicit.registry")
        return self._kept
