import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.records import Changed
from tocsin.model.subscription import State
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.errors import DatabaseFailed, EngineMismatch, NewerFormat

MakeChanged = Callable[[int, str, State], Changed]
MakeDelivery = Callable[[str, int], Delivery]
A, B = SubscriptionId("a"), SubscriptionId("b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tocsin.db"


def test_what_is_set_is_kept(path: Path) -> None:
    store = Store.open(path)
    assert store.meta("node") is None
    store.set_meta("node", "n1")
    store.set_meta("node", "n2")
    store.close()
    assert Store.open(path).meta("node") == "n2"


def test_the_first_engine_owns_the_directory(path: Path) -> None:
    store = Store.open(path)
    store.claim_engine("spark")
    store.claim_engine("spark")
    store.close()
    again = Store.open(path)
    with pytest.raises(EngineMismatch, match="--engine spark"):
        again.claim_engine("embedded")
    assert again.meta("engine") == "spark"


def test_a_change_applied_twice_counts_once(path: Path, changed: MakeChanged) -> None:
    store = Store.open(path)
    assert (store.applied(), list(store.past.changes()), store.past.subscriptions()) == (0, [], [])
    changes = [changed(3, "a", "active"), changed(7, "b", "active")]
    store.apply(changes)
    store.apply(changes[:1])
    store.apply([])
    assert store.applied() == 8
    assert list(store.past.changes()) == changes


def test_the_subscriptions_as_of_a_record(path: Path, changed: MakeChanged) -> None:
    changes = [
        changed(1, "a", "active"),
        changed(4, "b", "active"),
        changed(6, "a", "paused"),
        changed(8, "a", "ended"),
        changed(9, "a", "active"),
    ]
    store = Store.open(path)
    store.apply(changes)

    def as_of(offset: int) -> list[tuple[str, str, int]]:
        return [(each.id, each.state, each.since.offset) for each in store.past.subscriptions(offset)]

    assert as_of(1) == []
    assert as_of(2) == [("a", "active", 1)]
    assert as_of(5) == [("a", "active", 1), ("b", "active", 4)]
    assert as_of(7) == [("b", "active", 4), ("a", "paused", 6)]
    assert as_of(9) == [("b", "active", 4)]
    assert (
        store.past.subscriptions() == store.past.subscriptions(10) == [changes[1].subscription, changes[4].subscription]
    )
    assert list(store.past.changes(since=4, before=8)) == changes[1:3]
    assert list(store.past.changes(since=9)) == changes[4:]


def test_many_changes_are_read_in_order_while_more_arrive(path: Path, changed: MakeChanged) -> None:
    store, changes = Store.open(path), [changed(number * 2, f"s{number}", "active") for number in range(2500)]
    store.apply(changes)
    reading = store.past.changes(before=4500)
    assert next(reading) == changes[0]
    store.apply([changed(9999, "late", "active")])
    assert list(reading) == changes[1:2250]


def test_another_process_may_read_but_not_write(path: Path, changed: MakeChanged) -> None:
    with pytest.raises(DatabaseFailed, match="cannot open"):
        Store.open(path, read_only=True)
    store = Store.open(path)
    reader = Store.open(path, read_only=True)
    store.apply([changed(1, "a", "active")])
    assert reader.applied() == 2
    with pytest.raises(DatabaseFailed, match="read only"):
        reader.set_meta("node", "x")
    reader.close()
    store.close()
    assert len(Store.open(path, read_only=True).past.subscriptions()) == 1


def test_progress_is_saved_whole(path: Path) -> None:
    store = Store.open(path)
    assert store.progress() == (0, {})
    store.save_progress(10, {A: (3, 0), B: (5, 2)})
    assert store.progress() == (10, {A: (3, 0), B: (5, 2)})
    store.save_progress(12, {B: (5, 2)})
    store.close()
    again = Store.open(path)
    assert again.progress() == (12, {B: (5, 2)})
    again.save_progress(20, {A: (19, 1)})
    assert again.progress() == (20, {A: (19, 1)})
    again.save_progress(21, {})
    assert again.progress() == (21, {})


def test_progress_says_that_the_changes_before_it_are_applied(path: Path, changed: MakeChanged) -> None:
    store = Store.open(path)
    store.apply([changed(3, "a", "active")])
    store.save_progress(100, {})
    assert store.applied() == 100


def test_progress_that_fails_changes_nothing(path: Path, delivery: MakeDelivery) -> None:
    store = Store.open(path)
    store.save_progress(5, {A: (1, 0)})
    letter = DeadLetter(0, delivery("a", 1), Instant(1), "gone", 1)
    with pytest.raises((DatabaseFailed, OverflowError)):
        store.save_progress(6, {B: (2, 0)}, [letter, DeadLetter(0, delivery("a", 2), Instant(1 << 70), "gone", 1)])
    assert store.progress() == (5, {A: (1, 0)})
    assert store.count_dead_letters() == 0
    store.save_progress(7, {B: (2, 0)}, [letter])
    assert store.progress() == (7, {B: (2, 0)})


def test_a_dead_letter_is_kept_whole(path: Path, delivery: MakeDelivery) -> None:
    store = Store.open(path)
    store.save_progress(5, {}, [DeadLetter(0, delivery("a", 1), Instant(17), "410 Gone", 3)])
    store.close()
    assert Store.open(path).dead_letters() == [DeadLetter(1, delivery("a", 1), Instant(17), "410 Gone", 3)]


def test_dead_letters_are_paged(path: Path, delivery: MakeDelivery) -> None:
    store = Store.open(path)
    letters = [DeadLetter(0, delivery("ab"[number % 2], number), Instant(1), "", 1) for number in range(10)]
    store.save_progress(10, {}, letters)
    assert store.count_dead_letters() == 10
    assert [each.id for each in store.dead_letters(limit=4)] == [1, 2, 3, 4]
    assert [each.id for each in store.dead_letters(after=8)] == [9, 10]
    assert [each.id for each in store.dead_letters(after=2, limit=2, subscription="a")] == [3, 5]


def test_the_same_delivery_dies_once(path: Path, delivery: MakeDelivery) -> None:
    store = Store.open(path)
    for attempts in (1, 4):
        store.save_progress(1, {}, [DeadLetter(0, delivery("a", 1), Instant(attempts), "gone", attempts)])
    assert [(each.id, each.attempts) for each in store.dead_letters()] == [(1, 4)]


def test_a_redrive_survives_a_restart_and_ends_in_life_or_death(path: Path, delivery: MakeDelivery) -> None:
    store = Store.open(path)
    store.save_progress(9, {}, [DeadLetter(0, delivery("a", number), Instant(1), "gone", 1) for number in range(4)])
    assert store.redrive([1, 3, 99]) == 2
    assert store.redrive([1]) == 0
    store.close()
    again = Store.open(path)
    assert [each.id for each in again.redriven(9)] == [1, 3]
    assert [each.id for each in again.redriven(1, after=1)] == [3]
    assert {each.state for each in again.redriven(9)} == {"queued"}
    again.save_progress(9, {}, [DeadLetter(3, delivery("a", 2), Instant(2), "gone again", 2)], revived=[1])
    assert again.redriven(9) == []
    assert [(each.id, each.reason) for each in again.dead_letters()] == [(2, "gone"), (3, "gone again"), (4, "gone")]
    assert again.redrive(None) == 3


def test_threads_share_a_store(path: Path, changed: MakeChanged) -> None:
    store = Store.open(path)

    def work(number: int) -> int:
        store.apply([changed(number, f"s{number}", "active")])
        store.save_progress(0, {SubscriptionId(str(number)): (number, 0)})
        return len(store.past.subscriptions())

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(work, range(80)))
    assert max(counts) == 80
    assert len(store.progress()[1]) == 1


def test_a_file_of_a_later_version_is_refused(path: Path) -> None:
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(NewerFormat, match="format 99"):
            Store.open(path, read_only=read_only)


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be looked at as if it were one" * 20)
    with pytest.raises(DatabaseFailed, match=r"tocsin\.db"):
        Store.open(path)
