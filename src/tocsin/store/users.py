"""Who may use the broker. The commands write it, also while a node runs; the node reads it.

A password is kept as it is, for a UsernameToken's digest is made over it (docs/decisions/access.md); of a token there
is only its hash.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter

import msgspec

from tocsin.model.access import Account, Accounts, Principal, Right, checked_name
from tocsin.model.filters import TopicIs
from tocsin.store.connection import Connection
from tocsin.store.errors import StoreError

SCHEMA = """
CREATE TABLE user (name TEXT PRIMARY KEY, password TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE user_right (
    name TEXT NOT NULL REFERENCES user, action TEXT NOT NULL, topics TEXT NOT NULL, PRIMARY KEY (name, action, topics)
) STRICT, WITHOUT ROWID;
CREATE TABLE user_token (hash TEXT PRIMARY KEY, name TEXT NOT NULL REFERENCES user) STRICT, WITHOUT ROWID
"""
_VERSION = "users"


class NoSuchUser(StoreError):
    """Nobody of that name is known."""


class UserExists(StoreError):
    """Somebody of that name is known already."""


class Users:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def version(self) -> int:
        """Grows with every change."""
        rows = self._connection.rows("SELECT value FROM meta WHERE key = ?", (_VERSION,))
        return int(rows[0][0]) if rows else 0

    def all(self) -> tuple[Account, ...]:
        """In one statement, hence of one moment; by name."""
        rows = self._connection.rows(
            "SELECT user.name, password, action, topics, NULL FROM user LEFT JOIN user_right USING (name) UNION ALL"
            " SELECT name, NULL, NULL, NULL, hash FROM user_token ORDER BY 1, 3, 4"
        )
        return tuple(_account(name, [row[1:] for row in of]) for name, of in groupby(rows, itemgetter(0)))

    def accounts(self) -> Accounts:
        return Accounts.of(self.all())

    def add(self, name: str, password: str | None, rights: tuple[Right, ...] = ()) -> None:
        checked_name(name)
        with self._changing() as transaction:
            if transaction.execute("SELECT 1 FROM user WHERE name = ?", (name,)).fetchone():
                raise UserExists(f"there is a user {name!r} already; `tocsin users password` sets another password")
            transaction.execute("INSERT INTO user VALUES (?, ?)", (name, password))
            transaction.executemany("INSERT INTO user_right VALUES (?, ?, ?)", {_row(name, each) for each in rights})

    def replace_all(self, accounts: Iterable[Account]) -> None:
        """As another node has them."""
        with self._changing() as transaction:
            for table in ("user_token", "user_right", "user"):
                transaction.execute(f"DELETE FROM {table}")  # noqa: S608 - of three names here
            for each in accounts:
                name = each.principal.name
                transaction.execute("INSERT INTO user VALUES (?, ?)", (name, each.password))
                rows = {_row(name, right) for right in each.principal.rights}
                transaction.executemany("INSERT INTO user_right VALUES (?, ?, ?)", rows)
                transaction.executemany(
                    "INSERT INTO user_token VALUES (?, ?)", ((token, name) for token in each.tokens)
                )

    def remove(self, name: str) -> None:
        with self._changing(name) as transaction:
            for table in ("user_token", "user_right", "user"):
                transaction.execute(f"DELETE FROM {table} WHERE name = ?", (name,))  # noqa: S608 - of three names here

    def set_password(self, name: str, password: str | None) -> None:
        with self._changing(name) as transaction:
            transaction.execute("UPDATE user SET password = ? WHERE name = ?", (password, name))

    def grant(self, name: str, right: Right) -> None:
        with self._changing(name) as transaction:
            transaction.execute("INSERT OR IGNORE INTO user_right VALUES (?, ?, ?)", _row(name, right))

    def revoke(self, name: str, right: Right) -> bool:
        """Whether the right was held, exactly so."""
        with self._changing(name) as transaction:
            query = "DELETE FROM user_right WHERE name = ? AND action = ? AND topics = ?"
            return transaction.execute(query, _row(name, right)).rowcount > 0

    def add_token(self, name: str, token: str) -> None:
        with self._changing(name) as transaction:
            transaction.execute("INSERT INTO user_token VALUES (?, ?)", (token_hash(token), name))

    def revoke_tokens(self, name: str) -> int:
        with self._changing(name) as transaction:
            return transaction.execute("DELETE FROM user_token WHERE name = ?", (name,)).rowcount

    @contextmanager
    def _changing(self, name: str | None = None) -> Iterator[sqlite3.Connection]:
        with self._connection.write("FULL") as transaction:
            if name is not None and not transaction.execute("SELECT 1 FROM user WHERE name = ?", (name,)).fetchone():
                raise NoSuchUser(f"there is no user {name!r}; `tocsin users list` shows who there is")
            yield transaction
            transaction.execute(
                "INSERT INTO meta VALUES (?, '1') ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
                (_VERSION,),
            )


def token_hash(token: str) -> str:
    """Fast, for a token is random and long: there is nothing to guess."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _account(name: str, rows: list[tuple[str | None, ...]]) -> Account:
    password = next((row[0] for row in rows if row[0] is not None), None)
    rights = tuple(_right(action, topics) for _, action, topics, _ in rows if action is not None)
    return Account(Principal(name, rights), password, frozenset(row[3] for row in rows if row[3] is not None))


def _right(action: str, topics: str | None) -> Right:
    expression = msgspec.json.decode(topics, type=TopicIs) if topics else None
    return msgspec.convert({"action": action, "topics": expression}, Right)


def _row(name: str, right: Right) -> tuple[str, str, str]:
    return name, right.action, "" if right.topics is None else msgspec.json.encode(right.topics).decode()
