"""What a pull point holds is saved with how far the log was matched, and handed out once."""

import sqlite3
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Position
from tocsin.store import dead_letters, past, progress
from tocsin.store.database import Store
from tocsin.store.errors import DatabaseFailed
from tocsin.store.pull_points import PointState, Put, Saving, Take
from tocsin.store.topics import CurrentSaving

LOTS = 1 << 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tocsin.db"


def said(number: int, size: int = 3, topic: str = "t") -> Notification:
    at, payload = Position(Node("n"), number), Payload("application/xml", b"x" * size)
    name = Topic((QName("urn:x", topic), QName("", "b")))
    return Notification(
        MessageId(f"urn:{number}"), at, 0, Instant(number), "wsn-1.3", "c", "p", name, QName("u", "e"), (), payload
    )


def put(point: str, *numbers: int, size: int = 3) -> list[Put]:
    return [Put(point, each, "s", said(each, size)) for each in numbers]


def numbers(rows: list[tuple[int, str, Notification]]) -> list[int]:
    return [number for number, _, _ in rows]


def test_what_is_put_is_handed_out_once_and_can_be_read_again(path: Path) -> None:
    store = Store.open(path)
    table = store.pull_points
    assert (table.pulled_to(), table.states(), table.lagging()) == (None, [], {})
    assert table.save(Saving(7, put("a", 1, 2, 3), [PointState("a", 3)], takes=[Take("a", 2, LOTS)]))[0] == [
        (1, "s", said(1)),
        (2, "s", said(2)),
    ]
    store.close()

    table = Store.open(path).pull_points
    assert table.pulled_to() == 7
    assert table.states() == [PointState("a", 3, 2)]
    assert numbers(table.held("a", 0, 10, LOTS)) == [1, 2, 3]
    assert numbers(table.held("a", 1, 1, LOTS)) == [2]
    first, second = table.save(Saving(7, takes=[Take("a", 10, LOTS), Take("a", 10, LOTS)]))
    assert (numbers(first), second) == ([3], [])


def test_takes_of_one_saving_share_nothing(path: Path) -> None:
    table = Store.open(path).pull_points
    takes = [Take("a", 2, LOTS), Take("b", 9, LOTS), Take("a", 2, LOTS), Take("none", 1, LOTS)]
    states = [PointState("a", 5), PointState("b", 1)]
    found = table.save(Saving(9, [*put("a", 1, 2, 3, 4, 5), *put("b", 1)], states, takes=takes))
    assert list(map(numbers, found)) == [[1, 2], [1], [3, 4], []]
    assert [(each.id, each.waiting) for each in table.states()] == [("a", 1), ("b", 0)]


def test_an_answer_has_few_enough_bytes_but_never_none(path: Path) -> None:
    table = Store.open(path).pull_points
    saving = Saving(9, put("a", 1, 2, 3, size=1000), [PointState("a", 3)], takes=[Take("a", 9, 2500), Take("a", 9, 1)])
    assert list(map(numbers, table.save(saving))) == [[1, 2], [3]]
    assert numbers(table.held("a", 0, 9, 2500)) == [1, 2]
    assert numbers(table.held("a", 2, 9, 1)) == [3]


def test_many_are_read_in_pages(path: Path) -> None:
    table = Store.open(path).pull_points
    table.save(Saving(9, put("a", *range(1, 301)), [PointState("a", 300)]))
    assert numbers(table.held("a", 0, 1000, LOTS)) == list(range(1, 301))
    assert numbers(table.held("a", 10, 200, LOTS)) == list(range(11, 211))


def test_a_saving_is_whole_or_not_at_all(path: Path) -> None:
    table = Store.open(path).pull_points
    table.save(Saving(5, put("a", 1), [PointState("a", 1)]))
    with pytest.raises(DatabaseFailed):
        table.save(Saving(6, put("a", 2, 1), [PointState("a", 2)], takes=[Take("a", 5, LOTS)]))
    assert (table.pulled_to(), table.states()) == (5, [PointState("a", 1)])
    assert numbers(table.held("a", 0, 10, LOTS)) == [1]


def test_ended_points_leave_nothing_and_old_messages_go(path: Path) -> None:
    table = Store.open(path).pull_points
    states = [PointState("a", 3, 3), PointState("b", 2)]
    table.save(Saving(5, [*put("a", 1, 2, 3), *put("b", 1, 2)], states, lagging={"s": 3}))
    assert table.lagging() == {"s": 3}
    table.save(Saving(6, purged=[("a", 2)], ended=["b"]))
    assert table.states() == states[:1]
    assert numbers(table.held("a", 0, 10, LOTS)) == [3]
    assert table.held("b", 0, 10, LOTS) == []
    assert table.lagging() == {}


def test_a_database_of_the_first_format_gets_the_new_tables(path: Path) -> None:
    meta = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
    old = sqlite3.connect(path)
    old.executescript(";".join((meta, past.CHANGES, progress.SCHEMA, dead_letters.SCHEMA)))
    old.execute("INSERT INTO meta VALUES ('node', 'n1')")
    old.execute("PRAGMA user_version=1")
    old.commit()
    old.close()
    store = Store.open(path)
    assert store.meta("node") == "n1"
    store.pull_points.save(Saving(5, put("a", 1), [PointState("a", 1)]))
    assert store.pull_points.pulled_to() == 5


def test_current_messages_are_kept_by_topic(path: Path) -> None:
    table = Store.open(path).current_messages
    offset, saved = table.load()
    assert (offset, list(saved)) == (None, [])
    table.save(CurrentSaving(3, [said(1, topic="a"), said(2, topic="b")], []))
    table.save(CurrentSaving(5, [said(4, topic="a")], [str(said(2, topic="b").topic)]))
    offset, saved = table.load()
    assert (offset, list(saved)) == (5, [said(4, topic="a")])


def test_what_is_there_is_found_by_its_place(path: Path) -> None:
    table = Store.open(path).pull_points
    alike = b"".join(map(msgspec.msgpack.encode, ("at", Position(Node("n"), 2), "index", 0)))
    forged = replace(said(9), payload=Payload("text/plain", alike))
    more = [Put("a", 5, "s", forged), Put("a", 6, "t", said(1)), Put("b", 1, "s", said(4))]
    table.save(Saving(7, [*put("a", 1, 2, 3, size=9 << 20), Put("a", 4, "s", said(1)), *more], [PointState("a", 6)]))

    def found(name: str, number: int, index: int = 0) -> int | None:
        return table.number_of("a", name, Position(Node("n"), number), index)

    assert [found("s", number) for number in (1, 2, 3, 4, 9)] == [4, 2, 3, None, 5]
    assert (found("t", 1), found("t", 2), found("s", 2, 1)) == (6, None, None)
