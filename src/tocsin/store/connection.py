"""The one way to a SQLite file: write-ahead log, explicit transactions, any thread."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from tocsin.store import former
from tocsin.store.errors import DatabaseFailed, NewerFormat
from tocsin.store.log.reader import until_bytes

_BUSY_SECONDS = 10.0
Durability = Literal["FULL", "NORMAL"]  # FULL survives a power cut; NORMAL a crash of the process only


class Connection:
    """One connection to write and one to read, each behind a lock: a reader never waits for a writer's sync."""

    def __init__(self, path: Path, reader: sqlite3.Connection, writer: sqlite3.Connection | None) -> None:
        self._path, self._reader, self._writer = path, reader, writer
        self._read_lock, self._write_lock = Lock(), Lock()
        self._version_seen: int | None = None

    @classmethod
    def open(cls, path: Path, schema: Sequence[str], *, read_only: bool, page: int = 4_096) -> Self:
        """`schema` has one script for each version of the file's format. A new file has pages of so many bytes."""
        opened: list[sqlite3.Connection] = []
        try:
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
                opened.append(_connect(path, "rwc"))
                _prepare(opened[0], schema, page)
            opened.append(_connect(path, "ro"))
            _check_format(path, opened[-1], len(schema))
        except BaseException as problem:
            for connection in opened:
                connection.close()
            if isinstance(problem, sqlite3.Error):
                raise DatabaseFailed(f"cannot open {path}: {problem}") from problem
            raise
        return cls(path, opened[-1], None if read_only else opened[0])

    @property
    def is_read_only(self) -> bool:
        return self._writer is None

    @contextmanager
    def write(self, durability: Durability) -> Iterator[sqlite3.Connection]:
        """One transaction: kept when the block ends, undone when it raises."""
        if self._writer is None:
            raise DatabaseFailed(f"{self._path} was opened to read only")
        with self._write_lock, self._translated():
            self._writer.execute(f"PRAGMA synchronous={durability}")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def execute(self, statement: str, values: Sequence[object]) -> None:
        """A transaction of one statement, on disk when it returns."""
        with self.write("FULL") as transaction:
            transaction.execute(statement, values)

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._read_lock, self._translated():
            return self._reader.execute(query, values).fetchall()

    def first_rows(self, query: str, values: Sequence[object], most_bytes: int) -> list[Any]:
        """As `rows`, until the last column has so many bytes."""
        with self._read_lock, self._translated(), closing(self._reader.execute(query, values)) as rows:
            return list(until_bytes(rows, most_bytes, lambda row: len(row[-1])))

    def changed(self) -> bool:
        """Whether someone else may have written since the last call."""
        asked = self._writer or self._reader
        lock = self._write_lock if self._writer else self._read_lock
        if not lock.acquire(blocking=False):
            return True
        try:
            with self._translated():
                version = asked.execute("PRAGMA data_version").fetchone()[0]
        finally:
            lock.release()
        before, self._version_seen = self._version_seen, version
        return bool(before != version)

    def close(self) -> None:
        with self._read_lock, self._write_lock:
            self._reader.close()
            if self._writer is not None:
                self._writer.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise DatabaseFailed(f"{self._path}: {problem}") from problem


def _connect(path: Path, mode: Literal["ro", "rwc"]) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(
        address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
    )


def _prepare(connection: sqlite3.Connection, schema: Sequence[str], page: int) -> None:
    connection.execute(f"PRAGMA page_size={page}")
    _use_write_ahead_log(connection)
    connection.create_function("packed", -1, former.packed)
    connection.create_function("words", 1, former.words)
    connection.create_function("item", 2, former.item)
    connection.execute("BEGIN IMMEDIATE")  # two processes may come first at once
    for script in schema[_format(connection) :]:
        for statement in script.split(";"):
            connection.execute(statement)
    if _format(connection) < len(schema):
        connection.execute(f"PRAGMA user_version={len(schema)}")
    connection.execute("COMMIT")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for others here, however long it was told to: two that come first at once would fail."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _check_format(path: Path, connection: sqlite3.Connection, known: int) -> None:
    found = _format(connection)
    if found > known:
        raise NewerFormat(f"{path} has format {found}; this version reads formats up to {known}")
    if found < known:
        raise DatabaseFailed(f"{path} has format {found}, not {known}: it is brought there when the node opens it")


def _format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
