"""What is on its way to other nodes and to notifiers of others: rows in the order of sending, a lane for each peer and
kind, so that what one of them cannot take holds back nothing else."""

import sqlite3
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Literal

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE implicit_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, peer TEXT NOT NULL, kind TEXT NOT NULL, time INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX implicit_outbox_of ON implicit_outbox (peer, kind, seq);
"""

Kind = Literal["copy", "report", "claim", "foreign"]


class Outgoing(Struct, frozen=True):
    """For another node, or a notifier that is somebody else's; `seq` only grows, and is the order of sending."""

    peer: str
    kind: Kind
    when: Instant
    body: bytes
    seq: int = 0


class Outbox:
    """`rows` is how many there are, once they were counted."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._counting = connection, Lock()
        self.rows = 0

    def count(self) -> None:
        with self._counting:
            self.rows = self._connection.rows("SELECT count(*) FROM implicit_outbox")[0][0]

    def added(self, more: int) -> None:
        with self._counting:
            self.rows += more

    def lanes(self) -> list[tuple[str, Kind]]:
        return self._connection.rows("SELECT DISTINCT peer, kind FROM implicit_outbox")

    def first(self, peer: str, kind: Kind, limit: int, most_bytes: int, before: int = 2**63 - 1) -> list[Outgoing]:
        """Of a lane, as far as they are from before that time."""
        query = (
            "SELECT time, seq, body FROM implicit_outbox WHERE peer = ? AND kind = ? AND time < ? ORDER BY seq LIMIT ?"
        )
        rows = self._connection.first_rows(query, (peer, kind, before, limit), most_bytes)
        return [Outgoing(peer, kind, when, body, seq) for when, seq, body in rows]

    def sent(self, rows: Sequence[Outgoing]) -> None:
        """Forgotten in a power cut they are sent again, which the receiver knows by their ids."""
        self._delete("seq = ?", ((row.seq,) for row in rows))

    def drop_claims(self) -> None:
        """Whoever waits for an answer asks anew."""
        self._delete("kind = ?", [("claim",)])

    def _delete(self, which: str, values: Iterable[Sequence[object]]) -> None:
        with self._connection.write("NORMAL") as transaction:
            done = transaction.executemany(f"DELETE FROM implicit_outbox WHERE {which}", values)  # noqa: S608 - our own words
        self.added(-done.rowcount)


def add(transaction: sqlite3.Connection, rows: Iterable[Outgoing]) -> None:
    transaction.executemany(
        "INSERT INTO implicit_outbox (peer, kind, time, body) VALUES (?, ?, ?, ?)",
        ((each.peer, each.kind, each.when, each.body) for each in rows),
    )
