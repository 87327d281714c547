"""What Spark decided to send, on its way to the senders."""

import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

from msgspec import Struct

from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.store.blocks import Block, opened
from tocsin.store.connection import Connection
from tocsin.store.log.reader import PAGE_BYTES, until_bytes

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
    """
CREATE TABLE staged (batch INTEGER NOT NULL, time INTEGER NOT NULL, part BLOB NOT NULL) STRICT;
CREATE INDEX staged_of ON staged (batch);
CREATE TABLE named (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT
""",
    # A block is there until none of its rows is: those from `first` to `last`.
    """
CREATE TABLE block (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
) STRICT;
INSERT INTO block SELECT id, id, 0, delivery FROM outbox;
ALTER TABLE outbox DROP COLUMN delivery;
ALTER TABLE outbox DROP COLUMN batch
""",
    "CREATE TABLE taken (partition INTEGER PRIMARY KEY, stop INTEGER NOT NULL, marks TEXT NOT NULL) STRICT",
    # Most rows are settled before anybody asks for those of one subscription: they are filed when somebody does.
    """
DROP INDEX outbox_of;
CREATE TABLE filed (
    subscription TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (subscription, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE filing (last INTEGER NOT NULL) STRICT;
INSERT INTO filing VALUES (0)
""",
)
_OF_ONE = """
SELECT id FROM filed WHERE subscription = ?1 AND id > ?2
UNION ALL SELECT id FROM outbox WHERE id > max(?2, (SELECT last FROM filing)) AND subscription = ?1
"""
UNFILED = 10_000  # rows that are looked through, in half a millisecond
_PAGE = 16_384  # blocks are longer than the 4,096 bytes that SQLite's own pages have
_OPENED = 16  # blocks that are kept as they were read last
_TOGETHER = 16 << 20  # bytes of blocks that are given to SQLite at once
Row = tuple[int, Delivery]


class Batch(Struct, frozen=True):
    """A batch that is published: what it read and up to where, and how many deliveries came of it."""

    id: int
    rows: int
    deliveries: int
    end: str
    when: Instant


class Taken(Struct, frozen=True):
    """How much of a partition of a shared outbox is here, with the marks of what it came from."""

    stop: int
    marks: str = ""


class Totals(Struct, frozen=True):
    """Of all batches: those of the stream and their rows, and with the replays all deliveries and the last time."""

    batches: int
    rows: int
    deliveries: int
    replays: int
    last: Instant | None


