"""The disk is full, writes fall short, a sync fails."""

import asyncio
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.store.errors import CannotAppend, LogRefuses
from tocsin.store.log.appender import Appender
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader

CHILD = Path(__file__).with_name("appending_child.py")
write = os.pwrite


def record(number: int) -> bytes:
    return b"record %d " % number * (1 + number % 300)


def read(directory: Path) -> list[bytes]:
    reader = LogReader(directory)
    return [payload for _, payload in reader.frames(0, reader.end())]


def check(output: str, directory: Path, reason: str) -> None:
    """Two times full, each time cut back to what is durable; then it goes on, and offsets have no gap."""
    first, second, goes_on = output.splitlines()
    for line in (first, second):
        assert line.startswith("True cannot")
        assert reason in line
    assert goes_on == "True"
    assert all(payload == record(offset) for offset, payload in enumerate(read(directory)))
    appender = Appender.open(directory, segment_bytes=100_000)
    assert (appender.repaired, appender.next_offset) == (None, len(read(directory)))
    appender.close()


def test_a_file_may_not_grow(tmp_path: Path) -> None:
    command = [sys.executable, str(CHILD), "limited", str(tmp_path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    check(output, tmp_path, "File too large")


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs user namespaces, to have a small disk")
def test_the_disk_is_full(tmp_path: Path) -> None:
    script = (
        'mount -t tmpfs -o size=700k none "$1" && head -c 300000 /dev/zero >"$1/ballast" &&'
        ' "$2" "$3" fill "$1/log" "$1/ballast" && cp -r "$1/log" "$4"'
    )
    (tmp_path / "small").mkdir()
    arguments = [str(tmp_path / "small"), sys.executable, str(CHILD), str(tmp_path / "copy")]
    command = ["unshare", "-Urm", "sh", "-ec", script, "sh", *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    check(output, tmp_path / "copy", "No space left on device")


async def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log.open(tmp_path)
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: write(file, bytes(data[:7]), place))
    await asyncio.gather(*(log.append(record(number)) for number in range(20)))
    await log.close()
    assert read(tmp_path) == [record(number) for number in range(20)]


async def test_a_write_that_fails_halfway_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log.open(tmp_path)
    await log.append(b"kept")
    size = log.segments()[-1].size
    written: list[int] = []

    def half(file: int, data: bytes, place: int) -> int:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(write(file, data[:20], place))
        return written[0]

    monkeypatch.setattr(os, "pwrite", half)
    waits = [log.append(b"lost"), log.append(b"lost too")]
    results = await asyncio.gather(*waits, return_exceptions=True)
    assert [type(each) for each in results] == [CannotAppend, CannotAppend]
    assert results[0] is not results[1]
    assert (log.next_offset, log.durable, log.waiting) == (1, 1, 0)
    assert log.segments()[-1].path.stat().st_size == size
    monkeypatch.undo()
    assert await asyncio.gather(*[log.append(b"next"), log.append(b"last")]) == [1, 2]
    await log.close()
    assert read(tmp_path) == [b"kept", b"next", b"last"]


async def test_what_was_appended_while_a_write_fails_fails_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, loop = Log.open(tmp_path), asyncio.get_running_loop()
    entered, late = asyncio.Event(), list[asyncio.Future[int]]()

    def fail(file: int, data: bytes, place: int) -> int:
        if not late:  # without zeros ahead it is tried once more
            asyncio.run_coroutine_threadsafe(append_more(), loop).result()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def append_more() -> None:
        late.append(log.append(b"late"))
        entered.set()

    monkeypatch.setattr(os, "pwrite", fail)
    early = log.append(b"early")
    await entered.wait()
    results = await asyncio.gather(early, *late, return_exceptions=True)
    assert [type(each) for each in results] == [CannotAppend, CannotAppend]
    assert log.next_offset == 0
    monkeypatch.undo()
    assert await log.append(b"now") == 0
    await log.close()
    assert read(tmp_path) == [b"now"]


async def test_after_a_failed_sync_the_log_refuses_until_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log.open(tmp_path)
    await log.append(b"kept")

    def fail(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(LogRefuses, match="cannot sync"):
        await log.append(b"lost")
    monkeypatch.undo()
    with pytest.raises(LogRefuses, match="opened again"):
        await log.append(b"refused")
    assert (log.next_offset, log.durable) == (1, 1)
    await log.close()
    assert read(tmp_path) == [b"kept"]
    again = Log.open(tmp_path)
    assert await again.append(b"next") == 1
    await again.close()
    assert read(tmp_path) == [b"kept", b"next"]


async def test_a_file_that_cannot_be_cut_back_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log.open(tmp_path)
    await log.append(b"kept")

    def half(file: int, data: bytes, place: int) -> int:
        write(file, data[:-2], place)  # so that it does not end with a zero, which would not count
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def fail(file: int, size: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pwrite", half)
    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(LogRefuses, match="cut"):
        await log.append(b"lost")
    monkeypatch.undo()
    with pytest.raises(LogRefuses):
        await log.append(b"refused")
    await log.close()
    again = Log.open(tmp_path)
    assert " 10 bytes" in str(again.repaired)
    assert await again.append(b"next") == 1
    await again.close()
    assert read(tmp_path) == [b"kept", b"next"]


async def test_without_room_for_zeros_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scarce(file: int, data: bytes, place: int) -> int:
        if len(data) > 1000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data, place)

    log = Log.open(tmp_path)
    monkeypatch.setattr(os, "pwrite", scarce)
    assert [await log.append(b"x%d" % number) for number in range(5)] == list(range(5))
    (segment,) = log.segments()
    assert segment.path.stat().st_size == segment.size
    monkeypatch.undo()
    assert await log.append(b"last") == 5
    assert segment.path.stat().st_size > segment.size + 1000
    await log.close()
    assert read(tmp_path) == [*(b"x%d" % number for number in range(5)), b"last"]


async def test_room_for_some_zeros_is_used_up_and_then_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(file: int, data: bytes, place: int) -> int:
        if place >= 500:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, bytes(data[: 500 - place]), place)

    log, taken = Log.open(tmp_path), 0
    monkeypatch.setattr(os, "pwrite", small)
    with pytest.raises(CannotAppend, match="No space left"):
        for taken in range(100):  # noqa: B007
            await log.append(b"a record")
    (segment,) = log.segments()
    assert (taken, log.next_offset) == (11, 11), "each takes 40 bytes, the header 32"
    assert segment.path.stat().st_size == segment.size
    monkeypatch.undo()
    assert await log.append(b"next") == 11
    await log.close()
    assert read(tmp_path) == [b"a record"] * 11 + [b"next"]


async def test_a_large_commit_puts_no_zeros_ahead(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    await log.append(bytes(1 << 20))
    (segment,) = log.segments()
    assert segment.path.stat().st_size == segment.size
    await log.close()
    again = Log.open(tmp_path)
    assert (again.repaired, again.durable) == (None, 1), "a record may be nothing but zeros"
    await again.close()
    assert read(tmp_path) == [bytes(1 << 20)]


async def test_zeros_that_cannot_be_taken_away_are_left_for_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: int, size: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    log = Log.open(tmp_path)
    await log.append(b"kept")
    (segment,) = log.segments()
    monkeypatch.setattr(os, "ftruncate", fail)
    await log.close()
    monkeypatch.undo()
    assert segment.path.stat().st_size > segment.size
    again = Log.open(tmp_path)
    assert (again.repaired, segment.path.stat().st_size) == (None, segment.size)
    assert await again.append(b"next") == 1
    await again.close()
    assert read(tmp_path) == [b"kept", b"next"]


async def test_a_segment_that_cannot_be_begun_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log.open(tmp_path, segment_bytes=10)
    await log.append(b"first")

    def fail(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CannotAppend, match="cannot begin the segment"):
        await log.append(b"second")
    monkeypatch.undo()
    assert await log.append(b"second") == 1
    await log.close()
    assert read(tmp_path) == [b"first", b"second"]
    assert not list(tmp_path.glob("*.new"))


async def test_closing_while_the_disk_fails_comes_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int, data: bytes, place: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = Log.open(tmp_path)
    monkeypatch.setattr(os, "pwrite", fail)
    waits = [log.append(b"x"), log.append(b"y")]
    waits[1].cancel()
    await log.close()
    with pytest.raises(CannotAppend):
        await waits[0]
