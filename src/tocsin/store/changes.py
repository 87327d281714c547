"""Subscription changes by offset. The log is the truth; here they can be asked as of any record."""

import sqlite3
from collections.abc import Iterator, Sequence

from tocsin.model.records import Changed
from tocsin.model.subscription import Subscription
from tocsin.store.codec import Undecodable, decode, encode
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE change (
    at INTEGER PRIMARY KEY, subscription TEXT NOT NULL, state TEXT NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE INDEX change_of ON change (subscription, at)
"""
_PAGE = 1000
_LAST = (1 << 63) - 1


def add(connection: sqlite3.Connection, changes: Sequence[Changed]) -> None:
    """Again is as once: an offset has one change."""
    connection.executemany(
        "INSERT OR REPLACE INTO change VALUES (?, ?, ?, ?)",
        ((each.at.offset, each.subscription.id, each.subscription.state, encode(each)) for each in changes),
    )


def end(connection: Connection) -> int:
    """The offset after the last change."""
    return int(connection.rows("SELECT coalesce(max(at) + 1, 0) FROM change")[0][0])


def count(connection: Connection, since: int, before: int) -> int:
    return int(connection.rows("SELECT count(*) FROM change WHERE at >= ? AND at < ?", (since, before))[0][0])


def between(connection: Connection, since: int, before: int | None) -> Iterator[Changed]:
    """In the order of the log, read page by page so that no lock is held while the caller works."""
    query = "SELECT at, body FROM change WHERE at >= ? AND at < ? ORDER BY at LIMIT ?"
    while rows := connection.rows(query, (since, _LAST if before is None else before, _PAGE)):
        for _, body in rows:
            yield _changed(body)
        since = rows[-1][0] + 1


def of(connection: Connection, subscription: str) -> list[Changed]:
    query = "SELECT body FROM change WHERE subscription = ? ORDER BY at"
    return [_changed(body) for (body,) in connection.rows(query, (subscription,))]


def as_of(connection: Connection, offset: int | None) -> list[Subscription]:
    """Each subscription as its last change below the offset left it, in the order of those; not those ended."""
    query = (
        "SELECT body FROM change WHERE state <> 'ended' AND at IN"
        " (SELECT max(at) FROM change WHERE at < ? GROUP BY subscription) ORDER BY at"
    )
    rows = connection.rows(query, (_LAST if offset is None else offset,))
    return [_changed(body).subscription for (body,) in rows]


def _changed(body: bytes) -> Changed:
    record = decode(body)
    if not isinstance(record, Changed):
        raise Undecodable("a subscription change holds another kind of record")
    return record
