import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.store.errors import CorruptLog, LogInUse
from tocsin.store.log.appender import Appender, mark_path
from tocsin.store.log.reader import LogReader
from tocsin.store.log.segment import HEADER_SIZE, SYNC_SIZE, index_path, segment_firsts, segment_path

RECORDS = [b"record %d " % number * 9 for number in range(9)]


def write(directory: Path, *, segment_bytes: int = 300) -> None:
    """Nine records in commits of one to three."""
    appender = Appender.open(directory, segment_bytes=segment_bytes)
    for commit in (RECORDS[0:1], RECORDS[1:3], RECORDS[3:6], RECORDS[6:9]):
        appender.commit(commit, (), None)
    appender.close()


def read(directory: Path) -> list[bytes]:
    reader = LogReader(directory)
    return [payload for _, payload in reader.frames(0, reader.end())]


def reopen(directory: Path) -> str | None:
    appender = Appender.open(directory, segment_bytes=300)
    appender.close()
    return appender.repaired


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def written() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        write(Path(name) / "log")
        yield Path(name) / "log"


@pytest.fixture(scope="module")
def one_segment() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        write(Path(name) / "log", segment_bytes=1 << 20)
        yield Path(name) / "log"


def last_segment(directory: Path) -> Path:
    return segment_path(directory, segment_firsts(directory)[-1])


def forget_mark(directory: Path) -> None:
    """As after a power cut: the mark is never synced."""
    mark_path(directory).unlink()


def test_an_undamaged_log_is_left_alone(written: Path) -> None:
    before = contents(written)
    assert reopen(written) is None
    assert contents(written) == before
    assert read(written) == RECORDS


def test_every_truncation_of_the_last_commit_is_repaired_to_whole_records(one_segment: Path, tmp_path: Path) -> None:
    size = last_segment(one_segment).stat().st_size
    commit = SYNC_SIZE + sum(8 + len(record) for record in RECORDS[6:9])
    for end in range(size - commit, size):
        directory = shutil.copytree(one_segment, tmp_path / str(end))
        forget_mark(directory)
        with last_segment(directory).open("r+b") as file:
            file.truncate(end)
        cut = last_segment(directory).read_bytes()
        repaired = reopen(directory)
        kept = read(directory)
        assert kept == RECORDS[: len(kept)]
        assert len(kept) >= 6
        tail = cut[last_segment(directory).stat().st_size :]
        assert (repaired is None) == (not tail.strip(b"\0")), "zeros were put ahead"
        assert reopen(directory) is None


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(1, 100), garbage=st.binary(max_size=64))
def test_a_tail_of_anything_is_cut_off_and_the_log_goes_on(one_segment: Path, cut: int, garbage: bytes) -> None:
    with TemporaryDirectory() as name:
        directory = shutil.copytree(one_segment, Path(name) / "log")
        forget_mark(directory)
        path = last_segment(directory)
        path.write_bytes(path.read_bytes()[:-cut] + garbage)
        appender = Appender.open(directory, segment_bytes=1 << 20)
        between_records = cut == 8 + len(RECORDS[8]) and not garbage.strip(b"\0")
        assert (appender.repaired is None) == between_records
        end = appender.next_offset
        assert end in (7, 8)
        appender.commit([b"after"], (), None)
        appender.close()
        assert read(directory) == [*RECORDS[:end], b"after"]


@pytest.mark.parametrize("count", [1, 7, 8, 23, 24, 5000])
@pytest.mark.parametrize("power_cut", [False, True])
def test_zeros_after_the_end_were_put_ahead(one_segment: Path, tmp_path: Path, count: int, power_cut: bool) -> None:
    directory = shutil.copytree(one_segment, tmp_path / "log")
    if power_cut:
        forget_mark(directory)
    path, before = last_segment(directory), last_segment(directory).read_bytes()
    path.write_bytes(before + bytes(count))
    assert reopen(directory) is None
    assert path.read_bytes() == before
    assert read(directory) == RECORDS


@pytest.fixture
def left_by_kill(tmp_path: Path) -> Path:
    """What the disk has of a log that was never closed."""
    appender = Appender.open(tmp_path / "open", segment_bytes=1 << 20)
    for commit in (RECORDS[0:1], RECORDS[1:3], RECORDS[3:6], RECORDS[6:9]):
        appender.commit(commit, (), None)
    directory = shutil.copytree(tmp_path / "open", tmp_path / "left")
    assert last_segment(directory).stat().st_size > appender.segments()[-1].size + 100_000
    appender.close()
    return directory


