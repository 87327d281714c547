import asyncio
import threading

import pytest
from tests.whole.shell import wait_until

from tocsin.runtime.write_behind import WriteBehind


class Kept:
    """What changed is numbers; what is written is lists of them."""

    def __init__(self) -> None:
        self.fresh: list[int] = []
        self.disk: list[list[int]] = []
        self.broken = False
        self.may_write = threading.Event()
        self.may_write.set()
        self.behind = WriteBehind(self._collect, self._write, self._put_back)

    def note(self, number: int) -> None:
        self.fresh.append(number)
        self.behind.changed()

    def _collect(self) -> list[int]:
        taken, self.fresh = self.fresh, []
        return taken

    def _write(self, what: list[int]) -> None:
        self.may_write.wait(10)
        if self.broken:
            raise OSError("disk full")
        self.disk.append(what)

    def _put_back(self, what: list[int]) -> None:
        self.fresh[:0] = what


async def test_one_commit_is_for_all_who_wait_and_each_waits_for_one_that_began_after_it_asked() -> None:
    kept = Kept()
    kept.may_write.clear()
    kept.note(1)
    first = asyncio.create_task(kept.behind.save())
    await wait_until(lambda: kept.behind.is_writing and not kept.fresh, "it is being written")
    kept.note(2)
    later = [asyncio.create_task(kept.behind.save()) for _ in range(3)]
    await asyncio.sleep(0)
    kept.may_write.set()
    await asyncio.gather(first, *later)
    assert kept.disk == [[1], [2]] and not kept.behind.is_writing


async def test_nothing_is_written_when_nothing_changed() -> None:
    kept = Kept()
    await kept.behind.save()
    kept.note(1)
    await kept.behind.save()
    await kept.behind.save()
    assert kept.disk == [[1]]


async def test_what_cannot_be_written_is_written_with_what_comes_next() -> None:
    kept = Kept()
    kept.broken = True
    kept.note(1)
    with pytest.raises(OSError, match="disk full"):
        await kept.behind.save()
    kept.broken = False
    kept.note(2)
    await kept.behind.save()
    assert kept.disk == [[1, 2]]


async def test_a_failure_that_nobody_waits_for_is_no_warning() -> None:
    kept = Kept()
    kept.broken = True
    kept.note(1)
    await asyncio.wait({kept.behind.begin()})
    assert kept.fresh == [1]
