"""The subscriptions that feed pull points: an index of those alone, and those that first read what the log has."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tocsin.broker.engines.embedded import size_of
from tocsin.broker.journal import matchable
from tocsin.flow.addressing import pulled_by
from tocsin.flow.flow import with_meaning
from tocsin.flow.replies import announced
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine, matches
from tocsin.matching.judge import Undecided
from tocsin.model.declarations import Declaration
from tocsin.model.filters import NOTHING
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.model.subscription import Subscription
from tocsin.routing.ring.meeting import tells
from tocsin.store.codec import decode, is_change
from tocsin.store.database import Store
from tocsin.store.judge.judge import CROWDED, NOT_ITS_OWN, Judges
from tocsin.store.log.reader import PAGE_BYTES, LogReader, Stretch

PAGE = 10_000  # records
_AGAIN_SECONDS = 1.0


class Progress(Protocol):
    pulled_to: int

    async def save(self) -> None: ...


class Feeding(NamedTuple):
    """Where we are reached, who evaluates what no index holds, and who is told when that is or cannot be done."""

    base_url: str
    judges: Judges
    unjudged: Callable[[Notification, Subscription, str], None]
    unwritten: Callable[[Notification, Subscription, Exception], None]
    wanted: Callable[[SubscriptionId], None]


class Fed(NamedTuple):
    """By which subscription, into which pull point."""

    subscription: SubscriptionId
    pull_point: str
    notification: Notification


Found = tuple[Notification, str | Exception | None]  # why it could not be judged, or not be written


class Feeds:
    """`standing` are all of them; who reads the log is matched with nothing new until it has caught up."""

    def __init__(
        self, store: Store, put: Callable[[str, str, Notification], None], log: Path, feeding: Feeding
    ) -> None:
        self._store, self._put, self._log, self._feeding = store, put, log, feeding
        self._known = Catalogue()
        self._engine = Engine(self._known, feeding.judges.in_loop, feeding.base_url, tells=tells)
        self.standing: dict[str, Subscription] = {}
        self.lagging: dict[str, int] = {}  # the next record to read
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def match(self, notifications: Sequence[Notification], progress: Progress) -> Iterator[Fed]:
        """Of one record. Whom the loop has no time for reads it from the log, as if it began there."""
        matched = [(each, self._engine.match(each)) for each in notifications]
        undecided = [(said, *pair) for said, (_, pairs) in matched for pair in pairs]
        put_off = {each.id: said.at.offset for said, each, reason in undecided if reason in NOT_ITS_OWN}
        for name, offset in put_off.items():
            self._fall_behind(name, offset, progress)
        for said, each, reason in undecided:
            if each.id not in put_off:
                self._feeding.unjudged(said, each, reason)
        for said, (found, _) in matched:
            for each in found:
                if each.id not in put_off and (point := pulled_by(each)) is not None:
                    yield from self._fed(said, each, point)

    def wanting(self, notification: Notification) -> tuple[int, bool]:
        """How many subscriptions take it for pull points, and whether that is all."""
        if not self.standing:
            return 0, True
        found, undecided = self._engine.match(notification)
        return len(found), not undecided and not self.lagging

    def _fed(self, said: Notification, subscription: Subscription, point: str) -> Iterator[Fed]:
        told = _told(said, subscription, self._known, self._feeding.base_url)
        if isinstance(told, Exception):
            self._feeding.unwritten(said, subscription, told)
        else:
            self._feeding.wanted(subscription.id)
            yield Fed(subscription.id, point, told)

    def _fall_behind(self, name: SubscriptionId, offset: int, progress: Progress) -> None:
        self._engine.remove(name)
        self.lagging[name] = offset
        self._follow(name, progress)

    def declare(self, what: Declaration) -> None:
        self._known.declare(what)

    def stand(self, subscription: Subscription) -> None:
        self.standing[subscription.id] = subscription
        self._feeding.judges.in_loop.expect(subscription.filters)
        if subscription.id not in self.lagging and subscription.filters != (NOTHING,):
            self._engine.apply(subscription)

    def change(self, change: Changed, progress: Progress) -> None:
        """Who begins in the past reads it first, from where a saving that knew it already left it."""
        subscription = change.subscription
        if self._begins_before(change):
            self.lagging.setdefault(subscription.id, subscription.since.offset)
            self._follow(subscription.id, progress)
        self.stand(subscription)

    def end(self, subscription: SubscriptionId) -> None:
        """It feeds no pull point any more."""
        self._engine.remove(subscription)
        self.standing.pop(subscription, None)
        self.lagging.pop(subscription, None)

    def _begins_before(self, change: Changed) -> bool:
        subscription = change.subscription
        if subscription.since.offset >= change.at.offset or subscription.id in self.standing:
            return False
        return self._store.past.is_first(change)

    def resume(self, progress: Progress) -> None:
        for name in list(self.lagging):
            if name in self.standing:
                self._follow(name, progress)
            else:
                del self.lagging[name]

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _follow(self, name: str, progress: Progress) -> None:
        before = self._tasks.get(name)
        if before is None or before.done():
            task = self._tasks[name] = asyncio.create_task(self._read_on(name, progress))
            task.add_done_callback(lambda task: self._forget(name, task))

    def _forget(self, name: str, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(name) is task:  # it may have fallen behind again since
            del self._tasks[name]

    async def _read_on(self, name: str, progress: Progress) -> None:
        """Page by page up to where all the others are; what fails is tried again from the page it failed at."""
        told = ""
        while name in self.lagging:
            try:
                await progress.save()  # before the next page: what cannot be saved must not pile up
                await self._read_next(name, progress.pulled_to)
            except Exception as problem:
                if told != (told := f"the past of pull point {name} cannot be read on: {problem}"):
                    asyncio.get_running_loop().call_exception_handler({"message": told, "exception": problem})
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _read_next(self, name: str, end: int) -> None:
        if (at := self.lagging.get(name)) is None:
            return
        if at < end:
            await self._read_page(name, at, min(at + PAGE, end))
        else:
            del self.lagging[name]
            self.stand(self.standing[name])

    async def _read_page(self, name: str, at: int, stop: int) -> None:
        found, stop = await asyncio.to_thread(self._wanted, name, at, stop)
        if self.lagging.get(name) == at and (point := pulled_by(self.standing[name])) is not None:
            for each, problem in found:
                match problem:
                    case None:
                        self._feeding.wanted(SubscriptionId(name))
                        self._put(point, name, each)
                    case str():
                        self._feeding.unjudged(each, self.standing[name], problem)
                    case _:
                        self._feeding.unwritten(each, self.standing[name], problem)
            self.lagging[name] = stop

    def _wanted(self, name: str, start: int, stop: int) -> tuple[list[Found], int]:
        """Each as of the state it met, and where the page ends, by records or by bytes.

        What is older than the subscription meets its first state.
        """
        history = self._store.past.history(SubscriptionId(name))
        known = self._store.past.catalogue_along(start, stop)
        page = Stretch(stop)
        found: list[Found] = []
        left = PAGE_BYTES
        with contextlib.closing(LogReader(self._log)) as reader:
            for offset, payload in page.of(reader.kept_frames(start, stop)):
                if is_change(payload) or not isinstance(record := decode(payload), Accepted):
                    continue
                state = history.state_at(offset)
                wanted = list(self._wanted_by(state, matchable(record), known.at(offset)))
                if any(problem == CROWDED for _, problem in wanted):  # by others who read: it waits
                    return found, offset
                found += wanted
                left -= sum(size_of(each) for each, _ in wanted)
                if left <= 0:
                    return found, offset + 1
        return found, page.stop

    def _wanted_by(
        self, subscription: Subscription, notifications: Sequence[Notification], known: Catalogue
    ) -> Iterator[Found]:
        """Also those of which that cannot be told, or that cannot be written, and why."""
        for each in notifications:
            try:
                if matches(subscription, each, known, self._feeding.judges.aside, self._feeding.base_url, tells):
                    told = _told(each, subscription, known, self._feeding.base_url)
                    yield (each, told) if isinstance(told, Exception) else (told, None)
            except Undecided as problem:
                yield each, str(problem)


def _told(said: Notification, subscription: Subscription, known: Catalogue, base_url: str) -> Notification | Exception:
    """Whatever cannot be written for one of them is not to stop the others."""
    try:
        return announced(with_meaning(said, subscription, known), subscription, base_url)
    except Exception as problem:
        return problem
