"""What publishers see of the replies they asked for: views that are looked at, waited for, watched and terminated."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from tocsin.broker.caller import Caller
from tocsin.broker.reply.harvests import Harvests, is_over
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import Look, Terminate, View
from tocsin.routing.reply.waiting import Met, Until, Wait

LOOK_SECONDS = 1.0  # between two looks at the nodes behind, while somebody waits
IDLE_SECONDS = 15.0  # after which one who watches is shown the same again


class Views:
    """Who published may see them, and who manages everything."""

    def __init__(self, harvests: Harvests) -> None:
        self._harvests = harvests

    def all(self, caller: Caller) -> list[View]:
        """The caller's own that are still to be seen."""
        roots = [each for each in self._harvests.all() if each.head is not None and each.is_root]
        return [each.view() for each in roots if _may_see(caller, each)]

    async def get(self, caller: Caller, name: str, *, look: float = 0.0) -> View:
        """As far as it is known here; with `look`, those behind are asked, and waited for so many seconds."""
        harvester = await self._own(caller, name)
        if look:
            await self._look(harvester, look)
        return harvester.view()

    async def wait(self, caller: Caller, name: str, until: Until) -> tuple[View, Met]:
        """Until one of its conditions holds, and which."""
        wait = Wait(until, self._harvests.now())
        async for view in self.watch(caller, name, wait.next_look):
            if (met := wait.met(view, self._harvests.now())) is not None:
                return view, met
            if self._harvests.closing:
                raise Refusal("overloaded", "the node is ending; ask again a little later")
        raise is_over()

    async def watch(
        self, caller: Caller, name: str, patience: Callable[[Instant], float] = lambda _: IDLE_SECONDS
    ) -> AsyncIterator[View]:
        """It, and again whenever it changed, or so many seconds passed."""
        found: Harvester | None = await self._own(caller, name)
        looking = asyncio.create_task(self._keep_looking(name))
        try:
            with self._harvests.listening(name) as changed:
                while found is not None:
                    changed.clear()
                    yield found.view()
                    if self._harvests.closing:
                        return
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), patience(self._harvests.now()))
                    found = self._harvests.find(name)
        finally:
            looking.cancel()

    async def terminate(self, caller: Caller, name: str, grace: float) -> View:
        """What comes later does not count; those behind are waited for so many seconds."""
        await self._own(caller, name)
        await self._harvests.runtime.take([self._harvests.letter(name, Terminate(round(grace * SECOND)))])
        async for view in self.watch(caller, name):
            if view.ended or self._harvests.closing:
                return view
        raise is_over()

    async def _own(self, caller: Caller, name: str) -> Harvester:
        found = await self._harvests.known(name)
        if found is None or found.head is None or not found.is_root:
            raise Refusal("unknown-name", f"there is no view {name[:80]!r} here, or it is no longer kept")
        if not _may_see(caller, found):
            raise caller.may_not("see the replies to a publication of another")
        return found

    async def _keep_looking(self, name: str) -> None:
        """Those behind are asked again and again, while anything is to come from them."""
        while (found := self._harvests.find(name)) is not None:
            if found.is_behind:
                await self._ask_to_look(found, LOOK_SECONDS)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, harvester: Harvester, seconds: float) -> None:
        with self._harvests.listening(harvester.view_id) as changed, contextlib.suppress(TimeoutError):
            await self._ask_to_look(harvester, seconds)
            async with asyncio.timeout(seconds):
                while harvester.is_looking and not self._harvests.closing:
                    await changed.wait()
                    changed.clear()

    async def _ask_to_look(self, harvester: Harvester, seconds: float) -> None:
        """Numbered by the clock: a later look has a higher number, after a restart too."""
        look = Look(self._harvests.now() // 1000, round(seconds * SECOND))
        with contextlib.suppress(Refusal):
            await self._harvests.runtime.take([self._harvests.letter(harvester.view_id, look)])


def _may_see(caller: Caller, harvester: Harvester) -> bool:
    assert harvester.head is not None
    return caller.manages_everything() or (caller.name is not None and caller.name == harvester.head.opened.owner)
