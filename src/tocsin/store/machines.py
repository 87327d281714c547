"""What machines must not forget, whatever their protocol: the rows they remember, the messages they took in, and what
is on its way to other nodes. A family is all machines of one protocol."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Raw, Struct, field

from tocsin.model.identity import Instant
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE machine_row (
    family TEXT NOT NULL, machine TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (family, machine, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE machine_inbox (
    family TEXT NOT NULL, id TEXT NOT NULL, machine TEXT NOT NULL, done INTEGER NOT NULL, time INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (family, id)
) STRICT;
CREATE INDEX machine_inbox_done ON machine_inbox (family, done, time);
CREATE TABLE machine_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, family TEXT NOT NULL, peer TEXT NOT NULL, lane TEXT NOT NULL,
    id TEXT NOT NULL, machine TEXT NOT NULL, time INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE INDEX machine_outbox_lane ON machine_outbox (family, peer, lane, seq)
"""
_pack = msgspec.msgpack.Encoder().encode
_unpack: Callable[[bytes], tuple[str, Raw]] = msgspec.msgpack.Decoder(tuple[str, Raw]).decode
_unpack_out: Callable[[bytes], tuple[str, str, bytes]] = msgspec.msgpack.Decoder(tuple[str, str, bytes]).decode
LATEST = 2**63 - 1
RowBytes = tuple[str, str | None, bytes | None]  # machine, key and row; without a key the machine is no more


class Codec:
    """Messages and rows as bytes that tell their kind; the names of the kinds stay, whatever their types are called."""

    def __init__(self, **kinds: Any) -> None:
        self._names = {kind: name for name, kind in kinds.items()}
        self._decoders = {name: msgspec.msgpack.Decoder(kind) for name, kind in kinds.items()}

    def encode(self, value: Any) -> bytes:
        return _pack((self._names[type(value)], value))

    def decode(self, body: bytes) -> Any:
        kind, value = _unpack(body)
        if kind not in self._decoders:
            raise msgspec.ValidationError(f"{kind[:80]!r} is nothing that is known here")
        return self._decoders[kind].decode(value)


class Letter(Struct, frozen=True):
    """A message for a machine of this node. One with an `id` is kept until it is handled, and handled once; `fresh`
    begins something, rather than going on with it: of these fewer are taken when much waits."""

    to: str
    message: Any
    id: str = ""
    fresh: bool = False


class Outgoing(Struct, frozen=True):
    """For a machine of another node, in the order of `seq`. What one lane cannot pass on holds back no other."""

    peer: str
    lane: str
    id: str
    to: str
    when: Instant
    body: bytes
    seq: int = 0


class Writing(Struct):
    """All that one turn changes: a row that is None is forgotten, `ended` machines have none any more. Letters that
    were `passed` on are not known here any more: their machine may come back, and they after it."""

    rows: dict[tuple[str, str], Any] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    taken: list[Letter] = field(default_factory=list)
    done: list[Letter] = field(default_factory=list)
    passed: list[Letter] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)
    now: Instant = Instant(0)
    expire: Instant | None = None

    @property
    def size(self) -> int:
        """Rows, about."""
        letters = len(self.taken) + len(self.done) + len(self.passed)
        return len(self.rows) + letters + len(self.outgoing) + len(self.reports)

    def __bool__(self) -> bool:
        return bool(self.size or self.ended or self.expire is not None)


Kind = Literal["row", "ended", "taken", "done", "passed", "out", "sent", "expire", "publication", "report"]


class Piece(Struct, frozen=True, array_like=True):
    """Of what the machines of a node remember and have in hand, one thing, as it is told to another node: a row (with
    no body: forgotten), a letter by its id, what is to go out, a report."""

    kind: Kind
    machine: str
    key: str = ""
    when: int = 0
    body: bytes = b""


class Ledger(Protocol):
    """Where a family keeps what its machines report, in the same transaction; in pieces for another node, of those
    messages alone that are wanted."""

    def add(self, transaction: sqlite3.Connection, reports: Sequence[Any]) -> None: ...

    def expire(self, transaction: sqlite3.Connection, before: Instant) -> None: ...

    def pieces_of(self, reports: Sequence[Any]) -> list[Piece]: ...

    def pieces(self, wanted: Callable[[str], bool]) -> list[Piece]: ...

    def add_pieces(self, transaction: sqlite3.Connection, pieces: Sequence[Piece]) -> None: ...


