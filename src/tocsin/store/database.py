"""The node's database beside the log: what it must remember and cannot read from the log at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal, Self

from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Changed, Declared
from tocsin.model.subscription import Position
from tocsin.store import (
    dead_letters,
    former,
    implicit,
    machines,
    past,
    progress,
    pull_points,
    requests,
    secrets,
    topics,
    users,
)
from tocsin.store.connection import Connection
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.errors import EngineMismatch
from tocsin.store.machines import Codec, Ledger, MachineTables

Engine = Literal["embedded", "spark"]
_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
_SCHEMA = (
    ";".join((_META, past.CHANGES, progress.SCHEMA, dead_letters.SCHEMA)),
    ";".join((secrets.SCHEMA, former.CONSENTS)),
    ";".join((former.REGISTRATIONS, topics.NAMESPACES)),
    ";".join((pull_points.SCHEMA, topics.CURRENT_MESSAGES)),
    users.SCHEMA,
    former.CONSENT_ADDRESSES,
    ";".join((former.IMPLICIT, implicit.SCHEMA)),
    requests.SCHEMA,
    past.DECLARATIONS,
    ";".join((machines.SCHEMA, former.TO_MACHINES)),
)


class Store:
    """Written by the node only, from any of its threads; others open it to read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.past = past.Past(connection)
        self.topic_namespaces = topics.TopicNamespaceTable(connection)
        self.secrets, self.users = secrets.Secrets(connection), users.Users(connection)
        self.pull_points = pull_points.PullPointTable(connection)
        self.current_messages = topics.CurrentMessageTable(connection)
        self.implicit, self.requests = implicit.ImplicitTables(connection), requests.RequestTable(connection)
        self._saving = Lock()
        self._saved: progress.Cursors | None = None  # what the database has, once known

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        if not read_only:
            secrets.keep_to_owner(path)
        return cls(Connection.open(path, _SCHEMA, read_only=read_only))

    def close(self) -> None:
        self._connection.close()

    def meta(self, key: str) -> str | None:
        rows = self._connection.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def machines(self, family: str, messages: Codec, rows: Codec, ledger: Ledger | None = None) -> MachineTables:
        """Of the machines of one protocol."""
        return MachineTables(self._connection, family, messages, rows, ledger)

    def claim_engine(self, engine: Engine) -> None:
        """The first engine to come owns the data directory: two would deliver everything twice."""
        with self._connection.write("FULL") as transaction:
            transaction.execute("INSERT OR IGNORE INTO meta VALUES ('engine', ?)", (engine,))
            owner = transaction.execute("SELECT value FROM meta WHERE key = 'engine'").fetchone()[0]
        if owner != engine:
            raise EngineMismatch(
                f"this data directory belongs to the {owner} engine, not to {engine}:"
                f" start with --engine {owner}, or name another directory with --data"
            )

    def apply(self, records: Sequence[Changed | Declared]) -> None:
        """What a power cut takes away here is read from the log again, from `applied` on."""
        with self._connection.write("NORMAL") as transaction:
            past.add(transaction, records)

    def applied(self) -> int:
        """Every change below it is here. Progress counts too: a record is matched only after the changes before it."""
        return max(self.past.end(), self.progress()[0])

    def save_progress(
        self,
        matched_to: int,
        cursors: Mapping[SubscriptionId, tuple[int, int]],
        dead: Sequence[DeadLetter] = (),
        revived: Sequence[int] = (),
    ) -> None:
        """One transaction. `cursors` is the whole set: a subscription not in it has nothing left to send.

        A dead letter that was tried again in vain is in `dead` again; one that was delivered is in `revived`.
        """
        with self._saving:
            saved = self.progress()[1] if self._saved is None else self._saved
            self._saved = None  # unknown again, should this fail
            with self._connection.write("FULL") as transaction:
                progress.save(transaction, matched_to, saved, cursors)
                dead_letters.keep(transaction, dead)
                dead_letters.remove(transaction, revived)
            self._saved = dict(cursors)

    def progress(self) -> tuple[int, dict[SubscriptionId, tuple[int, int]]]:
        return progress.load(self._connection)

    def dead_letters(self, *, after: int = 0, limit: int = 100, subscription: str | None = None) -> list[DeadLetter]:
        return dead_letters.page(self._connection, after, limit, subscription)

    def dead_letter_at(self, subscription: str, place: Position, index: int) -> DeadLetter | None:
        return dead_letters.at(self._connection, subscription, place, index)

    def count_dead_letters(self) -> int:
        return dead_letters.count(self._connection)

    def dead_letters_by_subscription(self) -> dict[str, int]:
        return dead_letters.by_subscription(self._connection)

    def redrive(self, ids: Sequence[int] | None) -> int:
        """Marks dead letters for another try, all of them with None; how many were marked now."""
        with self._connection.write("FULL") as transaction:
            return dead_letters.queue(transaction, ids)

    def redriven(self, limit: int, *, after: int = 0) -> list[DeadLetter]:
        """Those that wait for another try, until they are `revived` or `dead` again."""
        return dead_letters.queued(self._connection, after, limit)
