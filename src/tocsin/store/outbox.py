"""What Spark decided to send, on its way to the senders."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.store.codec import decode_delivery, encode
from tocsin.store.connection import Connection
from tocsin.store.log.reader import PAGE_BYTES

_SCHEMA = (
    """
CREATE TABLE batch (
    id INTEGER PRIMARY KEY, rows INTEGER NOT NULL, deliveries INTEGER NOT NULL,
    stop TEXT NOT NULL, time INTEGER NOT NULL
) STRICT;
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, batch INTEGER NOT NULL, subscription TEXT NOT NULL, delivery BLOB NOT NULL
) STRICT;
CREATE INDEX outbox_of ON outbox (subscription, id)
""",
)
Row = tuple[int, Delivery]
Encoded = tuple[str, bytes]  # a delivery as `encoded` writes it: its subscription, and all of it


class Batch(Struct, frozen=True):
    """A batch that is published: what it read and up to where, and how many deliveries came of it."""

    id: int
    rows: int
    deliveries: int
    end: str
    when: Instant


class Outbox:
    """Filled by the Spark driver, emptied by the node. Row ids only grow, and are the order of sending."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        return cls(Connection.open(path, _SCHEMA, read_only=read_only))

    def close(self) -> None:
        self._connection.close()

    def publish(self, batch: int, deliveries: Iterable[Encoded], *, rows: int, end: str) -> bool:
        """The rows and the batch's id in one transaction; False, and nothing written, when the id is there already."""
        with self._connection.write("FULL") as transaction:
            if transaction.execute("SELECT 1 FROM batch WHERE id = ?", (batch,)).fetchone():
                return False
            sent = transaction.executemany(
                "INSERT INTO outbox (batch, subscription, delivery) VALUES (?, ?, ?)",
                ((batch, *each) for each in deliveries),
            )
            done = (batch, rows, sent.rowcount, end, time.time_ns())
            transaction.execute("INSERT INTO batch VALUES (?, ?, ?, ?, ?)", done)
        return True

    def batches(self) -> list[Batch]:
        query = "SELECT id, rows, deliveries, stop, time FROM batch ORDER BY id"
        return [Batch(*row) for row in self._connection.rows(query)]

    def last(self) -> Batch | None:
        """The last batch of the stream; replays have negative ids and do not count."""
        query = "SELECT id, rows, deliveries, stop, time FROM batch WHERE id >= 0 ORDER BY id DESC LIMIT 1"
        rows = self._connection.rows(query)
        return Batch(*rows[0]) if rows else None

    def committed(self) -> set[int]:
        return {row[0] for row in self._connection.rows("SELECT id FROM batch")}

    def pending(self, after: int, limit: int, most_bytes: int = PAGE_BYTES) -> list[Row]:
        """Fewer than asked is no end, none at all is."""
        query = "SELECT id, delivery FROM outbox WHERE id > ? ORDER BY id LIMIT ?"
        return _decoded(self._connection.first_rows(query, (after, limit), most_bytes))

    def backlog(self, subscription: SubscriptionId, after: int, limit: int, most_bytes: int = PAGE_BYTES) -> list[Row]:
        """As `pending`, of one subscription."""
        query = "SELECT id, delivery FROM outbox WHERE subscription = ? AND id > ? ORDER BY id LIMIT ?"
        return _decoded(self._connection.first_rows(query, (subscription, after, limit), most_bytes))

    def settle(self, rows: Sequence[int]) -> None:
        """They are delivered or dead. Forgotten in a power cut they are sent again, which delivery allows."""
        with self._connection.write("NORMAL") as transaction:
            transaction.executemany("DELETE FROM outbox WHERE id = ?", ((row,) for row in rows))

    def holds_more_than(self, most: int) -> bool:
        """Counted only where the distance between the first row and the last allows for so many."""
        (first, last), *_ = self._connection.rows("SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM outbox")
        if last - first < most:
            return False
        counted = "SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT ?)"
        return int(self._connection.rows(counted, (most + 1,))[0][0]) > most

    def changed(self) -> bool:
        """Whether someone else may have published since the last call; cheap, and true the first time."""
        return self._connection.changed()


def encoded(delivery: Delivery) -> Encoded:
    return delivery.match.subscription, encode(delivery)


def _decoded(rows: Iterable[Any]) -> list[Row]:
    return [(row[0], decode_delivery(row[1])) for row in rows]