class Outbox:
    """Of one family. `rows` is how many there are, once they were counted."""

    def __init__(self, connection: Connection, family: str) -> None:
        self._connection, self._family, self._counting = connection, family, Lock()
        self.rows = 0
        self.told_sent: Callable[[list[Piece]], None] | None = None  # for those who keep copies

    def count(self) -> None:
        query = "SELECT count(*) FROM machine_outbox WHERE family = ?"
        with self._counting:
            self.rows = self._connection.rows(query, (self._family,))[0][0]

    def add(self, transaction: sqlite3.Connection, rows: Iterable[Outgoing]) -> None:
        transaction.executemany(
            "INSERT INTO machine_outbox (family, peer, lane, id, machine, time, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((self._family, each.peer, each.lane, each.id, each.to, each.when, each.body) for each in rows),
        )

    def added(self, more: int) -> None:
        with self._counting:
            self.rows += more

    def lanes(self) -> list[tuple[str, str]]:
        query = "SELECT DISTINCT peer, lane FROM machine_outbox WHERE family = ?"
        return self._connection.rows(query, (self._family,))

    def first(self, peer: str, lane: str, limit: int, most_bytes: int, before: int = LATEST) -> list[Outgoing]:
        """Of a lane, as far as they are from before that time."""
        query = (
            "SELECT id, machine, time, seq, body FROM machine_outbox"
            " WHERE family = ? AND peer = ? AND lane = ? AND time < ? ORDER BY seq LIMIT ?"
        )
        rows = self._connection.first_rows(query, (self._family, peer, lane, before, limit), most_bytes)
        return [Outgoing(peer, lane, id_, to, when, body, seq) for id_, to, when, seq, body in rows]

    def sent(self, rows: Sequence[Outgoing]) -> None:
        """Forgotten in a power cut they are sent again, which the receiver knows by their ids."""
        with self._connection.write("NORMAL") as transaction:
            gone = [(row.seq,) for row in rows]
            done = transaction.executemany("DELETE FROM machine_outbox WHERE seq = ?", gone)
        self.added(-done.rowcount)
        if self.told_sent is not None:
            self.told_sent([Piece("sent", row.to, row.id) for row in rows])


class MachineTables:
    """Of one family. `messages` are those that are kept and sent, `rows` what its machines remember."""

    def __init__(
        self, connection: Connection, family: str, messages: Codec, rows: Codec, ledger: Ledger | None = None
    ) -> None:
        self._connection, self.family, self.messages, self._rows, self._ledger = (
            connection,
            family,
            messages,
            rows,
            ledger,
        )
        self.outbox = Outbox(connection, family)

    def write(self, writing: Writing) -> None:
        """In one transaction: what a step remembers and what it sends are kept together or not at all."""
        with self._connection.write("FULL") as transaction:
            of_machine, of_row = "DELETE FROM machine_row WHERE family = ? AND machine = ?", " AND key = ?"
            transaction.executemany(of_machine, ((self.family, name) for name in writing.ended))
            forgotten = ((self.family, *place) for place, row in writing.rows.items() if row is None)
            transaction.executemany(of_machine + of_row, forgotten)
            encode, family = self._rows.encode, self.family
            kept = ((family, *place, encode(row)) for place, row in writing.rows.items() if row is not None)
            transaction.executemany("INSERT OR REPLACE INTO machine_row VALUES (?, ?, ?, ?)", kept)
            self._write_inbox(transaction, writing)
            self.outbox.add(transaction, writing.outgoing)
            if self._ledger is not None:
                self._ledger.add(transaction, writing.reports)
            if writing.expire is not None:
                old = "DELETE FROM machine_inbox WHERE family = ? AND done AND time < ?"
                transaction.execute(old, (self.family, writing.expire))
                if self._ledger is not None:
                    self._ledger.expire(transaction, writing.expire)
        self.outbox.added(len(writing.outgoing))

    def rows(self) -> dict[str, dict[str, Any]]:
        """Of each machine what it remembers."""
        found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        query = "SELECT machine, key, body FROM machine_row WHERE family = ?"
        for machine, key, body in self._connection.rows(query, (self.family,)):
            found[machine][key] = self._rows.decode(body)
        return found

    def written(self) -> list[RowBytes]:
        """All that is remembered, as it is on disk."""
        query = "SELECT machine, key, body FROM machine_row WHERE family = ?"
        return [tuple(row) for row in self._connection.rows(query, (self.family,))]

    def changes(self, writing: Writing) -> list[RowBytes]:
        """What a writing changed of that."""
        ended: list[RowBytes] = [(name, None, None) for name in writing.ended]
        rows = writing.rows.items()
        return ended + [(*place, None if row is None else self._rows.encode(row)) for place, row in rows]

    def read(self, body: bytes) -> Any:
        return self._rows.decode(body)

    # For other nodes: whoever keeps copies, or has machines from now on

    def pieces_of(self, writing: Writing) -> list[Piece]:
        """What a turn changed, in the order in which it is to be changed elsewhere."""
        encode, now = self._rows.encode, writing.now
        found = [Piece("ended", name) for name in writing.ended]
        for (machine, key), row in writing.rows.items():
            found.append(Piece("row", machine, key, 0, b"" if row is None else encode(row)))
        found += [Piece("taken", one.to, one.id, now, self.messages.encode(one.message)) for one in writing.taken]
        found += [Piece("done", each.to, each.id, now) for each in writing.done]
        found += [Piece("passed", each.to, each.id) for each in writing.passed]
        found += [_out(each) for each in writing.outgoing]
        if writing.expire is not None:
            found.append(Piece("expire", "", when=writing.expire))
        return found if self._ledger is None else [*found, *self._ledger.pieces_of(writing.reports)]

    def pieces(self, wanted: Callable[[str], bool], *, outgoing: bool) -> list[Piece]:
        """All there is of those machines; with what is to go out, whoever sent it."""
        found = [
            Piece("row", machine, key, 0, body)
            for machine, key, body in self._of("machine, key, body FROM machine_row")
            if wanted(machine)
        ]
        found += [
            Piece("done" if done else "taken", machine, id_, when, body)
            for machine, id_, done, when, body in self._of("machine, id, done, time, body FROM machine_inbox")
            if wanted(machine)
        ]
        if outgoing:
            query = "peer, lane, id, machine, time, body FROM machine_outbox"
            found += [_out(Outgoing(*row)) for row in self._of(query)]
        return found if self._ledger is None else [*found, *self._ledger.pieces(wanted)]

    def _of(self, query: str) -> list[Any]:
        return self._connection.rows(f"SELECT {query} WHERE family = ?", (self.family,))

    def families(self) -> list[str]:
        """All of which anything is remembered here."""
        return [row[0] for row in self._connection.rows("SELECT DISTINCT family FROM machine_row")]

    def apply(self, pieces: Sequence[Piece]) -> None:
        """Told by another node."""
        family = self.family
        with self._connection.write("FULL") as transaction:
            for each in pieces:
                _apply(transaction, family, each)
            if self._ledger is not None:
                self._ledger.add_pieces(transaction, pieces)

    def remove(self, wanted: Callable[[str], bool] | None = None) -> None:
        """Those machines, which are another node's; without a word all there is."""
        names = None if wanted is None else [row[0] for row in self._of("DISTINCT machine FROM machine_row")]
        with self._connection.write("FULL") as transaction:
            for name in filter(wanted, names or ()):
                for table in ("machine_row", "machine_inbox"):
                    transaction.execute(f"DELETE FROM {table} WHERE family = ? AND machine = ?", (self.family, name))  # noqa: S608
            for table in ("machine_row", "machine_inbox", "machine_outbox") if wanted is None else ():
                transaction.execute(f"DELETE FROM {table} WHERE family = ?", (self.family,))  # noqa: S608

    def open_letters(self) -> list[Letter]:
        """Those that were not handled, as they came."""
        query = "SELECT machine, body, id FROM machine_inbox WHERE family = ? AND NOT done ORDER BY time, rowid"
        rows = self._connection.rows(query, (self.family,))
        return [Letter(machine, self.messages.decode(body), id_) for machine, body, id_ in rows]

    def known(self, ids: Sequence[str]) -> set[str]:
        """Those letters that were handled or wait for it."""
        query = "SELECT id FROM machine_inbox WHERE family = ? AND id IN (SELECT value FROM json_each(?))"
        return {row[0] for row in self._connection.rows(query, (self.family, msgspec.json.encode(ids).decode()))}

    def _write_inbox(self, transaction: sqlite3.Connection, writing: Writing) -> None:
        """Of what is done the id alone counts."""
        family, now, encode = self.family, writing.now, self.messages.encode
        put = "INSERT OR REPLACE INTO machine_inbox VALUES (?, ?, ?, ?, ?, ?)"
        taken = ((family, each.id, each.to, 0, now, encode(each.message)) for each in writing.taken)
        transaction.executemany(put, taken)
        transaction.executemany(put, ((family, each.id, each.to, 1, now, b"") for each in writing.done))
        gone = "DELETE FROM machine_inbox WHERE family = ? AND id = ?"
        transaction.executemany(gone, ((family, each.id) for each in writing.passed))


