"""What machines remember, take in and send, as it is on disk."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter, MachineTables, Outgoing, Writing


class Row(Struct, frozen=True):
    text: str


class Said(Struct, frozen=True, array_like=True):
    text: str


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "tocsin.db")
    yield opened
    opened.close()


def tables(store: Store, family: str = "one") -> MachineTables:
    return store.machines(family, Codec(said=Said), Codec(row=Row))


def test_rows_are_kept_replaced_and_forgotten_by_family_and_machine(store: Store) -> None:
    one, other = tables(store), tables(store, "other")
    for each in (one, other):
        each.write(Writing({("a", ""): Row("1"), ("a", "x"): Row("2"), ("b", ""): Row("3")}))
    one.write(Writing({("a", ""): Row("4"), ("a", "x"): None, ("a", "never"): None}))
    assert one.rows() == {"a": {"": Row("4")}, "b": {"": Row("3")}}
    one.write(Writing({("b", "y"): Row("5")}, ended=["a", "b"]))  # one that ended and came again
    assert one.rows() == {"b": {"y": Row("5")}}
    assert other.rows() == {"a": {"": Row("1"), "x": Row("2")}, "b": {"": Row("3")}}


def test_what_a_writing_changes_is_told_as_it_is_on_disk(store: Store) -> None:
    kept = tables(store)
    writing = Writing({("a", ""): Row("1"), ("a", "x"): None}, ended=["b"])
    kept.write(writing)
    told = kept.changes(writing)
    assert [each[:2] for each in told] == [("b", None), ("a", ""), ("a", "x")] and told[2][2] is None
    assert kept.written() == [told[1]] and kept.read(told[1][2] or b"") == Row("1")


def test_letters_are_open_until_they_are_done_and_known_until_they_expire(store: Store) -> None:
    kept, first, second = tables(store), Letter("a", Said("1"), "1"), Letter("a", Said("2"), "2")
    kept.write(Writing(taken=[first, second], done=[Letter("b", Said("3"), "3")], now=Instant(5)))
    assert kept.open_letters() == [first, second] and tables(store, "other").open_letters() == []
    kept.write(Writing(done=[first], now=Instant(6)))
    assert kept.open_letters() == [second] and kept.known(["1", "2", "3", "4"]) == {"1", "2", "3"}
    kept.write(Writing(expire=Instant(6)))
    assert kept.known(["1", "2", "3"]) == {"1", "2"}
    kept.write(Writing(expire=Instant(7)))
    assert kept.known(["1", "2", "3"]) == {"2"} and tables(store, "other").known(["2"]) == set()


def test_lanes_are_in_the_order_of_sending_and_bounded_in_bytes(store: Store) -> None:
    kept = tables(store)
    rows = [Outgoing("p", lane, str(n), "m", Instant(n), b"x" * 10) for n, lane in enumerate("aaab")]
    kept.write(Writing(outgoing=rows))
    assert sorted(kept.outbox.lanes()) == [("p", "a"), ("p", "b")] and kept.outbox.rows == 4
    assert [each.id for each in kept.outbox.first("p", "a", 9, 15)] == ["0", "1"]
    assert [each.id for each in kept.outbox.first("p", "a", 9, 99, before=1)] == ["0"]
    kept.outbox.sent(kept.outbox.first("p", "a", 2, 99))
    assert [each.id for each in kept.outbox.first("p", "a", 9, 99)] == ["2"] and kept.outbox.rows == 2
    assert tables(store, "other").outbox.lanes() == []


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    kept = tables(store)
    with pytest.raises(KeyError):
        kept.write(Writing({("a", ""): Row("1")}, taken=[Letter("a", "not one of its messages", "1")]))
    assert not kept.rows() and not kept.open_letters()


def test_what_is_not_known_cannot_be_read() -> None:
    with pytest.raises(msgspec.MsgspecError, match="nothing that is known"):
        Codec(row=Row).decode(Codec(said=Said).encode(Said("x")))
