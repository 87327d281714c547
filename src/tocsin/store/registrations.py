"""Publishers that registered, each with what is known of the subscription the broker has at it."""

import msgspec
from msgspec import Struct

from tocsin.model.subscription import Registration
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE registration (id TEXT PRIMARY KEY, body BLOB NOT NULL, upstream BLOB) STRICT, WITHOUT ROWID
"""
_decoder = msgspec.msgpack.Decoder(Registration)


class Registered(Struct, frozen=True):
    """`upstream` is the owner's to read."""

    registration: Registration
    upstream: bytes | None


class RegistrationTable:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, registration: Registration, upstream: bytes | None = None) -> None:
        """On disk when it returns."""
        row = (registration.id, msgspec.msgpack.encode(registration), upstream)
        with self._connection.write("FULL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO registration VALUES (?, ?, ?)", row)

    def remove(self, registration: str) -> None:
        with self._connection.write("FULL") as transaction:
            transaction.execute("DELETE FROM registration WHERE id = ?", (registration,))

    def all(self) -> list[Registered]:
        rows = self._connection.rows("SELECT body, upstream FROM registration ORDER BY id")
        return [Registered(_decoder.decode(body), upstream) for body, upstream in rows]