def _out(row: Outgoing) -> Piece:
    return Piece("out", row.to, row.id, row.when, _pack((row.peer, row.lane, row.body)))


def _apply(transaction: sqlite3.Connection, family: str, piece: Piece) -> None:
    machine, key = piece.machine, piece.key
    match piece.kind:
        case "ended":
            transaction.execute("DELETE FROM machine_row WHERE family = ? AND machine = ?", (family, machine))
        case "row" if not piece.body:
            of_row = "DELETE FROM machine_row WHERE family = ? AND machine = ? AND key = ?"
            transaction.execute(of_row, (family, machine, key))
        case "row":
            put = "INSERT OR REPLACE INTO machine_row VALUES (?, ?, ?, ?)"
            transaction.execute(put, (family, machine, key, piece.body))
        case "taken" | "done":
            put = "INSERT OR REPLACE INTO machine_inbox VALUES (?, ?, ?, ?, ?, ?)"
            transaction.execute(put, (family, key, machine, piece.kind == "done", piece.when, piece.body))
        case "passed":
            transaction.execute("DELETE FROM machine_inbox WHERE family = ? AND id = ?", (family, key))
        case "out":
            peer, lane, body = _unpack_out(piece.body)
            put = (
                "INSERT INTO machine_outbox (family, peer, lane, id, machine, time, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            transaction.execute(put, (family, peer, lane, key, machine, piece.when, body))
        case "sent":
            gone = "DELETE FROM machine_outbox WHERE family = ? AND machine = ? AND id = ?"
            transaction.execute(gone, (family, machine, key))
        case "expire":
            old = "DELETE FROM machine_inbox WHERE family = ? AND done AND time < ?"
            transaction.execute(old, (family, piece.when))
