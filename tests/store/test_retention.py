from pathlib import Path

import pytest

from tocsin.store.log.appender import Appender
from tocsin.store.log.reader import LogReader
from tocsin.store.log.segment import Segment, expendable

SEGMENTS = [Segment(Path(f"{n}.log"), n * 10, n * 10 + 10, 100, 1000.0 + n) for n in range(5)]


def firsts(segments: list[Segment]) -> list[int]:
    return [segment.first for segment in segments]


@pytest.mark.parametrize(("max_bytes", "gone"), [(500, []), (499, [0]), (300, [0, 10]), (0, [0, 10, 20, 30])])
def test_by_size_the_oldest_go_and_never_the_active_one(max_bytes: int, gone: list[int]) -> None:
    assert firsts(expendable(SEGMENTS, max_bytes=max_bytes, max_age=None, now=0.0)) == gone


@pytest.mark.parametrize(
    ("now", "gone"), [(1010.0, []), (1010.5, [0]), (1012.5, [0, 10, 20]), (9999.0, [0, 10, 20, 30])]
)
def test_by_age_those_last_written_too_long_ago_go(now: float, gone: list[int]) -> None:
    assert firsts(expendable(SEGMENTS, max_bytes=None, max_age=10.0, now=now)) == gone


def test_either_reason_is_enough() -> None:
    assert firsts(expendable(SEGMENTS, max_bytes=450, max_age=10.0, now=1011.5)) == [0, 10]
    assert expendable(SEGMENTS, max_bytes=None, max_age=None, now=9999.0) == []


def test_a_log_without_its_oldest_segments_opens_again(tmp_path: Path) -> None:
    appender = Appender.open(tmp_path, segment_bytes=100)
    for number in range(9):
        appender.commit([b"%d" % number * 60], (), None)
    segments = appender.segments()
    assert [segment.stop for segment in segments[:-1]] == firsts(segments[1:])
    with pytest.raises(ValueError, match="oldest"):
        appender.drop(segments[1:2])
    with pytest.raises(ValueError, match="active"):
        appender.drop(segments)
    assert appender.segments() == segments
    appender.drop(segments[:3])
    appender.close()
    again = Appender.open(tmp_path, segment_bytes=100)
    assert (firsts(again.segments()), again.next_offset) == (firsts(segments[3:]), 9)
    again.commit([b"last"], (), None)
    again.close()
    reader = LogReader(tmp_path)
    assert (reader.start(), reader.end()) == (segments[3].first, 10)
    assert len(list(tmp_path.glob("*.idx"))) == len(list(tmp_path.glob("*.log")))
