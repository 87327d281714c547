"""What waits in pull points, how far each was handed out, and how far the log was matched for them."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tocsin.model.notification import Notification
from tocsin.model.subscription import Position
from tocsin.store.codec import Undecodable
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE pull_point (
    id TEXT PRIMARY KEY, last INTEGER NOT NULL, handed_to INTEGER NOT NULL, overflowed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE held (
    pull_point TEXT NOT NULL, number INTEGER NOT NULL, subscription TEXT NOT NULL, notification BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX held_in ON held (pull_point, number);
CREATE TABLE pulled (one INTEGER PRIMARY KEY CHECK (one = 1), pulled_to INTEGER NOT NULL) STRICT;
CREATE TABLE pull_lag (subscription TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID
"""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Notification).decode
_HELD = (
    "SELECT number, subscription, notification FROM held WHERE pull_point = ? AND number > ? ORDER BY number LIMIT ?"
)
_FROM = (
    "SELECT number, notification FROM held WHERE pull_point = ? AND subscription = ? AND instr(notification, ?) "
    "ORDER BY number DESC"
)
_MOST_ALIKE = 8 << 20  # bytes; a payload, too, may have in it what a place looks like

Row = tuple[int, str, Notification]  # its number, the subscription it came by


class PointState(Struct, frozen=True):
    """Numbers count from 1 without a gap: above `handed_to` and up to `last` wait; overflow moves `handed_to` too."""

    id: str
    last: int = 0
    handed_to: int = 0
    overflowed: int = 0

    @property
    def waiting(self) -> int:
        return self.last - self.handed_to


class Put(Struct, frozen=True):
    pull_point: str
    number: int
    subscription: str
    notification: Notification


class Take(Struct, frozen=True):
    """So many of what waits, and no more bytes than that unless one alone has more."""

    pull_point: str
    most: int
    most_bytes: int


class Saving(Struct, frozen=True):
    """All that changed since the last saving. `lagging` is the whole set: who reads the log, and from where."""

    pulled_to: int
    put: Sequence[Put] = ()
    points: Sequence[PointState] = ()
    purged: Sequence[tuple[str, int]] = ()
    ended: Sequence[str] = ()
    lagging: Mapping[str, int] = {}
    takes: Sequence[Take] = ()


class PullPointTable:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, saving: Saving) -> list[list[Row]]:
        """One transaction, and what each take got by it: what was handed out is handed out once."""
        with self._connection.write("FULL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO pulled VALUES (1, ?)", (saving.pulled_to,))
            _end(transaction, saving.ended)  # first: one that came back has a beginning in this saving too
            _put(transaction, saving.put)
            transaction.executemany(
                "INSERT OR REPLACE INTO pull_point VALUES (?, ?, ?, ?)", map(msgspec.structs.astuple, saving.points)
            )
            transaction.executemany("DELETE FROM held WHERE pull_point = ? AND number <= ?", saving.purged)
            transaction.execute("DELETE FROM pull_lag")
            transaction.executemany("INSERT INTO pull_lag VALUES (?, ?)", saving.lagging.items())
            return [_taken(transaction, each) for each in saving.takes]

    def pulled_to(self) -> int | None:
        """Every record below it was matched; None before the first saving."""
        rows = self._connection.rows("SELECT pulled_to FROM pulled")
        return int(rows[0][0]) if rows else None

    def states(self) -> list[PointState]:
        return [PointState(*row) for row in self._connection.rows("SELECT * FROM pull_point ORDER BY id")]

    def lagging(self) -> dict[str, int]:
        return dict(self._connection.rows("SELECT subscription, at FROM pull_lag"))

    def held(self, pull_point: str, after: int, limit: int, most_bytes: int) -> list[Row]:
        """What is there behind that number, handed out or not."""
        found: list[Row] = []
        while len(found) < limit and (
            page := self._connection.rows(_HELD, (pull_point, after, min(_PAGE, limit - len(found))))
        ):
            rows, most_bytes = _within(page, most_bytes, bool(found))
            found += rows
            after = page[-1][0]
            if len(rows) < len(page):
                break
        return found

    def number_of(self, pull_point: str, subscription: str, at: Position, index: int) -> int | None:
        """Of what is there, handed out or not, that came by that subscription from that place of the log; the last."""
        place = b"".join(map(_encode, ("at", at, "index", index)))  # beside each other in what is stored
        rows = self._connection.first_rows(_FROM, (pull_point, subscription, place), _MOST_ALIKE)
        for number, body in rows:
            found = decode_notification(body)
            if (found.at, found.index) == (at, index):
                return int(number)
        return None


_PAGE = 64


def _put(connection: sqlite3.Connection, put: Iterable[Put]) -> None:
    connection.executemany(
        "INSERT INTO held VALUES (?, ?, ?, ?)",
        ((each.pull_point, each.number, each.subscription, _encode(each.notification)) for each in put),
    )


def _end(connection: sqlite3.Connection, ended: Sequence[str]) -> None:
    connection.executemany("DELETE FROM held WHERE pull_point = ?", ((each,) for each in ended))
    connection.executemany("DELETE FROM pull_point WHERE id = ?", ((each,) for each in ended))


def _taken(connection: sqlite3.Connection, take: Take) -> list[Row]:
    found = connection.execute("SELECT handed_to FROM pull_point WHERE id = ?", (take.pull_point,)).fetchone()
    if found is None:
        return []
    cursor = connection.execute(_HELD, (take.pull_point, found[0], take.most))
    rows, _ = _within(cursor, take.most_bytes, False)
    cursor.close()
    if rows:
        values = (rows[-1][0], take.pull_point)
        connection.execute("UPDATE pull_point SET handed_to = ? WHERE id = ?", values)
    return rows


def _within(rows: Iterable[Any], most_bytes: int, some: bool) -> tuple[list[Row], int]:
    """The first of them, up to so many bytes, and how many are left; one at least, unless there were some before."""
    found: list[Row] = []
    for number, subscription, body in rows:
        most_bytes -= len(body)
        if most_bytes < 0 and (found or some):
            break
        found.append((number, subscription, decode_notification(body)))
    return found, most_bytes


def encode_notification(notification: Notification) -> bytes:
    return _encode(notification)


def decode_notification(body: bytes) -> Notification:
    try:
        return _decode(body)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise Undecodable(f"not a notification: {problem}") from problem
