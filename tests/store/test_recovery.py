import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.store.errors import CorruptLog, LogInUse
from tocsin.store.log.appender import Appender
from tocsin.store.log.reader import LogReader
from tocsin.store.log.segment import HEADER_SIZE, SYNC_SIZE, mark_path, segment_firsts, segment_path
from tocsin.store.log.sparse_index import index_path

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
        repaired = reopen(directory)
        kept = read(directory)
        assert kept == RECORDS[: len(kept)]
        assert len(kept) >= 6
        assert (repaired is None) == (end == size - commit or end == last_segment(directory).stat().st_size)
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
        between_records = cut == 8 + len(RECORDS[8]) and not garbage
        assert (appender.repaired is None) == between_records
        end = appender.next_offset
        assert end in (7, 8)
        appender.commit([b"after"], (), None)
        appender.close()
        assert read(directory) == [*RECORDS[:end], b"after"]


def test_zeros_after_the_end_are_a_torn_tail(one_segment: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(one_segment, tmp_path / "log")
    with last_segment(directory).open("ab") as file:
        file.write(bytes(5000))
    assert "torn tail of 5000 bytes after record 8" in str(reopen(directory))
    assert read(directory) == RECORDS


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
