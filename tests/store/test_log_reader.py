import random
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.store.errors import CorruptLog, OffsetGone
from tocsin.store.log.appender import Appender
from tocsin.store.log.reader import LogReader
from tocsin.store.log.segment import index_path, pack_entries, segment_path


def record(number: int) -> bytes:
    return b"record %d " % number * (1 + number % 200)


def write(directory: Path, count: int, *, segment_bytes: int = 400_000, commit: int = 7) -> Appender:
    appender = Appender.open(directory, segment_bytes=segment_bytes)
    for start in range(appender.next_offset, count, commit):
        appender.commit([record(number) for number in range(start, min(count, start + commit))], (), None)
    return appender


def expected(start: int, stop: int) -> list[tuple[int, bytes]]:
    return [(number, record(number)) for number in range(start, stop)]


def test_before_there_is_a_log_it_is_empty(tmp_path: Path) -> None:
    reader = LogReader(tmp_path / "none")
    assert (reader.start(), reader.end(), list(reader.frames(0, 9))) == (0, 0, [])
    write(tmp_path / "none", 3).close()
    assert (reader.start(), reader.end(), list(reader.frames(0, 9))) == (0, 3, expected(0, 3))


@pytest.mark.parametrize("index", ["kept", "missing", "wrong", "cut"])
def test_any_range_can_be_read(tmp_path: Path, index: str) -> None:
    write(tmp_path, 1500).close()
    paths = [index_path(path) for path in tmp_path.glob("*.log")]
    assert len(paths) > 2
    assert sum(path.stat().st_size for path in paths) > 0
    for path in paths:
        if index == "missing":
            path.unlink()
        elif index == "wrong":
            path.write_bytes(pack_entries([(1, 5000), (700, 100_000), (1400, 10**9)]))
        elif index == "cut":
            path.write_bytes(path.read_bytes()[:-3])
    reader, dice = LogReader(tmp_path), random.Random(7)
    for _ in range(60):
        start, stop = sorted(dice.sample(range(1600), 2))
        assert list(reader.frames(start, stop)) == expected(start, min(stop, 1500))


def test_a_missing_index_is_made_again_when_the_log_is_opened(tmp_path: Path) -> None:
    write(tmp_path, 1500).close()
    before = {path: path.read_bytes() for path in tmp_path.glob("*.idx")}
    for path in before:
        path.unlink()
    write(tmp_path, 0).close()
    assert {path: path.read_bytes() for path in tmp_path.glob("*.idx")} == before


def test_a_record_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    appender = Appender.open(tmp_path, segment_bytes=1 << 30)
    large = [bytes([number]) * (3 << 20) for number in range(1, 4)]
    appender.commit([b"small", *large, b"last"], (), None)
    appender.close()
    assert [payload for _, payload in LogReader(tmp_path).frames(0, 5)] == [b"small", *large, b"last"]


def test_reading_on_starts_where_the_last_reading_ended(tmp_path: Path) -> None:
    appender = write(tmp_path, 40)
    reader = LogReader(tmp_path)
    assert list(reader.frames(0, 40)) == expected(0, 40)
    for path in tmp_path.glob("*.log"):  # what was read already is not looked at again
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
    appender.commit([record(40)], (), None)
    assert list(reader.frames(40, 99)) == expected(40, 41)
    appender.close()


def test_nothing_beyond_the_mark_is_seen(tmp_path: Path) -> None:
    appender, reader, seen = write(tmp_path, 10), LogReader(tmp_path), list[int]()

    def before_mark(_: object) -> None:
        seen.extend(offset for offset, _ in reader.frames(8, 99))

    appender.commit([record(10), record(11)], ["companion"], before_mark)
    assert seen == [8, 9]
    assert list(reader.frames(8, 99)) == expected(8, 12)
    appender.close()


def test_a_reader_follows_over_the_edge_of_segments(tmp_path: Path) -> None:
    appender, reader, read = write(tmp_path, 0, segment_bytes=3000), LogReader(tmp_path), list[tuple[int, bytes]]()
    for number in range(60):
        appender.commit([record(number)], (), None)
        read += reader.frames(len(read), reader.end())
    appender.close()
    assert read == expected(0, 60)