def records_of(path: Path) -> bytes:
    """A segment without the zeros; no record here ends with one."""
    return path.read_bytes().rstrip(b"\0")


@pytest.mark.parametrize("power_cut", [False, True])
def test_a_log_left_with_zeros_goes_on(left_by_kill: Path, power_cut: bool) -> None:
    if power_cut:
        forget_mark(left_by_kill)
    path = last_segment(left_by_kill)
    os.utime(path, (1000, 1000))
    before = records_of(path)
    appender = Appender.open(left_by_kill, segment_bytes=1 << 20)
    assert (appender.repaired, appender.next_offset) == (None, 9)
    assert path.read_bytes() == before
    assert appender.segments()[-1].written == 1000, "the age is that of the last record"
    appender.commit([b"after"], (), None)
    assert read(left_by_kill) == [*RECORDS, b"after"]
    appender.close()
    assert reopen(left_by_kill) is None
    assert read(left_by_kill) == [*RECORDS, b"after"]


def test_a_torn_tail_before_zeros_is_counted_without_them(left_by_kill: Path) -> None:
    path = last_segment(left_by_kill)
    whole, file = records_of(path), path.read_bytes()
    torn = whole[-50:-20]
    path.write_bytes(whole + torn + file[len(whole) + len(torn) :])
    assert "removed a torn tail of 30 bytes after record 8" in str(reopen(left_by_kill))
    assert path.read_bytes() == whole


@pytest.mark.parametrize("power_cut", [False, True])
@pytest.mark.parametrize("zeroed", [False, True])
def test_damage_before_zeros_is_damage(left_by_kill: Path, power_cut: bool, zeroed: bool) -> None:
    if power_cut:
        forget_mark(left_by_kill)
    path = last_segment(left_by_kill)
    data = bytearray(path.read_bytes())
    place = data.index(RECORDS[4])
    data[place - 8 : place + 20] = bytes(28) if zeroed else b"x" * 28
    path.write_bytes(data)
    with pytest.raises(CorruptLog) as caught:
        reopen(left_by_kill)
    assert (caught.value.offset, caught.value.byte) == (4, place - 8)
    assert path.read_bytes() == data


def test_zeros_in_place_of_what_was_acknowledged_are_damage(left_by_kill: Path) -> None:
    path = last_segment(left_by_kill)
    data = path.read_bytes()
    place = data.index(RECORDS[8]) - 8
    path.write_bytes(data[:place] + bytes(len(data) - place))
    with pytest.raises(CorruptLog, match="ends here, but was durable up to record 9"):
        reopen(left_by_kill)


@pytest.mark.parametrize("power_cut", [False, True])
def test_zeros_before_the_last_segment_are_damage(written: Path, tmp_path: Path, power_cut: bool) -> None:
    directory = shutil.copytree(written, tmp_path / "log")
    if power_cut:
        forget_mark(directory)
    path = segment_path(directory, segment_firsts(directory)[-2])
    path.write_bytes(path.read_bytes() + bytes(100))
    with pytest.raises(CorruptLog, match="neither a record nor a sync frame"):
        reopen(directory)


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=25), segment_bytes=st.sampled_from([100, 500, 900]))
def test_a_kill_after_any_commit_leaves_a_log_that_opens(sizes: list[int], segment_bytes: int) -> None:
    with TemporaryDirectory() as name:
        appender = Appender.open(Path(name) / "log", segment_bytes=segment_bytes)
        for count, size in enumerate(sizes, 1):
            appender.commit([b"x" * size], (), None)
            *sealed, _ = appender.segments()
            assert [each.path.stat().st_size for each in sealed] == [each.size for each in sealed]
            left = shutil.copytree(Path(name) / "log", Path(name) / str(count))
            assert reopen(left) is None
            assert read(left) == [b"x" * each for each in sizes[:count]]
        appender.close()


def test_closing_takes_the_zeros_away_and_leaves_the_age(tmp_path: Path) -> None:
    appender = Appender.open(tmp_path, segment_bytes=1 << 20)
    appender.commit(RECORDS, (), None)
    (segment,) = appender.segments()
    os.utime(segment.path, (1000, 1000))
    appender.close()
    assert (segment.path.stat().st_size, segment.path.stat().st_mtime) == (segment.size, 1000)


