"""Commits parts to the tables, each once, and keeps the tables tidy.

Parts of small batches are staged in the outbox's file, in the transaction that publishes their batch, and committed
together: a commit costs as much as matching a thousand notifications. The number of the last batch goes into each
table's log as the application's transaction version, so that what was committed is known after a crash anywhere.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby

import pyarrow as pa
from deltalake import CommitProperties, PostCommitHookProperties, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from tocsin.pipeline.tables import parts
from tocsin.pipeline.tables.harvests import Harvests
from tocsin.pipeline.tables.parts import Part
from tocsin.pipeline.tables.schemas import DAY, SCHEMAS, as_stored, conformed
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox

COMMIT_SECONDS = 10.0  # a row is in its table by then
STAGED_PARTS = 2_000  # so many are committed at once, however young
COMPACT_FILES = 32  # small files of a day; so many are made one
TARGET_BYTES = 128 << 20
CHECKPOINT_COMMITS = 50
VACUUM_HOURS = 1  # whoever reads an old version has so long
_QUIET = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


class Committer:
    """Commits what is staged: in a thread of its own, when it is old enough, and at the end."""

    def __init__(
        self,
        storage: Storage,
        outbox: Outbox,
        failed: Callable[[str], None],
        *,
        seconds: float = COMMIT_SECONDS,
        beside: Callable[[], None] | None = None,
    ) -> None:
        """`beside` is called as often: what it keeps goes by published batches, and not by what they staged."""
        self._storage, self._outbox, self._application = storage, outbox, outbox.application()
        self._seconds, self._failed, self._beside = seconds, failed, beside or (lambda: None)
        self._tables: dict[tuple[str, str], _Table] = {}
        self._harvests = Harvests(storage)
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="tables", daemon=True)

    def __enter__(self) -> "Committer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.commit()
        self._beside()

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._stop.wait(min(1.0, self._seconds / 4)):
            try:
                count, oldest = self._outbox.staged_since()
                if count >= STAGED_PARTS or (count and time.time() - oldest >= self._seconds * 0.75):
                    self.commit()
                if time.monotonic() - looked >= self._seconds * 0.75:
                    looked = time.monotonic()
                    self._beside()
            except Exception as problem:  # staged rows wait; the next turn tries again
                self._failed(f"the tables wait: {problem}")

    def commit(self) -> None:
        """All that is staged now. Killed between two tables, the next one commits what is missing."""
        with self._lock:
            staged = self._outbox.staged()
            if not staged:
                return
            by_table: dict[tuple[str, str], list[tuple[int, Part]]] = defaultdict(list)
            for batch, data in staged:
                part, (application, version) = parts.decode(data), self._version(batch)
                by_table[application, part.table].append((version, part))
            for (application, name), found in by_table.items():
                table = self._tables.get((application, name))
                if table is None:
                    table = self._tables[application, name] = _Table(self._storage, name, application)
                table.commit(found, max(version for version, _ in found))
            self._harvests.gather([part for found in by_table.values() for _, part in found])
            self._outbox.unstage({batch for batch, _ in staged})

    def _version(self, batch: int) -> tuple[str, int]:
        """As which version of which application a table knows a batch. The stream's come one after the other; one that
        is none of the stream's is an application of its own."""
        return (self._application, batch) if batch >= 0 else (f"{self._application}{batch}", 0)


class _Table:
    def __init__(self, storage: Storage, name: str, application: str) -> None:
        self._storage, self._name, self._application = storage, name, application
        self._delta = storage.opened(name)
        self._commits = 0
        self._small: dict[str, int] = defaultdict(int)  # files of a day since it was compacted

    def commit(self, found: Sequence[tuple[int, Part]], last: int) -> None:
        self._delta.update_incremental()  # without it a second commit is told of a conflict with the first
        done = self._delta.transaction_version(self._application)
        fresh = [part for batch, part in found if done is None or batch > done]
        if not fresh:
            return
        files = [each for each in fresh if each.path] + self._merged([each for each in fresh if not each.path])
        actions: list[AddAction | RemoveAction] = [
            AddAction(each.path, each.size, {DAY: each.day}, each.made, True, each.stats()) for each in files
        ]
        version = CommitProperties(app_transactions=[Transaction(self._application, last)])
        self._delta.create_write_transaction(
            actions,
            "append",
            as_stored(self._name),
            [DAY],
            commit_properties=version,
            post_commithook_properties=_QUIET,
        )
        self._tidy(files)

    def _merged(self, few: Sequence[Part]) -> list[Part]:
        """Rows that came with their tasks' answers, a file for each day."""
        found = []
        for day, of_day in groupby(sorted(few, key=lambda part: part.day), key=lambda part: part.day):
            each = list(of_day)
            batches = (batch for part in each for batch in parts.rows_of(self._storage, part))
            rows = pa.Table.from_batches([conformed(batch, SCHEMAS[self._name]) for batch in batches])
            found.append(
                parts.write(self._storage, self._name, day, rows, min(p.low for p in each), max(p.high for p in each))
            )
        return found

    def _tidy(self, added: Sequence[Part]) -> None:
        self._commits += 1
        for part in added:
            self._small[part.day] += part.size < TARGET_BYTES // 4
        self._delta.update_incremental()
        with suppress(DeltaError):  # somebody else may tidy as well; the next time will do
            for day in [day for day, count in self._small.items() if count >= COMPACT_FILES]:
                del self._small[day]
                self._delta.optimize.compact(
                    partition_filters=[(DAY, "=", day)], target_size=TARGET_BYTES, post_commithook_properties=_QUIET
                )
                self._delta.vacuum(VACUUM_HOURS, dry_run=False, enforce_retention_duration=False)
            if self._commits % CHECKPOINT_COMMITS == 0:
                self._delta.create_checkpoint()
                self._delta.cleanup_metadata()
