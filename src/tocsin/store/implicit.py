"""What implicit notification keeps besides its machines: results of messages, the world's changes, the part of a world
that another node keeps."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from tocsin.model.identity import Instant
from tocsin.routing.implicit.messages import Handled, Publication
from tocsin.semantics.interest.changes import Change, Changing
from tocsin.store.connection import Connection
from tocsin.store.machines import Piece

SCHEMA = """
CREATE TABLE implicit_publication (
    id TEXT PRIMARY KEY, root TEXT NOT NULL, topic TEXT NOT NULL, protocol TEXT NOT NULL, time INTEGER NOT NULL
) STRICT;
CREATE INDEX implicit_publication_time ON implicit_publication (time);
CREATE TABLE implicit_report (
    message TEXT NOT NULL, copy TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (message, copy)
) STRICT;
CREATE TABLE implicit_part (one INTEGER PRIMARY KEY CHECK (one = 1), body BLOB NOT NULL) STRICT;
CREATE TABLE world_change (
    version INTEGER PRIMARY KEY, time INTEGER NOT NULL, by TEXT NOT NULL, body BLOB NOT NULL
) STRICT
"""
ADDRESSES = "implicit_addresses"
_encode = msgspec.msgpack.Encoder().encode
_decode_publication: Callable[[bytes], Publication] = msgspec.msgpack.Decoder(Publication).decode
_decode_report: Callable[[bytes], Handled] = msgspec.msgpack.Decoder(Handled).decode
_decode_change: Callable[[bytes], Change] = msgspec.msgpack.Decoder(Change).decode


class ImplicitTables:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, transaction: sqlite3.Connection, reports: Sequence[Any]) -> None:
        """As a ledger of the machines. A report on what nobody asks about any more is let go."""
        transaction.executemany(
            "INSERT OR IGNORE INTO implicit_publication VALUES (?, ?, ?, ?, ?)",
            (msgspec.structs.astuple(each) for each in reports if isinstance(each, Publication)),
        )
        transaction.executemany(
            "INSERT OR REPLACE INTO implicit_report SELECT ?1, ?2, ?3"
            " WHERE EXISTS (SELECT 1 FROM implicit_publication WHERE id = ?1)",
            ((each.message, each.copy, _encode(each)) for each in reports if isinstance(each, Handled)),
        )

    def expire(self, transaction: sqlite3.Connection, before: Instant) -> None:
        old = "SELECT id FROM implicit_publication WHERE time < ?"
        transaction.execute(f"DELETE FROM implicit_report WHERE message IN ({old})", (before,))  # noqa: S608 - our own words
        transaction.execute("DELETE FROM implicit_publication WHERE time < ?", (before,))

    def pieces_of(self, reports: Sequence[Any]) -> list[Piece]:
        found = [Piece("publication", each.id, body=_encode(each)) for each in reports if isinstance(each, Publication)]
        handled = (each for each in reports if isinstance(each, Handled))
        return [*found, *(Piece("report", each.message, each.copy, body=_encode(each)) for each in handled)]

    def pieces(self, wanted: Callable[[str], bool]) -> list[Piece]:
        """Of those messages."""
        found = self.pieces_of([each for each in self.publications(-1) if wanted(each.id)])
        rows = self._connection.rows("SELECT message, copy, body FROM implicit_report")
        return found + [Piece("report", name, copy, body=body) for name, copy, body in rows if wanted(name)]

    def add_pieces(self, transaction: sqlite3.Connection, pieces: Sequence[Piece]) -> None:
        told = [_decode_publication(each.body) for each in pieces if each.kind == "publication"]
        self.add(transaction, [*told, *(_decode_report(each.body) for each in pieces if each.kind == "report")])

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
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (ADDRESSES, value))
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

    def replace_changes(self, changes: Iterable[Changing]) -> None:
        """In place of all there were."""
        rows = [(each.version, each.when, each.by, _encode(each.change)) for each in changes]
        with self._connection.write("FULL") as transaction:
            transaction.execute("DELETE FROM world_change")
            transaction.executemany("INSERT INTO world_change VALUES (?, ?, ?, ?)", rows)

    def changes(self, after: int = 0, limit: int = -1) -> list[Changing]:
        query = "SELECT version, time, by, body FROM world_change WHERE version > ? ORDER BY version LIMIT ?"
        rows = self._connection.rows(query, (after, limit))
        return [Changing(version, when, by, _decode_change(body)) for version, when, by, body in rows]
