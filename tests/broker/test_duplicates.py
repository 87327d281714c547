"""What counts as the same message sent again."""

import asyncio

import msgspec
from tests.broker.records import accepted

from tocsin.broker.publishing.publishing import REMEMBERED_SECONDS, Duplicates, key_of, keys_of_passed
from tocsin.flow.flow import normalise
from tocsin.model.identity import Instant, MessageId, Node, after
from tocsin.model.notification import EVERY_PLANE, Notification, Payload, Way


def notification(name: str, producer: str = "", data: bytes = b"x") -> Notification:
    (made,) = normalise(accepted(0, "a"))
    return msgspec.structs.replace(made, id=MessageId(name), producer=producer, payload=Payload("text/plain", data))


def test_producers_without_a_name_may_number_alike() -> None:
    assert key_of([notification("1", data=b"one")]) != key_of([notification("1", data=b"another")])
    assert key_of([notification("1", data=b"one")]) == key_of([notification("1", data=b"one")])


def test_a_producer_with_a_name_answers_for_its_ids() -> None:
    assert key_of([notification("1", "urn:p", b"one")]) == key_of([notification("1", "urn:p", b"another")])
    assert key_of([notification("1", "urn:p")]) != key_of([notification("1", "urn:q")])


def test_nobody_uses_up_the_ids_of_another() -> None:
    said = notification("1", "urn:p")
    assert key_of([said], principal="ann") != key_of([said], principal="ben")
    assert key_of([said], None, "ann") == key_of([said], principal="ann") != key_of([said])


def test_an_id_made_here_is_no_key() -> None:
    (made,) = normalise(accepted(0, "a"))
    assert key_of([made]) is None


async def test_the_window_is_bounded_by_number_and_age() -> None:
    stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stored.set_result(0)
    window = Duplicates(2)
    for name in ("1", "2", "3"):
        window.remember((None, "p", name, 0), Instant(0), stored)
    assert window.first((None, "p", "1", 0), Instant(1)) is None
    assert window.first((None, "p", "3", 0), Instant(1)) is stored
    assert window.first((None, "p", "3", 0), after(Instant(1), REMEMBERED_SECONDS)) is None


def passed(only: tuple[str, ...] = ("s",), moved: str = "") -> list[object]:
    way = Way("b", Node("a"), 1, (), EVERY_PLANE, only, moved=moved)
    return list(keys_of_passed(msgspec.structs.replace(notification("1", "urn:p"), way=way), None, "point"))


def test_what_was_moved_is_known_by_its_move_and_stands_for_what_comes_by_itself() -> None:
    alone, once, again = passed(), passed(moved="1/b"), passed(moved="2/b")
    assert once[0] not in alone and once[0] not in again and again[0] not in once
    assert once[1:] == again[1:] == alone
    assert passed(("t",), "1/b")[0] != once[0]
