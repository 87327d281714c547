"""What consumers are shown of us, by name. The values are in this file only, which nobody else may read."""

from pathlib import Path
from typing import Any

from tocsin.model.access import Secret
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE secret (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL, since INTEGER NOT NULL, header TEXT NOT NULL,
    address TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_READ = "SELECT name, kind, value, since, header, address FROM secret"
OWNER_ONLY = 0o600


class Secrets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Secret]:
        return list(map(_secret, self._connection.rows(_READ)))

    def put(self, secret: Secret) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO secret (name, kind, value, since, header, address) VALUES (?, ?, ?, ?, ?, ?)",
            (secret.name, secret.kind, secret.value, secret.since, secret.header, secret.address),
        )

    def remove(self, name: str) -> None:
        self._connection.execute("DELETE FROM secret WHERE name = ?", (name,))


def keep_to_owner(path: Path) -> None:
    """SQLite gives the files beside a database the mode of the database; one that was made before is changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(OWNER_ONLY, exist_ok=True)
    for each in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))):
        if each.exists():
            each.chmod(OWNER_ONLY)


def _secret(row: Any) -> Secret:
    return Secret(*row)
