"""How far matching went, and the subscriptions that lag behind it."""

import sqlite3
from collections.abc import Mapping

from tocsin.model.identity import SubscriptionId
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), matched_to INTEGER NOT NULL) STRICT;
CREATE TABLE cursor (subscription TEXT PRIMARY KEY, at INTEGER NOT NULL, part INTEGER NOT NULL) STRICT, WITHOUT ROWID
"""
Cursors = dict[SubscriptionId, tuple[int, int]]


def save(
    connection: sqlite3.Connection, matched_to: int, before: Cursors, now: Mapping[SubscriptionId, tuple[int, int]]
) -> None:
    """Writes only what differs: most of many thousand cursors stand still between two saves."""
    connection.execute("INSERT OR REPLACE INTO progress VALUES (1, ?)", (matched_to,))
    gone = ((subscription,) for subscription in before if subscription not in now)
    connection.executemany("DELETE FROM cursor WHERE subscription = ?", gone)
    moved = ((subscription, *place) for subscription, place in now.items() if before.get(subscription) != place)
    connection.executemany("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?)", moved)


def load(connection: Connection) -> tuple[int, Cursors]:
    """In one statement, hence of one moment."""
    rows = connection.rows("SELECT '', matched_to, 0 FROM progress UNION ALL SELECT subscription, at, part FROM cursor")
    cursors = {SubscriptionId(row[0]): (int(row[1]), int(row[2])) for row in rows if row[0]}
    return next((int(row[1]) for row in rows if not row[0]), 0), cursors
