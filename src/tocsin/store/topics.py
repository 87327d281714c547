"""Topics that were declared, as the documents that came; and the last notification on each topic."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from tocsin.model.notification import Notification
from tocsin.store.connection import Connection
from tocsin.store.pull_points import decode_notification, encode_notification

CURRENT_MESSAGES = """
CREATE TABLE current_message (
    topic TEXT PRIMARY KEY, at INTEGER NOT NULL, part INTEGER NOT NULL, notification BLOB NOT NULL
) STRICT;
CREATE INDEX current_message_at ON current_message (at, part);
CREATE TABLE current_to (one INTEGER PRIMARY KEY CHECK (one = 1), offset INTEGER NOT NULL) STRICT
"""


class CurrentSaving(Struct, frozen=True):
    """What changed since the last saving: the new ones, and the topics that are forgotten."""

    offset: int
    fresh: Sequence[Notification]
    gone: Sequence[str]


class CurrentMessageTable:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, saving: CurrentSaving) -> None:
        """What a power cut takes away here is read from the log again."""
        with self._connection.write("NORMAL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO current_to VALUES (1, ?)", (saving.offset,))
            transaction.executemany(
                "INSERT OR REPLACE INTO current_message VALUES (?, ?, ?, ?)", map(_values, saving.fresh)
            )
            transaction.executemany("DELETE FROM current_message WHERE topic = ?", ((each,) for each in saving.gone))

    def load(self) -> tuple[int | None, Iterable[Notification]]:
        """The oldest first; every record below the offset is counted, None before the first saving."""
        offset = self._connection.rows("SELECT offset FROM current_to")
        rows = self._connection.rows("SELECT notification FROM current_message ORDER BY at, part")
        return int(offset[0][0]) if offset else None, (decode_notification(row[0]) for row in rows)


def _values(notification: Notification) -> tuple[object, ...]:
    place = (str(notification.topic), notification.at.offset, notification.index)
    return *place, encode_notification(notification)


NAMESPACES = """
CREATE TABLE topic_namespace (namespace TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT, WITHOUT ROWID
"""


class TopicNamespaceTable:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, namespace: str, document: bytes) -> None:
        """On disk when it returns; what was declared before under that namespace is replaced."""
        self._connection.execute("INSERT OR REPLACE INTO topic_namespace VALUES (?, ?)", (namespace, document))

    def remove(self, namespace: str) -> None:
        self._connection.execute("DELETE FROM topic_namespace WHERE namespace = ?", (namespace,))

    def documents(self) -> list[bytes]:
        return [row[0] for row in self._connection.rows("SELECT document FROM topic_namespace ORDER BY namespace")]