def test_another_process_reads_what_is_durable_so_far(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tocsin.store.log.reader import LogReader\n"
        "reader = LogReader(Path(sys.argv[1]))\n"
        "for _ in sys.stdin: print(sum(len(p) for _, p in reader.frames(0, reader.end())), reader.end(), flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for count in (0, 5, 200, 900):
            appender = write(tmp_path, count)
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.stdout.readline().split() == [str(sum(len(record(n)) for n in range(count))), str(count)]
            appender.close()
        child.stdin.close()
        assert child.wait(30) == 0


def test_damage_is_named_and_what_stands_before_it_is_read(tmp_path: Path) -> None:
    write(tmp_path, 1000).close()
    path = segment_path(tmp_path, 0)
    data = bytearray(path.read_bytes())
    place = data.index(record(123))
    data[place] ^= 1
    path.write_bytes(data)
    read: list[tuple[int, bytes]] = []
    with pytest.raises(CorruptLog) as caught:
        read.extend(LogReader(tmp_path).frames(0, 1000))
    assert read == expected(0, 123)
    assert (caught.value.path, caught.value.byte, caught.value.offset) == (path, place - 8, 123)


def test_a_file_that_lost_its_end_is_damage(tmp_path: Path) -> None:
    appender, path = write(tmp_path, 30), segment_path(tmp_path, 0)
    with path.open("r+b") as file:
        file.truncate(appender.segments()[-1].size - 1)
    with pytest.raises(CorruptLog, match="record 29"):
        list(LogReader(tmp_path).frames(0, 30))
    appender.close()


def test_zeros_put_ahead_are_no_records_and_have_no_size(tmp_path: Path) -> None:
    appender, reader = write(tmp_path, 30), LogReader(tmp_path)
    (segment,) = appender.segments()
    assert segment.path.stat().st_size > segment.size + 1000
    assert (reader.end(), list(reader.frames(0, 99))) == (30, expected(0, 30))
    assert list(reader.kept_frames(0, 99)) == expected(0, 30)
    assert segment.path.read_bytes()[segment.size :].strip(b"\0") == b""
    appender.close()
    assert segment.path.stat().st_size == segment.size
    assert list(reader.frames(0, 99)) == expected(0, 30)


def test_what_retention_removed_is_gone(tmp_path: Path) -> None:
    appender, reader = write(tmp_path, 1500), LogReader(tmp_path)
    assert list(reader.frames(0, 2)) == expected(0, 2)
    segments = appender.segments()
    appender.drop(segments[:2])
    start = segments[2].first
    assert (reader.start(), reader.end()) == (start, 1500)
    with pytest.raises(OffsetGone, match=f"starts at record {start}"):
        list(reader.frames(0, 2))
    with pytest.raises(OffsetGone):
        list(LogReader(tmp_path).frames(start - 1, start + 1))
    assert list(reader.frames(start, 1500)) == expected(start, 1500)
    appender.close()


def test_a_segment_removed_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    appender = write(tmp_path, 1500)
    segment = appender.segments()[0]
    frames = LogReader(tmp_path).frames(0, segment.stop)
    assert next(frames) == (0, record(0))
    appender.drop([segment])
    assert list(frames) == expected(1, segment.stop)
    appender.close()


def test_what_is_still_kept_is_read_also_while_retention_removes(tmp_path: Path) -> None:
    appender, reader = write(tmp_path, 1500), LogReader(tmp_path)
    segments = appender.segments()
    appender.drop(segments[:1])
    frames = reader.kept_frames(0, 1500)
    assert next(frames) == (segments[1].first, record(segments[1].first))
    appender.drop(segments[1:3])  # the open file can still be read, the one after it is gone
    found = list(frames)
    assert found[-1] == (1499, record(1499))
    assert [offset for offset, _ in found] == [
        *range(segments[1].first + 1, segments[1].stop),
        *range(segments[3].first, 1500),
    ]
    assert list(reader.kept_frames(0, segments[3].first)) == []
    appender.close()
    reader.close()
