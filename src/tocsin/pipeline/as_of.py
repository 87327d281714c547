"""The subscriptions as of a record, kept from task to task."""

from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from tocsin.flow.flow import Flow
from tocsin.model.records import Changed
from tocsin.model.subscription import Position, Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.places import Places
from tocsin.store.database import Store


class Standing(Protocol):
    """Which subscriptions a record meets."""

    flow: Flow

    def bring_to(self, offset: int) -> None: ...
    def is_first(self, change: Changed) -> bool: ...
    def step(self, offset: int, change: Subscription | None) -> None: ...


class AsOf:
    """Those that stood when the record was accepted. Goes forward with the log; to go back it is built anew."""

    def __init__(self, store: Store, base_url: str) -> None:
        self._store, self._base_url = store, base_url
        self.flow = Flow(base_url)
        self._at = 0

    def current(self) -> bool:
        """A node that was started again may be reached elsewhere."""
        return self._store.meta("base_url") == self._base_url

    def close(self) -> None:
        self._store.close()

    def bring_to(self, offset: int) -> None:
        if 0 < self._at <= offset:
            for change in self._store.changes(since=self._at, before=offset):
                self.flow.apply(change.subscription)
        else:
            self._at = 0  # should building fail, the next task must not go on from here
            self.flow = Flow(self._base_url)
            for subscription in self._store.state_as_of(offset):
                self.flow.apply(subscription)
        self._at = offset

    def is_first(self, change: Changed) -> bool:
        """Whether the subscription begins before its first record, and this is it."""
        subscription = change.subscription
        new = subscription.state != "ended" and subscription.id not in self.flow
        return new and subscription.since.offset < change.at.offset

    def step(self, offset: int, change: Subscription | None) -> None:
        """Past the record at that offset, and what it changed."""
        if change is not None:
            self.flow.apply(change)
        self._at = offset + 1


class Frozen:
    """Those that stand before one record, for all records: as if they had been there from the beginning."""

    def __init__(self, store: Store, base_url: str, offset: int) -> None:
        self.flow = Flow(base_url)
        for each in store.state_as_of(offset):
            self.flow.apply(replace(each, since=Position(each.since.node, 0)))

    def bring_to(self, offset: int) -> None:
        pass

    def is_first(self, change: Changed) -> bool:
        """All that it asks for is met in its turn."""
        del change
        return False

    def step(self, offset: int, change: Subscription | None) -> None:
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


_kept: dict[Path, AsOf] = {}


def as_of(data: Path) -> AsOf:
    """One for a worker process, which outlives its tasks: from nothing, every batch would pay for the whole index."""
    found = _kept.get(data)
    if found is not None and found.current():
        return found
    for old in _kept.values():
        old.close()
    _kept.clear()
    return _kept.setdefault(data, AsOf(*open_store(data)))


def frozen(data: Path, offset: int) -> Frozen:
    store, base_url = open_store(data)
    try:
        return Frozen(store, base_url, offset)
    finally:
        store.close()
