"""What implicit notification must not forget: copies, histories, what is on its way, results, and the world's changes.

The rows are as dumb as they look: what they mean is known to the shell that writes them.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from tocsin.model.identity import Instant, MessageId
from tocsin.semantics.interest.changes import Change, Changing
from tocsin.semantics.interest.ino import Service
from tocsin.store import implicit_outbox
from tocsin.store.connection import Connection
from tocsin.store.implicit_outbox import Outgoing

SCHEMA = (
    implicit_outbox.SCHEMA
    + """
CREATE TABLE implicit_copy (
    id TEXT PRIMARY KEY, notifier TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, body BLOB NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE INDEX implicit_copy_open ON implicit_copy (time) WHERE state <> 'done';
CREATE INDEX implicit_copy_done ON implicit_copy (time) WHERE state = 'done';
CREATE TABLE implicit_history (
    notifier TEXT NOT NULL, message TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (notifier, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX implicit_history_time ON implicit_history (time);
CREATE TABLE implicit_told (
    message TEXT NOT NULL, notifier TEXT NOT NULL, copy TEXT NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (message, notifier)
) STRICT, WITHOUT ROWID;
CREATE INDEX implicit_told_time ON implicit_told (time);
CREATE TABLE implicit_publication (
    id TEXT PRIMARY KEY, root TEXT NOT NULL, topic TEXT NOT NULL, protocol TEXT NOT NULL, time INTEGER NOT NULL
) STRICT;
CREATE INDEX implicit_publication_time ON implicit_publication (time);
CREATE TABLE implicit_report (
    message TEXT NOT NULL, copy TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (message, copy)
) STRICT;
CREATE TABLE implicit_notifier (service TEXT PRIMARY KEY, subscription TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE TABLE implicit_part (one INTEGER PRIMARY KEY CHECK (one = 1), body BLOB NOT NULL) STRICT;
CREATE TABLE world_change (
    version INTEGER PRIMARY KEY, time INTEGER NOT NULL, by TEXT NOT NULL, body BLOB NOT NULL
) STRICT
"""
)

CopyKind = Literal["copy", "publication"]
State = Literal["waiting", "told", "done"]  # told: its service is, and the central history is being asked
ADDRESSES = "implicit_addresses"
_encode = msgspec.msgpack.Encoder().encode
_decode_change: Callable[[bytes], Change] = msgspec.msgpack.Decoder(Change).decode
_decode_service = msgspec.msgpack.Decoder(Service).decode


class CopyRow(Struct, frozen=True):
    """The body is empty once it is done: then the id alone counts."""

    id: str
    notifier: str
    kind: CopyKind
    state: State
    body: bytes
    when: Instant


class Publication(Struct, frozen=True):
    id: MessageId
    root: str
    topic: str
    protocol: str
    when: Instant


class Residing(Struct, frozen=True):
    """A notifier of this node, and the subscription by which its service is told."""

    service: Service
    subscription: str


class Writing(Struct):
    """All that one turn of the shell changes."""

    copies: list[CopyRow] = field(default_factory=list)
    histories: list[tuple[str, MessageId, Instant]] = field(default_factory=list)
    told: list[tuple[MessageId, str, str, Instant]] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    publications: list[Publication] = field(default_factory=list)
    reports: list[tuple[MessageId, str, bytes]] = field(default_factory=list)
    joined: list[Residing] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    forget: Instant | None = None

    def __bool__(self) -> bool:
        return any(msgspec.structs.astuple(self))


class ImplicitTables:
    def __init__(self, connection: Connection) -> None:
        self._connection, self.outbox = connection, implicit_outbox.Outbox(connection)

    def write(self, writing: Writing) -> None:
        """In one transaction: what a step remembers and what it sends are kept together or not at all."""
        with self._connection.write("FULL") as transaction:
            _write_copies(transaction, writing)
            _write_results(transaction, writing)
            _write_notifiers(transaction, writing)
            if writing.forget is not None:
                _forget(transaction, writing.forget)
        self.outbox.added(len(writing.outgoing))

    def known(self, ids: Sequence[str]) -> set[str]:
        """Those copies that were handled or wait for it."""
        query = "SELECT id FROM implicit_copy WHERE id IN (SELECT value FROM json_each(?))"
        return {row[0] for row in self._connection.rows(query, (msgspec.json.encode(ids).decode(),))}

    def open_copies(self) -> list[CopyRow]:
        """Those that are not done, in the order of their time."""
        query = "SELECT id, notifier, kind, state, body, time FROM implicit_copy WHERE state <> 'done' ORDER BY time"
        return [CopyRow(*row) for row in self._connection.rows(query)]

    def histories(self) -> list[tuple[str, MessageId, Instant]]:
        return self._connection.rows("SELECT notifier, message, time FROM implicit_history")

    def told(self) -> list[tuple[MessageId, str, str, Instant]]:
        return self._connection.rows("SELECT message, notifier, copy, time FROM implicit_told ORDER BY time")

    def notifiers(self) -> list[Residing]:
        rows = self._connection.rows("SELECT subscription, body FROM implicit_notifier ORDER BY service")
        return [Residing(_decode_service(body), subscription) for subscription, body in rows]

    def publication(self, message: str) -> Publication | None:
        query = "SELECT id, root, topic, protocol, time FROM implicit_publication WHERE id = ?"
        rows = self._connection.rows(query, (message,))
        return Publication(*rows[0]) if rows else None

    def publications(self, limit: int) -> list[Publication]:
        """The latest first."""
        query = "SELECT id, root, topic, protocol, time FROM implicit_publication ORDER BY time DESC LIMIT ?"
        return [Publication(*row) for row in self._connection.rows(query, (limit,))]

    def reports(self, message: str) -> list[bytes]:
        rows = self._connection.rows("SELECT body FROM implicit_report WHERE message = ?", (message,))
        return [row[0] for row in rows]

    def addresses(self, now: str) -> frozenset[str]:
        """Those that this node had before; from now on it is also known by this one."""
        rows = self._connection.rows("SELECT value FROM meta WHERE key = ?", (ADDRESSES,))
        known = set(msgspec.json.decode(rows[0][0], type=list[str])) if rows else set[str]()
        if now not in known:
            value = msgspec.json.encode(sorted({*known, now})).decode()
            with self._connection.write("FULL") as transaction:
                transaction.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (ADDRESSES, value))
        return frozenset(known - {now})

    def part(self) -> bytes | None:
        rows = self._connection.rows("SELECT body FROM implicit_part")
        return rows[0][0] if rows else None

    def keep_part(self, body: bytes) -> None:
        with self._connection.write("NORMAL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO implicit_part VALUES (1, ?)", (body,))

    def add_changes(self, changes: Iterable[Changing]) -> None:
        rows = ((each.version, each.when, each.by, _encode(each.change)) for each in changes)
        with self._connection.write("FULL") as transaction:
            transaction.executemany("INSERT INTO world_change VALUES (?, ?, ?, ?)", rows)

    def changes(self, after: int = 0, limit: int = -1) -> list[Changing]:
        query = "SELECT version, time, by, body FROM world_change WHERE version > ? ORDER BY version LIMIT ?"
        rows = self._connection.rows(query, (after, limit))
        return [Changing(version, when, by, _decode_change(body)) for version, when, by, body in rows]


def _write_copies(transaction: sqlite3.Connection, writing: Writing) -> None:
    transaction.executemany(
        "INSERT OR REPLACE INTO implicit_copy VALUES (?, ?, ?, ?, ?, ?)", map(_values, writing.copies)
    )
    transaction.executemany("INSERT OR REPLACE INTO implicit_history VALUES (?, ?, ?)", writing.histories)
    transaction.executemany("INSERT OR IGNORE INTO implicit_told VALUES (?, ?, ?, ?)", writing.told)
    implicit_outbox.add(transaction, writing.outgoing)


def _write_results(transaction: sqlite3.Connection, writing: Writing) -> None:
    """A report on what nobody asks about any more is let go."""
    transaction.executemany(
        "INSERT OR IGNORE INTO implicit_publication VALUES (?, ?, ?, ?, ?)", map(_values, writing.publications)
    )
    transaction.executemany(
        "INSERT OR REPLACE INTO implicit_report SELECT ?1, ?2, ?3"
        " WHERE EXISTS (SELECT 1 FROM implicit_publication WHERE id = ?1)",
        writing.reports,
    )


def _write_notifiers(transaction: sqlite3.Connection, writing: Writing) -> None:
    transaction.executemany(
        "INSERT OR REPLACE INTO implicit_notifier VALUES (?, ?, ?)",
        ((each.service.name, each.subscription, _encode(each.service)) for each in writing.joined),
    )
    for table, column in (("implicit_notifier", "service"), ("implicit_history", "notifier")):
        transaction.executemany(f"DELETE FROM {table} WHERE {column} = ?", ((name,) for name in writing.left))  # noqa: S608 - our own words


def _forget(transaction: sqlite3.Connection, before: Instant) -> None:
    for rule in (
        "implicit_copy WHERE state = 'done' AND time < ?",
        "implicit_history WHERE time < ?",
        "implicit_told WHERE message IN (SELECT message FROM implicit_told WHERE time < ?)",
        "implicit_report WHERE message IN (SELECT id FROM implicit_publication WHERE time < ?)",
        "implicit_publication WHERE time < ?",
    ):
        transaction.execute(f"DELETE FROM {rule}", (before,))  # noqa: S608 - our own words


def _values(row: Any) -> tuple[Any, ...]:
    return msgspec.structs.astuple(row)
