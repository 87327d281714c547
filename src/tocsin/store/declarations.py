"""Declarations by offset. The log is the truth; here they can be asked as of any record."""

import sqlite3
from collections.abc import Iterator, Sequence
from threading import Lock

from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, Producer, Withdrawn
from tocsin.model.records import Declared
from tocsin.model.space import InformationSpace
from tocsin.store.codec import Undecodable, decode, encode
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE declaration (at INTEGER PRIMARY KEY, what TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX declaration_of ON declaration (what, at)
"""
_PAGE = 1000
_REMEMBERED = 4
_LAST = (1 << 63) - 1


def key_of(what: Declaration) -> str:
    """A declaration replaces the one before it under the same key; so does a withdrawal."""
    match what:
        case InformationSpace(name=name):
            return f"space {name}"
        case Producer(address=address):
            return f"producer {address}"
        case Hierarchy(of=of):
            return of
        case Ontology(name=name):
            return f"ontology {name}"
        case Lifting(name=name):
            return f"lifting {name}"
        case Withdrawn(what=kind, name=name):
            return f"{kind} {name}"


def add(connection: sqlite3.Connection, declared: Sequence[Declared]) -> None:
    """Again is as once: an offset has one declaration."""
    connection.executemany(
        "INSERT OR REPLACE INTO declaration VALUES (?, ?, ?)",
        ((each.at.offset, key_of(each.what), encode(each)) for each in declared),
    )


def end(connection: Connection) -> int:
    """The offset after the last declaration."""
    return int(connection.rows("SELECT coalesce(max(at) + 1, 0) FROM declaration")[0][0])


def between(connection: Connection, since: int, before: int | None) -> Iterator[Declared]:
    """In the order of the log, read page by page so that no lock is held while the caller works."""
    query = "SELECT at, body FROM declaration WHERE at >= ? AND at < ? ORDER BY at LIMIT ?"
    while rows := connection.rows(query, (since, _LAST if before is None else before, _PAGE)):
        for _, body in rows:
            yield _declared(body)
        since = rows[-1][0] + 1


def as_of(connection: Connection, offset: int | None) -> list[Declaration]:
    """Each as its last record below the offset left it, in the order of those; what was withdrawn is among them."""
    query = (
        "SELECT body FROM declaration WHERE at IN (SELECT max(at) FROM declaration WHERE at < ? GROUP BY what)"
        " ORDER BY at"
    )
    rows = connection.rows(query, (_LAST if offset is None else offset,))
    return [_declared(body).what for (body,) in rows]


class Recent:
    """What was known as of some records; who reads on page by page asks for the same again and again."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, Lock()
        self._states: dict[int, Catalogue] = {}  # by the last declaration in it

    def as_of(self, offset: int) -> Catalogue:
        """The asker's own."""
        last = self._connection.rows("SELECT max(at) FROM declaration WHERE at < ?", (offset,))[0][0]
        if last is None:
            return Catalogue()
        with self._lock:
            found = self._states.pop(last, None) or Catalogue(as_of(self._connection, offset))
            self._states[last] = found
            if len(self._states) > _REMEMBERED:
                del self._states[next(iter(self._states))]
        return found.copy()


class Along:
    """What is known as of one record after the other, for who reads the log by itself.

    By the store and not by the records that are read: retention may take some of them away meanwhile.
    """

    def __init__(self, known: Catalogue, later: Iterator[Declared]) -> None:
        self._known, self._later = known, later
        self._next = next(later, None)

    def at(self, offset: int) -> Catalogue:
        """The same one each time, brought further: offsets must not fall."""
        while self._next is not None and self._next.at.offset < offset:
            self._known.declare(self._next.what)
            self._next = next(self._later, None)
        return self._known


def _declared(body: bytes) -> Declared:
    record = decode(body)
    if not isinstance(record, Declared):
        raise Undecodable("a declaration holds another kind of record")
    return record
