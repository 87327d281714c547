"""The subscriptions that feed pull points: an index of those alone, and those that first read what the log has."""

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tocsin.app.embedded import matchable
from tocsin.flow.pull_points import pulled_by
from tocsin.matching.engine import Engine, matches
from tocsin.model.filters import NOTHING
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.model.subscription import Subscription
from tocsin.store.codec import decode, is_change
from tocsin.store.database import Store
from tocsin.store.log_reader import LogReader

PAGE = 10_000  # records
_AGAIN_SECONDS = 1.0


class Progress(Protocol):
    pulled_to: int

    async def save(self) -> None: ...


class Feeds:
    """True while a notification can match one of them; who reads the log does not count until it has caught up."""

    def __init__(self, store: Store, put: Callable[[str, str, Notification], None], log: Path) -> None:
        self._store, self._put, self._log = store, put, log
        self._engine = Engine()
        self._standing: dict[str, Subscription] = {}
        self.lagging: dict[str, int] = {}  # the next record to read
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._engine)

    def any(self) -> bool:
        return bool(self._standing)

    def match(self, notification: Notification) -> list[tuple[str, str]]:
        """By which subscription, into which pull point."""
        found = self._engine.match(notification)
        return [(each.id, point) for each in found if (point := pulled_by(each)) is not None]

    def stand(self, subscription: Subscription) -> None:
        self._standing[subscription.id] = subscription
        if subscription.id not in self.lagging and subscription.filters != (NOTHING,):
            self._engine.apply(subscription)

    def change(self, change: Changed, progress: Progress) -> None:
        subscription = change.subscription
        if subscription.id not in self._standing and subscription.since.offset < change.at.offset:
            self.lagging[subscription.id] = subscription.since.offset
            self._follow(subscription.id, progress)
        self.stand(subscription)

    def end(self, subscription: Subscription) -> None:
        self._engine.apply(subscription)
        self._standing.pop(subscription.id, None)
        self.lagging.pop(subscription.id, None)

    def resume(self, progress: Progress) -> None:
        for name in list(self.lagging):
            if name in self._standing:
                self._follow(name, progress)
            else:
                del self.lagging[name]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _follow(self, name: str, progress: Progress) -> None:
        task = asyncio.create_task(self._read_on(name, progress))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_on(self, name: str, progress: Progress) -> None:
        """Page by page up to where all the others are; what fails is tried again from the page it failed at."""
        while (at := self.lagging.get(name)) is not None:
            stop = min(at + PAGE, progress.pulled_to)
            if at >= stop:
                del self.lagging[name]
                self.stand(self._standing[name])
                return
            try:
                await self._read_page(name, at, stop)
                await progress.save()
            except Exception:
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _read_page(self, name: str, at: int, stop: int) -> None:
        found = await asyncio.to_thread(self._wanted, name, at, stop)
        if self.lagging.get(name) == at and (point := pulled_by(self._standing[name])) is not None:
            for each in found:
                self._put(point, name, each)
            self.lagging[name] = stop

    def _wanted(self, name: str, start: int, stop: int) -> list[Notification]:
        """Each as of the state it met; what is older than the subscription meets its first."""
        history = self._store.history(SubscriptionId(name))
        offsets = [change.at.offset for change in history]
        found: list[Notification] = []
        with contextlib.closing(LogReader(self._log)) as reader:
            for offset, payload in reader.kept_frames(start, stop):
                if is_change(payload) or not isinstance(record := decode(payload), Accepted):
                    continue
                state = history[max(0, bisect_right(offsets, offset) - 1)].subscription
                found += [each for each in matchable(record) if matches(state, each)]
        return found
