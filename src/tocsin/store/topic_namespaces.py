"""The topic namespaces that were declared, as the documents that came."""

from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE topic_namespace (namespace TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT, WITHOUT ROWID
"""


class TopicNamespaceTable:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, namespace: str, document: bytes) -> None:
        """On disk when it returns; what was declared before under that namespace is replaced."""
        with self._connection.write("FULL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO topic_namespace VALUES (?, ?)", (namespace, document))

    def remove(self, namespace: str) -> None:
        with self._connection.write("FULL") as transaction:
            transaction.execute("DELETE FROM topic_namespace WHERE namespace = ?", (namespace,))

    def documents(self) -> list[bytes]:
        return [row[0] for row in self._connection.rows("SELECT document FROM topic_namespace ORDER BY namespace")]