class Outbox:
    """Filled by the Spark driver, emptied by the node. Row ids only grow, and are the order of sending."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._block = lru_cache(maxsize=_OPENED)(self._read_block)
        self._taken = False  # since it was asked for

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        return cls(Connection.open(path, _SCHEMA, read_only=read_only, page=_PAGE))

    def close(self) -> None:
        self._connection.close()

    def publish(
        self, batch: int, deliveries: Iterable[Block], *, rows: int, end: str, staged: Iterable[bytes] = ()
    ) -> bool:
        """The rows, what is staged for tables and the batch's id in one transaction; False, and nothing written, when
        the id is there already."""
        with self._connection.write("FULL") as transaction:
            if transaction.execute("SELECT 1 FROM batch WHERE id = ?", (batch,)).fetchone():
                return False
            sent = _queue(transaction, iter(deliveries))
            now = time.time_ns()
            transaction.executemany("INSERT INTO staged VALUES (?, ?, ?)", ((batch, now, part) for part in staged))
            done = (batch, rows, sent, end, now)
            transaction.execute("INSERT INTO batch VALUES (?, ?, ?, ?, ?)", done)
        return True

    def take(self, deliveries: Iterable[Block], taken: Mapping[int, Taken]) -> None:
        """What came from a shared outbox, and how far that was read, in one transaction."""
        with self._connection.write("FULL") as transaction:
            _queue(transaction, iter(deliveries))
            stops = ((partition, each.stop, each.marks) for partition, each in taken.items())
            transaction.executemany("INSERT OR REPLACE INTO taken VALUES (?, ?, ?)", stops)
        self._taken = True

    def taken(self, partition: int) -> Taken:
        rows = self._connection.rows("SELECT stop, marks FROM taken WHERE partition = ?", (partition,))
        return Taken(*rows[0]) if rows else Taken(0)

    def staged(self) -> list[tuple[int, bytes]]:
        """What published batches left for the tables, and is in none yet."""
        return [(row[0], row[1]) for row in self._connection.rows("SELECT batch, part FROM staged ORDER BY batch")]

    def staged_since(self) -> tuple[int, float]:
        """How many parts wait for their tables, and since when the first."""
        (count, oldest), *_ = self._connection.rows("SELECT count(*), coalesce(min(time), 0) FROM staged")
        return int(count), oldest / 1e9

    def unstage(self, batches: Iterable[int]) -> None:
        """What these left is in the tables. Forgotten in a power cut, the tables know them."""
        with self._connection.write("NORMAL") as transaction:
            transaction.executemany("DELETE FROM staged WHERE batch = ?", ((batch,) for batch in batches))

    def application(self) -> str:
        """By which name tables know what comes from here."""
        if (found := self.named("application")) is None:
            self.name("application", found := str(uuid.uuid4()))
        return found

    def named(self, name: str) -> str | None:
        found = self._connection.rows("SELECT value FROM named WHERE name = ?", (name,))
        return str(found[0][0]) if found else None

    def name(self, name: str, value: str) -> None:
        with self._connection.write("FULL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO named VALUES (?, ?)", (name, value))

    def batches(self) -> list[Batch]:
        query = "SELECT id, rows, deliveries, stop, time FROM batch ORDER BY id"
        return [Batch(*row) for row in self._connection.rows(query)]

    def last(self) -> Batch | None:
        """The last batch of the stream; replays have negative ids and do not count."""
        query = "SELECT id, rows, deliveries, stop, time FROM batch WHERE id >= 0 ORDER BY id DESC LIMIT 1"
        rows = self._connection.rows(query)
        return Batch(*rows[0]) if rows else None

    def totals(self) -> Totals:
        of_stream = "count(*) FILTER (WHERE id >= 0), coalesce(sum(rows) FILTER (WHERE id >= 0), 0)"
        of_all = "coalesce(sum(deliveries), 0), count(*) FILTER (WHERE id < 0), max(time)"
        return Totals(*self._connection.rows(f"SELECT {of_stream}, {of_all} FROM batch")[0])  # noqa: S608 - as above

    def committed(self) -> set[int]:
        return {row[0] for row in self._connection.rows("SELECT id FROM batch")}

    def pending(self, after: int, limit: int, most_bytes: int = PAGE_BYTES) -> list[Row]:
        """Fewer than asked is no end, none at all is."""
        return self._rows("(SELECT id FROM outbox WHERE id > ?)", (after, limit), most_bytes)

    def backlog(self, subscription: SubscriptionId, after: int, limit: int, most_bytes: int = PAGE_BYTES) -> list[Row]:
        """As `pending`, of one subscription."""
        self._file()
        return self._rows(f"({_OF_ONE})", (subscription, after, limit), most_bytes)

    def _file(self) -> None:
        """Where many came since. In a power cut, what is filed is forgotten together with how far that had come."""
        (came,), *_ = self._connection.rows("SELECT coalesce(max(id), 0) - (SELECT last FROM filing) FROM outbox")
        if came <= UNFILED or self._connection.is_read_only:
            return
        unfiled = "SELECT subscription, id FROM outbox WHERE id > (SELECT last FROM filing) ORDER BY subscription, id"
        with self._connection.write("NORMAL") as transaction:
            transaction.execute(f"INSERT INTO filed {unfiled}")
            transaction.execute("UPDATE filing SET last = max(last, (SELECT coalesce(max(id), 0) FROM outbox))")

    def _rows(self, which: str, values: Sequence[object], most_bytes: int) -> list[Row]:
        of_block = "(SELECT max(first) FROM block WHERE first <= id)"
        found = self._connection.rows(f"SELECT id, {of_block} FROM {which} ORDER BY id LIMIT ?", values)  # noqa: S608
        rows = ((row, block[row - first]) for row, first in found if (block := self._block(first)))
        return list(until_bytes(rows, most_bytes, lambda row: len(row[1].body)))

    def _read_block(self, first: int) -> Sequence[Delivery]:
        """Numbers are never given twice, nor blocks changed: what was read may be kept. Empty when it is settled."""
        found = self._connection.rows("SELECT size, data FROM block WHERE first = ?", (first,))
        return opened(*found[0]) if found else ()

    def settle(self, rows: Sequence[int]) -> None:
        """They are delivered or dead. Forgotten in a power cut they are sent again, which delivery allows."""
        if not rows:
            return
        with self._connection.write("NORMAL") as transaction:
            (filed,) = transaction.execute("SELECT last FROM filing").fetchone()
            transaction.executemany(
                "DELETE FROM filed WHERE id = ?1 AND subscription = (SELECT subscription FROM outbox WHERE id = ?1)",
                ((row,) for row in rows if row <= filed),
            )
            transaction.executemany("DELETE FROM outbox WHERE id = ?", ((row,) for row in rows))
            transaction.execute(
                "DELETE FROM block WHERE first BETWEEN (SELECT max(first) FROM block WHERE first <= ?) AND ?"
                " AND NOT EXISTS (SELECT 1 FROM outbox WHERE id BETWEEN first AND last)",
                (min(rows), max(rows)),
            )

    def holds_more_than(self, most: int) -> bool:
        """Counted only where the distance between the first row and the last allows for so many."""
        (first, last), *_ = self._connection.rows("SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM outbox")
        if last - first < most:
            return False
        counted = "SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT ?)"
        return int(self._connection.rows(counted, (most + 1,))[0][0]) > most

    def changed(self) -> bool:
        """Whether there may be more to send since the last call; cheap, and true the first time."""
        taken, self._taken = self._taken, False
        return self._connection.changed() or taken


def _queue(transaction: sqlite3.Connection, blocks: Iterator[Block]) -> int:
    """How many deliveries they have. No value of ours is made of a delivery."""
    query = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox'"
    before = last = int(transaction.execute(query).fetchone()[0])
    while some := list(until_bytes(blocks, _TOGETHER, lambda block: len(block.data))):
        first, rows = last + 1, []
        for each in some:
            rows.append((last + 1, last + each.deliveries, each.size, each.data))
            last += each.deliveries
        transaction.executemany("INSERT INTO block VALUES (?, ?, ?, ?)", rows)
        names = ",".join(each.names[1:-1] for each in some)
        insert = "INSERT INTO outbox (id, subscription) SELECT ? + key, value FROM json_each(?)"
        transaction.execute(insert, (first, f"[{names}]"))
    return last - before
