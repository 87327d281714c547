"""What was true as of a record of the log: subscriptions by their changes, and what was declared.

The log is the truth; here it can be asked as of any record, also of those that retention took away.
"""

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TypeVar

from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, Producer, Withdrawn
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.space import InformationSpace
from tocsin.model.subscription import Subscription
from tocsin.store.codec import Undecodable, decode, encode
from tocsin.store.connection import Connection
from tocsin.store.log.reader import LogReader

CHANGES = """
CREATE TABLE change (
    at INTEGER PRIMARY KEY, subscription TEXT NOT NULL, state TEXT NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE INDEX change_of ON change (subscription, at)
"""
DECLARATIONS = """
CREATE TABLE declaration (at INTEGER PRIMARY KEY, what TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX declaration_of ON declaration (what, at)
"""
_PAGE = 1000
_REMEMBERED = 4
_LAST = (1 << 63) - 1
Kind = TypeVar("Kind", Changed, Declared)


class History(list[Changed]):
    """All that became of one subscription, in order."""

    def met_by(self, offset: int) -> int:
        """Which of its states a record meets; what was there before it meets its first."""
        return max(0, bisect_right(self, offset, key=lambda change: change.at.offset) - 1)

    def state_at(self, offset: int) -> Subscription:
        return self[self.met_by(offset)].subscription


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


class Past:
    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, Lock()
        self._catalogues: dict[int, Catalogue] = {}  # by the last declaration in each

    def end(self) -> int:
        """The offset after the last change and declaration."""
        return max(
            int(self._connection.rows(f"SELECT coalesce(max(at) + 1, 0) FROM {table}")[0][0])  # noqa: S608 - two names
            for table in ("change", "declaration")
        )

    def changes(self, *, since: int = 0, before: int | None = None) -> Iterator[Changed]:
        return self._between("change", Changed, since, before)

    def declarations(self, *, since: int = 0, before: int | None = None) -> Iterator[Declared]:
        return self._between("declaration", Declared, since, before)

    def count_changes(self, *, since: int, before: int) -> int:
        query = "SELECT count(*) FROM change WHERE at >= ? AND at < ?"
        return int(self._connection.rows(query, (since, before))[0][0])

    def history(self, subscription: SubscriptionId) -> History:
        query = "SELECT body FROM change WHERE subscription = ? ORDER BY at"
        return History(_record(Changed, body) for (body,) in self._connection.rows(query, (subscription,)))

    def state_of(self, subscription: SubscriptionId) -> str | None:
        """As its last change left it; None for one that never was."""
        query = "SELECT state FROM change WHERE subscription = ? ORDER BY at DESC LIMIT 1"
        return next((str(state) for (state,) in self._connection.rows(query, (subscription,))), None)

    def shared(self, before: int = _LAST) -> int:
        """How much of the order of changes that nodes share was applied here by a record."""
        found = 0
        for table in ("change", "declaration"):
            query = f"SELECT body FROM {table} WHERE at < ? ORDER BY at DESC LIMIT 1"  # noqa: S608 - two names
            for (body,) in self._connection.rows(query, (before,)):
                last = decode(body)
                assert not isinstance(last, Accepted)
                found = max(found, 0 if last.shared is None else last.shared + 1)
        return found

    def is_first(self, change: Changed) -> bool:
        """Whether the subscription was nothing before that change."""
        history = self.history(change.subscription.id)
        return not history or history[0].at.offset >= change.at.offset

    def subscriptions(self, offset: int = _LAST) -> list[Subscription]:
        """Those that a record at that offset meets, in the order of their last changes; those ended are left out, those
        expired are not."""
        query = (
            "SELECT body FROM change WHERE state <> 'ended' AND at IN"
            " (SELECT max(at) FROM change WHERE at < ? GROUP BY subscription) ORDER BY at"
        )
        return [_record(Changed, body).subscription for (body,) in self._connection.rows(query, (offset,))]

    def declared(self, offset: int = _LAST) -> list[Declaration]:
        """Each as its last record below the offset left it, in the order of those; what was withdrawn is among them."""
        query = (
            "SELECT body FROM declaration WHERE at IN (SELECT max(at) FROM declaration WHERE at < ? GROUP BY what)"
            " ORDER BY at"
        )
        return [_record(Declared, body).what for (body,) in self._connection.rows(query, (offset,))]

    def catalogue(self, offset: int = _LAST) -> Catalogue:
        """What was declared, as a record at that offset meets it: the asker's own. Who reads on page by page asks for
        the same again and again."""
        last = self._connection.rows("SELECT max(at) FROM declaration WHERE at < ?", (offset,))[0][0]
        if last is None:
            return Catalogue()
        with self._lock:
            found = self._catalogues.pop(last, None) or Catalogue(self.declared(offset))
            self._catalogues[last] = found
            if len(self._catalogues) > _REMEMBERED:
                del self._catalogues[next(iter(self._catalogues))]
        return found.copy()

    def catalogue_along(self, start: int, stop: int) -> Along:
        """For who reads the log from one record up to another."""
        return Along(self.catalogue(start), self.declarations(since=start, before=stop))

    def _between(self, table: str, kind: type[Kind], since: int, before: int | None) -> Iterator[Kind]:
        """In the order of the log, read page by page so that no lock is held while the caller works."""
        query = f"SELECT at, body FROM {table} WHERE at >= ? AND at < ? ORDER BY at LIMIT ?"  # noqa: S608 - two names
        while rows := self._connection.rows(query, (since, _LAST if before is None else before, _PAGE)):
            for _, body in rows:
                yield _record(kind, body)
            since = rows[-1][0] + 1


def add(transaction: sqlite3.Connection, records: Sequence[Changed | Declared]) -> None:
    """Again is as once: an offset has one record."""
    changes = [each for each in records if isinstance(each, Changed)]
    transaction.executemany(
        "INSERT OR REPLACE INTO change VALUES (?, ?, ?, ?)",
        ((each.at.offset, each.subscription.id, each.subscription.state, encode(each)) for each in changes),
    )
    declared = [each for each in records if isinstance(each, Declared)]
    transaction.executemany(
        "INSERT OR REPLACE INTO declaration VALUES (?, ?, ?)",
        ((each.at.offset, key_of(each.what), encode(each)) for each in declared),
    )


def first_since(log: LogReader, when: Instant) -> int:
    """The offset of the first record accepted then or later: a search by halves, for times grow with offsets."""

    def accepted(offset: int) -> Instant:
        for _, payload in log.kept_frames(offset, offset + 1):
            return decode(payload).when
        return Instant(0)  # retention took it meanwhile: it was the oldest

    records = range(log.start(), log.end())
    return records.start + bisect_left(records, when, key=accepted)


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


def _record(kind: type[Kind], body: bytes) -> Kind:
    record = decode(body)
    if not isinstance(record, kind):
        raise Undecodable(f"a row of the past holds a {type(record).__name__}, not a {kind.__name__}")
    return record
