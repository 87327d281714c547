"""Implicit notification that a ring shares: its world, its notifiers and histories, and what they remember."""

from collections.abc import Sequence

from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.broker.ring import messages as asked
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle
from tocsin.broker.ring.machine_copies import Handing, MachineCopies, MachineReplicas
from tocsin.broker.ring.notifying import Notifying
from tocsin.broker.ring.world import RingWorld
from tocsin.model.identity import Instant
from tocsin.routing.ring.roster import Member
from tocsin.store.database import Store

Asked = (
    asked.ChangeWorld
    | asked.PutWorld
    | asked.WorldAfter
    | asked.Letters
    | asked.Outcome
    | asked.KeepMachines
    | asked.MachinesOf
    | asked.GatherMachines
    | asked.TookMachines
)


class Sharing:
    """`was_shared`: before it was started again this node was in a ring with others."""

    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        implicit: Implicit,
        kept: LocalRegistry,
        store: Store,
        now: Instant,
        *,
        was_shared: bool,
    ) -> None:
        self._circle, self._asking = circle, asking
        runtime = implicit.runtime
        self.world = RingWorld(circle, asking, kept)
        self.notifying = Notifying(circle, asking, runtime, implicit.results, was_shared=was_shared)
        implicit.by_ring(self.notifying)
        tables = runtime.tables
        self.copies = MachineCopies(circle, asking, runtime, tables, now)
        self._replicas = MachineReplicas(store)
        self._handing = Handing(circle, asking, runtime, tables, self.copies, self._replicas)

    async def close(self) -> None:
        await self.copies.close()

    async def answer(self, request: Asked) -> object:
        match request:
            case asked.ChangeWorld():
                return await self.world.order(request)
            case asked.PutWorld():
                return await self.world.put(request)
            case asked.WorldAfter():
                return await self.world.after(request)
            case asked.Letters():
                return await self.notifying.take(request)
            case asked.Outcome():
                return await self.notifying.results(request)
            case asked.GatherMachines():
                return await self._handing.give(request)
        await self._circle.same(request.number)
        match request:
            case asked.KeepMachines():
                return await self._replicas.keep(request)
            case asked.MachinesOf():
                return await self._replicas.kept(request)
            case asked.TookMachines():
                await self._handing.took(request.after, request.upto)
        return None

    # What a new roster means

    def chosen(self, life: str, keepers: Sequence[Member], *, is_new: bool) -> None:
        if is_new:
            self.world.forget()
        self.copies.chosen(life, keepers)

    async def gather(self, number: int, after: int, upto: int) -> None:
        """Before anything is taken for that arc."""
        await self.world.gather(number)
        await self._handing.gather(number, after, upto)

    async def adopt(self, number: int, origin: str) -> None:
        await self._handing.adopt(number, origin)

    async def ready(self, number: int, after: int, upto: int) -> None:
        for each in self._circle.others():
            await self._asking.tell(each, asked.TookMachines(number, after, upto))

    async def forget(self, origin: str) -> None:
        await self._replicas.forget(origin)

    async def sweep(self) -> None:
        await self._handing.sweep()

    async def put_out(self) -> None:
        await self._handing.put_out()
