"""Deliveries that were given up, kept whole so that they can be looked at and tried again."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant
from tocsin.model.subscription import Position
from tocsin.store.codec import decode_delivery, encode
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE dead_letter (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription TEXT NOT NULL, node TEXT NOT NULL, at INTEGER NOT NULL, part INTEGER NOT NULL,
    time INTEGER NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL, state TEXT NOT NULL, delivery BLOB NOT NULL,
    UNIQUE (subscription, node, at, part)
) STRICT;
CREATE INDEX dead_letter_queued ON dead_letter (id) WHERE state = 'queued'
"""
_ALL = "SELECT id, delivery, time, reason, attempts, state FROM dead_letter WHERE id > ? ORDER BY id LIMIT ?"
_QUEUED = _ALL.replace("WHERE", "WHERE state = 'queued' AND")
_OF = _ALL.replace("WHERE", "WHERE subscription = ? AND")
_AT = _ALL.replace("WHERE", "WHERE subscription = ? AND node = ? AND at = ? AND part = ? AND")


class DeadLetter(Struct, frozen=True):
    """`id` 0 until it is kept; "queued" when it waits for another try."""

    id: int
    delivery: Delivery
    when: Instant
    reason: str
    attempts: int
    state: Literal["dead", "queued"] = "dead"


def keep(connection: sqlite3.Connection, letters: Iterable[DeadLetter]) -> None:
    """The same delivery is kept once, with what was last said of it: a crash may have it die twice."""
    connection.executemany(
        "INSERT INTO dead_letter (subscription, node, at, part, time, reason, attempts, state, delivery)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (subscription, node, at, part) DO UPDATE SET time = excluded.time, reason = excluded.reason,"
        " attempts = excluded.attempts, state = excluded.state, delivery = excluded.delivery",
        map(_values, letters),
    )


def remove(connection: sqlite3.Connection, ids: Iterable[int]) -> None:
    connection.executemany("DELETE FROM dead_letter WHERE id = ?", ((each,) for each in ids))


def queue(connection: sqlite3.Connection, ids: Sequence[int] | None) -> int:
    """Marks them for another try, all of them when none are named; how many were marked now."""
    mark = "UPDATE dead_letter SET state = 'queued' WHERE state = 'dead'"
    if ids is None:
        return connection.execute(mark).rowcount
    return sum(connection.execute(f"{mark} AND id = ?", (each,)).rowcount for each in ids)


def page(connection: Connection, after: int, limit: int, subscription: str | None) -> list[DeadLetter]:
    if subscription is None:
        return _letters(connection.rows(_ALL, (after, limit)))
    return _letters(connection.rows(_OF, (subscription, after, limit)))


def at(connection: Connection, subscription: str, place: Position, index: int) -> DeadLetter | None:
    found = _letters(connection.rows(_AT, (subscription, place.node, place.offset, index, 0, 1)))
    return found[0] if found else None


def queued(connection: Connection, after: int, limit: int) -> list[DeadLetter]:
    return _letters(connection.rows(_QUEUED, (after, limit)))


def count(connection: Connection) -> int:
    return int(connection.rows("SELECT count(*) FROM dead_letter")[0][0])


def by_subscription(connection: Connection) -> dict[str, int]:
    return dict(connection.rows("SELECT subscription, count(*) FROM dead_letter GROUP BY subscription"))


def _values(letter: DeadLetter) -> tuple[object, ...]:
    delivery = letter.delivery
    place = (delivery.match.subscription, delivery.at.node, delivery.at.offset, delivery.index)
    return *place, letter.when, letter.reason, letter.attempts, letter.state, encode(delivery)


def _letters(rows: Iterable[Any]) -> list[DeadLetter]:
    return [DeadLetter(row[0], decode_delivery(row[1]), *row[2:]) for row in rows]
