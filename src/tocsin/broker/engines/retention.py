"""Old segments of the log go; a subscription that still needs them gets dead letters instead of silence."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import takewhile

import msgspec

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.engines.settlement import Settlement, own_lanes
from tocsin.broker.settings import Settings
from tocsin.delivery.lane import LAST_INDEX, Entry, Place, Undeliverable
from tocsin.model.delivery import Outcome
from tocsin.model.identity import SECOND, Instant, SubscriptionId
from tocsin.store import read_elsewhere
from tocsin.store.log.log import Log
from tocsin.store.log.segment import Segment
from tocsin.store.outbox import Outbox
from tocsin.store.places import Places

_PAGE = 1000
ABANDONED = 86_400 * SECOND


class Retention:
    """Spark has not seen what is in no published batch: that is kept, whatever its size."""

    def __init__(
        self,
        log: Log,
        engine: EmbeddedEngine | OutboxEngine,
        settlement: Settlement,
        settings: Settings,
        now: Callable[[], Instant],
    ) -> None:
        self._log, self._engine, self._settlement, self._now = log, engine, settlement, now
        self._limits, self._data, self._outbox = settings.log, settings.data, Places(settings.data).outbox

    async def retain(self) -> None:
        await self._retain_log()
        outcomes = self._settlement.outcomes
        if going := self._expendable(outcomes, "outcomes"):
            await asyncio.to_thread(outcomes.drop, going)

    def _expendable(self, log: Log, name: str) -> list[Segment]:
        limits = self._limits
        segments = log.retain(max_bytes=limits.retain_bytes, max_age=limits.retain_age, now=time.time())
        if not segments:
            return segments
        seen = self._engine.held_from(name) if isinstance(self._engine, OutboxEngine) else self._seen_beside(name)
        return segments if seen is None else list(takewhile(lambda each: each.stop <= seen, segments))

    def _seen_beside(self, name: str) -> int | None:
        """How far a pipeline is that keeps tables beside the embedded engine, here or in another node's directory; None
        where none has worked for a day."""
        ends = [end for when, end in (*self._kept_here(), *self._read_elsewhere()) if when + ABANDONED >= self._now()]
        return min((end.get(name, 0) for end in ends), default=None)

    def _kept_here(self) -> Iterator[tuple[Instant, dict[str, int]]]:
        if self._outbox.exists():
            with contextlib.closing(Outbox.open(self._outbox, read_only=True)) as outbox:
                if (last := outbox.last()) is not None:
                    yield last.when, msgspec.json.decode(last.end)

    def _read_elsewhere(self) -> Iterator[tuple[Instant, dict[str, int]]]:
        if (found := read_elsewhere.noted(self._data)) is not None:
            yield found.when, found.end

    async def _retain_log(self) -> None:
        segments = self._expendable(self._log, "log")
        if not segments:
            return
        end = segments[-1].stop
        if isinstance(self._engine, EmbeddedEngine):
            for name, place in own_lanes(self._engine.deliverer.unsettled()).items():
                if place[0] < end:
                    await self._give_up(name, place, end)
            await self._settlement.save()
        await asyncio.to_thread(self._log.drop, segments)

    async def _give_up(self, name: SubscriptionId, place: Place, end: int) -> None:
        """What the subscription still wants below `end` becomes dead letters; it goes on behind that.

        It went on sending while this was read, so only what is unsettled now counts; from there nothing waits.
        """
        unsettled = await self._wanted_below(name, place, end)
        now = own_lanes(self._engine.deliverer.unsettled()).get(name)
        lost = [] if now is None else [entry for entry in unsettled if entry.place > now]
        if lost:
            self._settlement.move_on(name, (end - 1, LAST_INDEX))
            for entry in lost:
                self._bury(entry)

    async def _wanted_below(self, name: SubscriptionId, after: Place, end: int) -> list[Entry]:
        found: list[Entry] = []
        while after[0] < end and (page := await self._engine.backlog(name, after, _PAGE)):
            found += [entry for entry in page if entry.place[0] < end]
            after = page[-1].place
        return found

    def _bury(self, entry: Entry) -> None:
        try:
            delivery = self._engine.prepare(entry)
        except Undeliverable as known:
            delivery = known.delivery
        told = "the log's retention passed it before it could be delivered", delivery.snapshot
        outcome = Outcome(delivery.match, delivery.at, delivery.index, self._now(), "dead", 0, *told)
        self._settlement.bury(delivery, outcome)