@settings(max_examples=100, deadline=None)
@given(draw=st.data(), power_cut=st.booleans())
def test_a_changed_byte_before_the_last_commit_is_damage(written: Path, draw: st.DataObject, power_cut: bool) -> None:
    firsts = segment_firsts(written)
    first = draw.draw(st.sampled_from(firsts[:-1]))
    with TemporaryDirectory() as name:
        directory = shutil.copytree(written, Path(name) / "log")
        if power_cut:
            forget_mark(directory)
        path = segment_path(directory, first)
        data = bytearray(path.read_bytes())
        byte = draw.draw(st.integers(HEADER_SIZE, len(data) - 1))
        data[byte] ^= draw.draw(st.integers(1, 255))
        path.write_bytes(data)
        before = contents(directory)
        with pytest.raises(CorruptLog) as caught:
            reopen(directory)
        damage = caught.value
        assert damage.path == path
        assert damage.byte <= byte < damage.byte + 300
        assert first <= damage.offset < 9
        assert str(path) in str(damage)
        assert f"byte {damage.byte} (record {damage.offset})" in str(damage)
        after = contents(directory)
        assert after == (before | {"durable": after["durable"]})


@pytest.mark.parametrize("power_cut", [False, True])
def test_a_changed_byte_in_the_middle_of_the_last_segment_is_damage(
    one_segment: Path, tmp_path: Path, power_cut: bool
) -> None:
    directory = shutil.copytree(one_segment, tmp_path / "log")
    if power_cut:
        forget_mark(directory)
    path = last_segment(directory)
    data = bytearray(path.read_bytes())
    data[data.index(RECORDS[4])] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptLog) as caught:
        reopen(directory)
    assert caught.value.offset == 4
    assert caught.value.byte == data.index(RECORDS[4][1:]) - 9
    assert path.read_bytes() == data


def test_a_changed_byte_in_the_last_commit_is_damage_while_the_mark_says_so(one_segment: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(one_segment, tmp_path / "log")
    path = last_segment(directory)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptLog, match=r"\(record 8\): the checksum does not match"):
        reopen(directory)


def test_a_log_that_lost_what_was_durable_is_damage(one_segment: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(one_segment, tmp_path / "log")
    path = last_segment(directory)
    with path.open("r+b") as file:
        file.truncate(path.read_bytes().index(RECORDS[5]) - 8)
    with pytest.raises(CorruptLog, match="durable up to record 9"):
        reopen(directory)


def test_a_missing_segment_is_damage(written: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(written, tmp_path / "log")
    segment_path(directory, segment_firsts(directory)[1]).unlink()
    with pytest.raises(CorruptLog, match="the next segment starts at"):
        reopen(directory)


def test_all_segments_missing_is_damage(written: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(written, tmp_path / "log")
    for path in directory.glob("*.log"):
        path.unlink()
    with pytest.raises(CorruptLog, match="durable up to record 9"):
        reopen(directory)


def test_an_unreadable_mark_is_named(written: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(written, tmp_path / "log")
    mark_path(directory).write_bytes(b"0123456789abcdef")
    with pytest.raises(CorruptLog, match="may be removed"):
        reopen(directory)
    mark_path(directory).unlink()
    assert reopen(directory) is None
    assert read(directory) == RECORDS


def test_what_a_crash_left_between_two_steps_is_removed(written: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(written, tmp_path / "log")
    unnamed = segment_path(directory, 9).with_suffix(".new")
    unnamed.write_bytes(b"TOC")
    orphan = index_path(segment_path(directory, 99))
    orphan.write_bytes(b"")
    reopen(directory)
    assert not unnamed.exists()
    assert not orphan.exists()


def test_one_writer_at_a_time(written: Path) -> None:
    appender = Appender.open(written, segment_bytes=300)
    with pytest.raises(LogInUse, match=str(written)):
        Appender.open(written, segment_bytes=300)
    appender.close()
    assert reopen(written) is None


def test_a_damaged_log_does_not_stay_locked(written: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(written, tmp_path / "log")
    path = segment_path(directory, 0)
    good = path.read_bytes()
    path.write_bytes(b"X" + good[1:])
    with pytest.raises(CorruptLog, match="header"):
        reopen(directory)
    path.write_bytes(good)
    assert reopen(directory) is None
