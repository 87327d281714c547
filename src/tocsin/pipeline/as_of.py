"""Subscriptions and declarations as a record met them, kept from task to task and begun from compiled snapshots."""

from collections.abc import Iterator
from contextlib import closing
from functools import cache
from heapq import merge
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from tocsin.flow.flow import Flow
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.matching.judge import Judge
from tocsin.model.declarations import Declaration
from tocsin.model.records import Changed, Declared
from tocsin.model.subscription import Position, Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.store import snapshots
from tocsin.store.database import Store
from tocsin.store.errors import StoreError
from tocsin.store.judge.judge import FILTER_SECONDS, SECONDS, ProcessJudge
from tocsin.store.past import Along
from tocsin.store.places import Places

LEAST = 1_000  # changes of subscriptions; fewer are taken as quickly from the database
PART = 10  # a new one is made when so many parts of what the last one held have changed


def keep_up(data: Path, offset: int, least: int = LEAST) -> Path | None:
    """Makes a snapshot as of an offset if the last one is too old; the same bytes if it is made again."""
    places = Places(data)
    with closing(Store.open(places.database, read_only=True)) as store:
        last = snapshots.newest(places.compiled, offset)
        since = store.past.count_changes(since=0 if last is None else last[0], before=offset)
        if since < max(least, 0 if last is None else store.past.count_changes(since=0, before=last[0]) // PART):
            return None
        snapshot = compiled(store.past.subscriptions(offset), store.past.catalogue(offset))
        return snapshots.save(places.compiled, snapshot, offset)


def flow_over(folder: Path, offset: int, store: Store, base_url: str, judge: Judge) -> tuple[Flow, int] | None:
    """A flow over the newest snapshot at or below an offset, and as of where; None when there is none to use."""
    found = snapshots.newest(folder, offset)
    if found is None:
        return None
    made, path = found
    known = store.past.catalogue(made)
    try:
        base = Compiled(snapshots.load(path), known)
    except (StoreError, ValueError):  # of other rules than today's, or taken away meanwhile
        return None
    return Flow(base_url, known, judge, base), made


class SubscriptionState(Protocol):
    """The subscriptions that a record meets, and what was declared by then."""

    flow: Flow

    def bring_to(self, offset: int) -> None: ...
    def is_first(self, change: Changed) -> bool: ...
    def known_along(self, start: int, stop: int) -> Along: ...
    def step(self, offset: int, change: Subscription | Declaration | None) -> None: ...


class AsOf:
    """The subscriptions as of each record. It moves forward with the log; to go back it is built anew."""

    def __init__(self, store: Store, base_url: str, compiled: Path | None = None) -> None:
        self._store, self._base_url, self._compiled = store, base_url, compiled
        self._judge = _judge_for(store)
        self.flow = Flow(base_url, judge=self._judge)
        self._at = 0

    def current(self) -> bool:
        """A node that was started again may be reached elsewhere."""
        return self._store.meta("base_url") == self._base_url

    def close(self) -> None:
        self._store.close()

    def bring_to(self, offset: int) -> None:
        if not 0 < self._at <= offset:
            self._at = 0  # should building fail, the next task must not go on from here
            self.flow, begun = self._begun(offset)
            self._at = begun
        for record in self._records(offset):
            self._take(record.subscription if isinstance(record, Changed) else record.what)
        self._at = offset

    def _begun(self, offset: int) -> tuple[Flow, int]:
        """From a snapshot where there is one."""
        if self._compiled is not None:
            found = flow_over(self._compiled, offset, self._store, self._base_url, self._judge)
            if found is not None:
                return found
        flow = Flow(self._base_url, self._store.past.catalogue(offset), self._judge)
        for subscription in self._store.past.subscriptions(offset):
            flow.apply(subscription)
        return flow, offset

    def is_first(self, change: Changed) -> bool:
        """Whether the subscription begins before its first record, and this is it."""
        subscription = change.subscription
        new = subscription.state != "ended" and subscription.id not in self.flow
        return new and subscription.since.offset < change.at.offset

    def known_along(self, start: int, stop: int) -> Along:
        return self._store.past.catalogue_along(start, stop)

    def step(self, offset: int, change: Subscription | Declaration | None) -> None:
        """Past the record at that offset, and what it changed."""
        if change is not None:
            self._take(change)
        self._at = offset + 1

    def _take(self, change: Subscription | Declaration) -> None:
        if isinstance(change, Subscription):
            self.flow.apply(change)
        else:
            self.flow.declare(change)

    def _records(self, before: int) -> Iterator[Changed | Declared]:
        changes = self._store.past.changes(since=self._at, before=before)
        return merge(
            changes, self._store.past.declarations(since=self._at, before=before), key=lambda each: each.at.offset
        )


class Frozen:
    """The subscriptions and declarations as of one record, used for all records of a replay."""

    def __init__(self, store: Store, base_url: str, offset: int) -> None:
        self.flow = Flow(base_url, store.past.catalogue(offset), _judge_for(store))
        for each in store.past.subscriptions(offset):
            self.flow.apply(replace(each, since=Position(each.since.node, 0)))

    def bring_to(self, offset: int) -> None:
        pass

    def is_first(self, change: Changed) -> bool:
        """All that it asks for is met in its turn."""
        del change
        return False

    def known_along(self, start: int, stop: int) -> Along:
        del start, stop
        return Along(self.flow.catalogue, iter(()))

    def step(self, offset: int, change: Subscription | Declaration | None) -> None:
        pass


def open_store(data: Path) -> tuple[Store, str]:
    """The node's database, and where the node is reached."""
    if not Places(data).database.exists():
        raise PipelineError(f"{data} is not a data directory: no node has used it yet")
    store = Store.open(Places(data).database, read_only=True)
    base_url = store.meta("base_url")
    if base_url is None:
        store.close()
        raise PipelineError(f"{data} does not say where its node is reached: no node has been started on it yet")
    return store, base_url


def _judge_for(store: Store) -> ProcessJudge:
    return _judge(float(store.meta(FILTER_SECONDS) or SECONDS))


@cache
def _judge(seconds: float) -> ProcessJudge:
    """One for a worker process, with which what it started ends."""
    return ProcessJudge(seconds)


_kept: dict[Path, AsOf] = {}


def as_of(data: Path) -> AsOf:
    """One for a worker process, which outlives its tasks: from nothing, every batch would pay for the whole index."""
    found = _kept.get(data)
    if found is not None and found.current():
        return found
    for old in _kept.values():
        old.close()
    _kept.clear()
    return _kept.setdefault(data, AsOf(*open_store(data), Places(data).compiled))


def frozen(data: Path, offset: int) -> Frozen:
    store, base_url = open_store(data)
    try:
        return Frozen(store, base_url, offset)
    finally:
        store.close()
