import asyncio

import pytest
from tests.wire.peers.talking import until

from tocsin.wire.peers.room import Room


class Gone(Exception):
    pass


async def waiting(room: Room) -> "asyncio.Task[None]":
    task = asyncio.create_task(room.taken())
    await asyncio.sleep(0)
    return task


async def test_who_waits_first_comes_first_and_before_who_comes_later() -> None:
    room = Room(1)
    await room.taken()
    first, second = await waiting(room), await waiting(room)
    assert not first.done() and not room.is_free
    room.give()
    assert not room.is_free
    await first
    await asyncio.sleep(0)
    assert not second.done()
    room.give()
    await second
    room.give()
    assert room.is_free and not room.is_used


async def test_none_is_taken_while_nothing_can_be_written() -> None:
    room = Room(2)
    room.pause()
    assert not room.is_free
    tasks = [await waiting(room) for _ in range(3)]
    room.resume()
    await asyncio.gather(*tasks[:2])
    assert not tasks[2].done()
    room.give()
    await tasks[2]


@pytest.mark.parametrize("turn_came", [False, True])
async def test_who_goes_away_leaves_its_place_to_the_next(turn_came: bool) -> None:
    room = Room(1)
    await room.taken()
    first, second = await waiting(room), await waiting(room)
    if turn_came:
        room.give()
    first.cancel()
    if not turn_came:
        await asyncio.wait([first])
        room.give()
    await until(second.done, "the next has its turn")
    assert first.cancelled() and not room.is_free
    room.give()
    assert room.is_free


async def test_at_the_end_all_are_told_and_who_comes_later_too() -> None:
    room = Room(1)
    await room.taken()
    tasks = [await waiting(room) for _ in range(3)]
    room.end(Gone)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in results] == [Gone] * 3 and len({id(each) for each in results}) == 3
    with pytest.raises(Gone):
        await room.taken()
    room.give()
    assert not room.is_free
