"""The driver's part: publishes the node's subscriptions and declarations as files that tasks can be as of."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Self

import msgspec
from msgspec.structs import replace

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.index.compiled import compiled
from tocsin.model.declarations import Ontology, Withdrawn
from tocsin.model.records import Changed
from tocsin.model.subscription import Position, Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.state.published import Changes, Published, StateFiles
from tocsin.pipeline.tables.storage import Storage
from tocsin.store import snapshots
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.judge.judge import FILTER_SECONDS, SECONDS
from tocsin.store.places import Places

LEAST = 1_000  # changes of subscriptions; fewer are taken as quickly one by one
PART = 10  # a new snapshot is made when so many parts of what the last one held have changed
RUN = "run"  # its files stay, to be gone on with
FILES = 16  # of changes; more are made one


class StatePublisher:
    """One for a job: what it published for batches before the last it removes, and `job` tells its files from others'.

    The node's database is opened here and nowhere else in the pipeline.
    """

    def __init__(
        self,
        data: Path,
        storage: Storage,
        job: str = RUN,
        *,
        least: int = LEAST,
        bring_up: Callable[[], None] | None = None,
        home: Path | None = None,
    ) -> None:
        """`bring_up` has the database follow the changes that nodes share; a node's own follows its log by itself.
        `home` is the job's own data directory, where that is another node's."""
        self._bring_up = bring_up
        self._store, self._base_url = open_store(data)
        self.node = self._store.meta("node") or ""
        self._job, self._least = job, least
        self._files = StateFiles(storage)
        self._folder = self._files.folder(f"{job}/snapshots") or Places(home or data).compiled / job
        self._snapshot: tuple[int, str] | None = None
        self._counted = (-1, 0)
        self._changes: list[Changes] = []
        self._declared = ("", -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()
        if self._job.split("/")[0] != RUN:
            self._files.remove_folder(self._job)

    def publish(self, start: int) -> Published:
        """For a batch whose first record is at `start`, and whose last can be read by now."""
        if self._bring_up is not None:
            self._bring_up()
        declared, made = self._publish_declarations(start), self._snapshot_for(start)
        self._publish_changes(0 if made is None else made[0], self._store.past.end())
        return self._published(declared, made, tuple(self._changes))

    def publish_frozen(self, offset: int, given: Iterable[Subscription] | None = None) -> Published:
        """The subscriptions as of one record, or others that are given, as if they had always been there."""
        declared = self._publish_declarations(offset, offset)
        standing = self._store.past.subscriptions(offset) if given is None else given
        name = self._save((replace(each, since=Position(each.since.node, 0)) for each in standing), offset)
        return self._published(declared, (offset, name), (), frozen=True)

    def catalogue(self, offset: int) -> Catalogue:
        """What is declared as of one record."""
        return self._store.past.catalogue(offset)

    def changes(self, since: int, before: int) -> Iterator[Changed]:
        """Of subscriptions, from one record up to another."""
        return self._store.past.changes(since=since, before=before)

    def _published(
        self, declared: str, made: tuple[int, str] | None, changes: tuple[Changes, ...], *, frozen: bool = False
    ) -> Published:
        base_url = self._store.meta("base_url") or self._base_url  # a node that was started again may be elsewhere
        seconds = float(self._store.meta(FILTER_SECONDS) or SECONDS)
        at, snapshot = made or (0, None)
        return Published(base_url, seconds, declared, snapshot, at, changes, frozen, self.node)

    def _snapshot_for(self, start: int) -> tuple[int, str] | None:
        """The newest at or below an offset, made now if the last one is too old."""
        past, found = self._store.past, snapshots.newest(self._folder, start)
        since = past.count_changes(since=0 if found is None else found[0], before=start)
        if since >= max(self._least, (0 if found is None else self._held(found[0])) // PART):
            last: tuple[int, str] | None = (start, self._save(past.subscriptions(start), start))
        else:
            last = found and (found[0], f"{self._job}/snapshots/{found[1].name}")
        if last != self._snapshot:
            self._snapshot = last
            self._forget_changes()
        return last

    def _held(self, offset: int) -> int:
        """How many changes are before a snapshot's offset; counted once, for that takes as long as there are many."""
        if self._counted[0] != offset:
            self._counted = offset, self._store.past.count_changes(since=0, before=offset)
        return self._counted[1]

    def _save(self, standing: Iterable[Subscription], offset: int) -> str:
        path = snapshots.save(self._folder, compiled(standing, self._store.past.catalogue(offset)), offset)
        name = f"{self._job}/snapshots/{path.name}"
        self._files.put_folder(name, path)
        return name

    def _publish_changes(self, start: int, stop: int) -> None:
        """Those from the snapshot on: only what is new, until there are too many files."""
        if len(self._changes) >= FILES:
            self._forget_changes()
        published = self._changes[-1].stop if self._changes else start
        found = [encode(each) for each in self._store.past.changes(since=published, before=stop)]
        if found:
            made = Changes(published, stop, f"{self._job}/changes/{published:020}-{stop:020}.msgpack")
            self._files.put(made.name, msgspec.msgpack.encode(found))
            self._changes.append(made)

    def _forget_changes(self) -> None:
        """The batch that used them is done: the next begins with other files."""
        for each in self._changes:
            self._files.remove(each.name)
        self._changes = []

    def _check_ontologies(self, start: int, stop: int | None) -> None:
        """As of a record, and each later one up to another. They made a model when they were declared; without one
        all that is published from then on would be quarantined."""
        known = self._store.past.catalogue(start)
        _check_concepts(known, start)
        for each in self._store.past.declarations(since=start, before=stop):
            known.declare(each.what)
            if isinstance(each.what, Ontology | Withdrawn):
                _check_concepts(known, each.at.offset + 1)

    def _publish_declarations(self, start: int, stop: int | None = None) -> str:
        found = [encode(each) for each in self._store.past.declarations()]
        if len(found) != self._declared[1]:
            self._check_ontologies(start, stop)
            data = msgspec.msgpack.encode(found)
            name = f"{self._job}/declared/{blake2b(data, digest_size=16).hexdigest()}.msgpack"
            self._files.put(name, data)
            self._declared = (name, len(found))
        return self._declared[0]


def _check_concepts(known: Catalogue, offset: int) -> None:
    try:
        _ = known.concepts
    except Exception as problem:
        raise PipelineError(
            f"the ontologies {', '.join(sorted(known.ontologies))} as of record {offset} can no longer be used:"
            f" {problem}; go on with the version of Tocsin that took them, or restore the data directory from a backup"
        ) from problem


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
