import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tocsin.store.errors import CannotAppend, LogInUse
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader


def read(directory: Path) -> list[tuple[int, bytes]]:
    reader = LogReader(directory)
    return list(reader.frames(reader.start(), reader.end()))


async def test_an_offset_is_known_at_once_and_confirmed_when_durable(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    assert (log.next_offset, log.durable, log.repaired) == (0, 0, None)
    waits = [log.append(b"%d" % number) for number in range(3)]
    assert (log.next_offset, log.durable) == (3, 0)
    assert log.waiting == 3
    assert await asyncio.gather(*waits) == [0, 1, 2]
    assert (log.next_offset, log.durable, log.waiting) == (3, 3, 0)
    await log.close()
    assert read(tmp_path) == [(0, b"0"), (1, b"1"), (2, b"2")]


async def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    for number in range(3):
        log = Log.open(tmp_path)
        assert log.next_offset == log.durable == number
        assert await log.append(b"x") == number
        await log.close()


async def test_what_one_turn_of_the_loop_appends_is_one_commit(tmp_path: Path) -> None:
    log, ends = Log.open(tmp_path), list[int]()
    log.on_durable = ends.append
    await asyncio.gather(*(log.append(b"x") for _ in range(50)))
    await log.append(b"y")
    assert ends == [50, 51]
    await log.close()


async def test_whoever_waits_goes_before_what_on_durable_schedules(tmp_path: Path) -> None:
    log, order = Log.open(tmp_path), list[str]()

    def durable(end: int) -> None:
        order.append(f"durable {end}")
        asyncio.get_running_loop().call_soon(order.append, "scheduled")

    async def wait(name: str) -> None:
        await log.append(b"x")
        order.append(name)

    log.on_durable = durable
    await asyncio.gather(wait("first"), wait("second"))
    assert order == ["durable 2", "first", "second", "scheduled"]
    await log.close()


async def test_many_callers_get_offsets_without_gaps(tmp_path: Path) -> None:
    log = Log.open(tmp_path, segment_bytes=2000)
    offsets: list[int] = []

    async def caller(name: int) -> None:
        offsets.extend([await log.append(b"%d of %d" % (turn, name)) for turn in range(30)])

    await asyncio.gather(*map(caller, range(10)))
    await log.close()
    assert sorted(offsets) == list(range(300))
    assert [offset for offset, _ in read(tmp_path)] == list(range(300))
    assert len(list(tmp_path.glob("*.log"))) > 1


async def test_several_records_in_one_append_stand_together(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    waits = [log.append(b"a"), log.append_all([b"b", b"c"]), log.append(b"d")]
    assert log.next_offset == 4
    assert await asyncio.gather(*waits) == [0, 1, 3]
    await log.close()
    assert [payload for _, payload in read(tmp_path)] == [b"a", b"b", b"c", b"d"]


async def test_companions_are_handed_over_before_the_mark_moves(tmp_path: Path) -> None:
    reader, seen = LogReader(tmp_path), list[tuple[int, list[object]]]()

    def before_mark(companions: Sequence[object]) -> None:
        seen.append((reader.end(), list(companions)))

    log = Log.open(tmp_path, before_mark=before_mark)
    await asyncio.gather(log.append(b"a", "one"), log.append(b"b"), log.append_all([b"c"], ["two"]))
    await log.append(b"d")
    assert seen == [(0, ["one", "two"])]
    assert reader.end() == 4
    await log.close()


async def test_a_commit_whose_companions_fail_never_was(tmp_path: Path) -> None:
    broken = [True]

    def before_mark(companions: Sequence[object]) -> None:
        if broken[0]:
            raise OSError("no room")

    log = Log.open(tmp_path, before_mark=before_mark)
    await log.append(b"kept")
    with pytest.raises(CannotAppend, match="no room"):
        await log.append(b"lost", "companion")
    assert (log.next_offset, log.durable) == (1, 1)
    broken[0] = False
    assert await log.append(b"again", "companion") == 1
    await log.close()
    assert read(tmp_path) == [(0, b"kept"), (1, b"again")]


async def test_an_append_nobody_waits_for_any_more_is_still_written(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    log.append(b"a").cancel()
    assert await log.append(b"b") == 1
    log.append(b"c").cancel()
    await log.close()
    assert [payload for _, payload in read(tmp_path)] == [b"a", b"b", b"c"]


async def test_who_is_cancelled_while_waiting_takes_the_outcome_from_nobody(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    stored = log.append(b"a")

    async def wait() -> int:
        return await stored

    gone, other = asyncio.create_task(wait()), asyncio.create_task(wait())
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await other == await stored == 0
    await log.close()


async def test_closing_waits_and_then_refuses(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    wait = log.append(b"x")
    await log.close()
    await log.close()
    assert await wait == 0
    with pytest.raises(CannotAppend, match="closed"):
        await log.append(b"y")


async def test_what_waits_for_the_disk_is_bounded(tmp_path: Path) -> None:
    log = Log.open(tmp_path, max_waiting=100)
    fits, too_much = log.append(b"x" * 90), log.append(b"x" * 90)
    assert log.next_offset == 1
    with pytest.raises(CannotAppend, match="90 bytes wait"):
        await too_much
    assert await fits == 0
    assert await log.append(b"x" * 1000) == 1
    await log.close()


@pytest.mark.parametrize("payloads", [[], [b""], [b"x", b""]])
async def test_a_record_has_at_least_one_byte(tmp_path: Path, payloads: list[bytes]) -> None:
    log = Log.open(tmp_path)
    with pytest.raises(ValueError, match="record"):
        log.append_all(payloads)
    with pytest.raises(ValueError, match="record"):
        log.append(b"")
    assert log.next_offset == 0
    await log.close()


async def test_the_lock_is_held_until_the_log_is_closed(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    with pytest.raises(LogInUse):
        Log.open(tmp_path)
    await log.close()
    await Log.open(tmp_path).close()
