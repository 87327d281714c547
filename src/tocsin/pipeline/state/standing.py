"""The task's part: subscriptions and declarations as a record meets them, kept from task to task."""

from collections.abc import Iterator
from functools import cache, lru_cache
from heapq import merge
from pathlib import Path

import msgspec

from tocsin.flow.flow import Flow
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.index.compiled import Compiled
from tocsin.model.declarations import Declaration
from tocsin.model.records import Changed, Declared
from tocsin.model.subscription import Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.state.published import Published, StateFiles
from tocsin.pipeline.tables.storage import Storage
from tocsin.store import snapshots
from tocsin.store.codec import decode
from tocsin.store.errors import StoreError
from tocsin.store.judge.judge import ProcessJudge
from tocsin.store.past import Along

_records = msgspec.msgpack.Decoder(list[bytes]).decode


EARLIER = "the state was published for records from"


class Standing:
    """As of one record after the other. It moves forward with the log; to go back it begins at the snapshot again.

    Frozen, it is as of its snapshot for all.
    """

    def __init__(self, files: StateFiles, published: Published) -> None:
        self._files, self._published = files, published
        self._judge = _judge(published.filter_seconds)
        self._at = -1
        self.flow = Flow(published.base_url, judge=self._judge)

    def follow(self, published: Published) -> bool:
        """Goes on with what was published since; False when that is something else."""
        known = self._published
        same = ("base_url", "filter_seconds", "frozen", *(("snapshot",) if known.frozen else ()))
        if any(getattr(published, name) != getattr(known, name) for name in same):
            return False
        self._published = published
        return True

    def bring_to(self, offset: int) -> None:
        told = self._published
        if told.frozen:
            if self._at < 0:
                self.flow, self._at = self._begun(), 0
            return
        if offset < told.made:
            raise PipelineError(f"{EARLIER} {told.made} on, not for {offset}")
        if not told.made <= self._at <= offset:
            self._at = -1  # should building fail, the next task must not go on from here
            self.flow, self._at = self._begun(), told.made
        for record in self._between(self._at, offset):
            self._take(record.subscription if isinstance(record, Changed) else record.what)
        self._at = offset

    def is_first(self, change: Changed) -> bool:
        """Whether the subscription begins before its first record, and this is it; frozen, all is met in its turn."""
        subscription = change.subscription
        new = subscription.state != "ended" and subscription.id not in self.flow
        return new and subscription.since.offset < change.at.offset and not self._published.frozen

    def known_along(self, start: int, stop: int) -> Along:
        if self._published.frozen:
            return Along(self.flow.catalogue, iter(()))
        later = (each for each in self._declared() if start <= each.at.offset < stop)
        return Along(self._catalogue(start), later)

    def step(self, offset: int, change: Subscription | Declaration | None) -> None:
        """Past the record at that offset, and what it changed."""
        if self._published.frozen:
            return
        if change is not None:
            self._take(change)
        self._at = offset + 1

    @property
    def digest(self) -> str | None:
        return self._published.digest

    def _begun(self) -> Flow:
        told = self._published
        known = self._catalogue(told.made)
        if told.snapshot is None:
            return Flow(told.base_url, known, self._judge)
        return Flow(told.base_url, known, self._judge, _compiled(self._files.local(told.snapshot), known))

    def _catalogue(self, offset: int) -> Catalogue:
        return Catalogue(each.what for each in self._declared() if each.at.offset < offset)

    def _declared(self) -> list[Declared]:
        return [each for each in _read(self._files, self._published.declared) if isinstance(each, Declared)]

    def _between(self, start: int, stop: int) -> Iterator[Changed | Declared]:
        """In the order of the log."""
        changes = (
            record
            for file in self._published.changes
            if file.stop > start and file.start < stop
            for record in _read(self._files, file.name)
        )
        both = merge(changes, self._declared(), key=lambda each: each.at.offset)
        return (each for each in both if start <= each.at.offset < stop)

    def _take(self, change: Subscription | Declaration) -> None:
        if isinstance(change, Subscription):
            self.flow.apply(change)
        else:
            self.flow.declare(change)


def _compiled(path: Path, known: Catalogue) -> Compiled:
    try:
        return Compiled(snapshots.load(path), known)
    except (StoreError, ValueError) as problem:
        raise PipelineError(f"{problem}; remove {path} and start again: it is made anew") from problem


@lru_cache(maxsize=64)
def _read(files: StateFiles, name: str) -> tuple[Changed | Declared, ...]:
    found = tuple(decode(each) for each in _records(files.get(name)))
    return tuple(each for each in found if isinstance(each, Changed | Declared))


@cache
def _judge(seconds: float) -> ProcessJudge:
    """One for a worker process, with which what it started ends."""
    return ProcessJudge(seconds)


_kept: dict[tuple[Storage, str], Standing] = {}


def standing(storage: Storage, published: Published) -> Standing:
    """One of each node for a worker process, which outlives its tasks: from nothing, every batch would pay for the
    whole index."""
    key = storage, published.node
    found = _kept.get(key)
    if found is None or not found.follow(published):
        for other in [each for each in _kept if each == key or each[0] != storage]:
            del _kept[other]
        found = _kept[key] = Standing(StateFiles(storage), published)
    return found
