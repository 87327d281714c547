"""What services ask of each other, and the record of who told whom."""

import sqlite3
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.interactions import NO_DATA, Interaction, Request
from tocsin.model.notification import Payload
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE request (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, live INTEGER NOT NULL, at INTEGER NOT NULL,
    body BLOB NOT NULL, data BLOB NOT NULL
) STRICT;
CREATE INDEX request_live ON request (live, at);
CREATE TABLE interaction (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, request TEXT NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE INDEX interaction_request ON interaction (request, number);
CREATE INDEX interaction_at ON interaction (at)
"""
_encode = msgspec.msgpack.Encoder().encode
_request = msgspec.msgpack.Decoder(Request).decode
_payload = msgspec.msgpack.Decoder(Payload).decode
_interaction = msgspec.msgpack.Decoder(Interaction).decode


class RequestTable:
    """A request is live while something can still come of it; times are of the last change.

    What was asked may be large and never changes: it is written once, and read with one request at a time only.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, requests: Iterable[tuple[Request, bool]], now: Instant, record: Interaction | None = None) -> None:
        """One transaction, on disk when it returns. Of a request that is there already the data stay as they were."""
        with self._connection.write("FULL") as transaction:
            for request, live in requests:
                _put(transaction, request, live, now)
            if record is not None:
                row = (record.when, record.request, _encode(record))
                transaction.execute("INSERT INTO interaction (at, request, body) VALUES (?, ?, ?)", row)

    def remove(self, request: str) -> None:
        self._connection.execute("DELETE FROM request WHERE id = ?", (request,))

    def get(self, request: str) -> Request | None:
        rows = self._connection.rows("SELECT body, data FROM request WHERE id = ?", (request,))
        return replace(_request(rows[0][0]), data=_payload(rows[0][1])) if rows else None

    def live(self) -> list[Request]:
        rows = self._connection.rows("SELECT body FROM request WHERE live = 1 ORDER BY number")
        return [_request(body) for (body,) in rows]

    def page(self, after: int, limit: int) -> list[tuple[int, Request]]:
        query = "SELECT number, body FROM request WHERE number > ? ORDER BY number LIMIT ?"
        return [(number, _request(body)) for number, body in self._connection.rows(query, (after, limit))]

    def interactions(self, after: int, limit: int, request: str | None) -> list[tuple[int, Interaction]]:
        of, values = ("", ()) if request is None else (" AND request = ?", (request,))
        query = f"SELECT number, body FROM interaction WHERE number > ?{of} ORDER BY number LIMIT ?"  # noqa: S608
        rows = self._connection.rows(query, (after, *values, limit))
        return [(number, _interaction(body)) for number, body in rows]

    def forget(self, before: Instant) -> None:
        """What is over since then, and what was recorded before."""
        with self._connection.write("NORMAL") as transaction:
            transaction.execute("DELETE FROM request WHERE live = 0 AND at < ?", (before,))
            transaction.execute("DELETE FROM interaction WHERE at < ?", (before,))


def _put(transaction: sqlite3.Connection, request: Request, live: bool, now: Instant) -> None:
    transaction.execute(
        "INSERT INTO request (id, live, at, body, data) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET live = excluded.live, at = excluded.at, body = excluded.body",
        (request.id, int(live), now, _encode(replace(request, data=NO_DATA)), _encode(request.data)),
    )
