"""The data source without Spark: what it plans, admits and reads."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.pipeline.conftest import Recorder

from tocsin.pipeline.errors import LostRecords, PipelineError
from tocsin.pipeline.source import LogSource, LogStream, Span, admit, admit_fairly, read_span, spans
from tocsin.store.errors import CorruptLog
from tocsin.store.places import LOG, OUTCOMES

COUNT = st.integers(0, 10_000)


@given(start=COUNT, length=COUNT, parts=st.integers(1, 9), least=st.integers(1, 500))
def test_spans_are_the_range_cut_in_order(start: int, length: int, parts: int, least: int) -> None:
    cut = spans(LOG, start, start + length, parts, least)
    assert [offset for each in cut for offset in range(each.start, each.stop)] == [*range(start, start + length)]
    assert len(cut) <= parts
    assert len(cut) <= 1 or all(each.stop - each.start >= least for each in cut)


@given(waiting=COUNT, told=COUNT, rows=st.integers(2, 5_000))
def test_a_batch_is_bounded_and_neither_log_starves(waiting: int, told: int, rows: int) -> None:
    end = admit({LOG: 5, OUTCOMES: 7}, {LOG: 5 + waiting, OUTCOMES: 7 + told}, rows)
    log, outcomes = end[LOG] - 5, end[OUTCOMES] - 7
    assert log + outcomes == min(rows, waiting + told)
    assert log >= min(waiting, rows // 2)
    assert outcomes >= min(told, rows // 2)


def stream(data: Path, **options: str) -> LogStream:
    return LogSource({"data": str(data), **options}).streamReader(None)


def test_it_begins_with_what_is_kept_and_reads_to_the_durable_mark(recorder: Recorder) -> None:
    for _ in range(7):
        recorder.raw("a")
    recorder.save()
    reader = stream(recorder.data, rows="5")
    begin = reader.initialOffset()
    assert begin == {LOG: 0, OUTCOMES: 0}
    assert reader.latestOffset(begin, reader.getDefaultReadLimit()) == {LOG: 5, OUTCOMES: 0}
    assert reader.latestOffset(begin, ReadAllAvailable()) == {LOG: 7, OUTCOMES: 0}


def test_before_a_node_has_written_it_is_empty(recorder: Recorder) -> None:
    reader = stream(recorder.data)
    assert reader.latestOffset(reader.initialOffset(), ReadMaxRows(5)) == {LOG: 0, OUTCOMES: 0}
    assert reader.partitions({LOG: 0, OUTCOMES: 0}, {LOG: 0, OUTCOMES: 0}) == []


def test_a_log_that_is_shorter_than_before_is_an_error(recorder: Recorder) -> None:
    recorder.raw("a")
    recorder.save()
    with pytest.raises(LostRecords, match="ends at record 1, but 9 were read before"):
        stream(recorder.data).latestOffset({LOG: 9, OUTCOMES: 0}, ReadMaxRows(5))


def test_a_planned_record_that_is_missing_is_an_error(recorder: Recorder) -> None:
    recorder.raw("a")
    recorder.save()
    with pytest.raises(LostRecords, match="up to 3 and ends at 1"):
        list(read_span(recorder.data, Span(LOG, 0, 3)))


def test_batches_are_bounded_in_bytes(recorder: Recorder) -> None:
    for _ in range(9):
        recorder.raw("a", b"<a>" + b"x" * 1_000_000 + b"</a>")
    recorder.save()
    assert [batch.num_rows for batch in read_span(recorder.data, Span(LOG, 0, 9))] == [5, 4]


def test_a_batch_of_large_records_has_fewer(recorder: Recorder) -> None:
    for _ in range(20):
        recorder.raw("a", b"<a>" + b"x" * 1_000_000 + b"</a>")
    recorder.save()
    reader = stream(recorder.data, rows="1000", bytes="5000000")
    assert 4 <= reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())[LOG] <= 5


def test_damage_is_named(recorder: Recorder) -> None:
    recorder.raw("a")
    recorder.save()
    segment = next((recorder.data / "log").glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[-5] ^= 1
    segment.write_bytes(content)
    with pytest.raises(CorruptLog, match="damaged"):
        list(read_span(recorder.data, Span(LOG, 0, 1)))


@given(waiting=st.lists(COUNT, min_size=1, max_size=7), rows=st.integers(7, 5_000))
def test_of_many_logs_none_starves(waiting: list[int], rows: int) -> None:
    start = {f"log/{number}": number for number in range(len(waiting))}
    end = {name: first + count for (name, first), count in zip(start.items(), waiting, strict=True)}
    found = [stop - start[name] for name, stop in admit_fairly(start, end, rows).items()]
    assert sum(found) == min(rows, sum(waiting))
    assert all(each >= min(count, rows // len(waiting)) for each, count in zip(found, waiting, strict=True))


def test_several_nodes_each_by_its_own_offsets(tmp_path: Path) -> None:
    """One that comes later is read from its beginning; of one that is named no more it stays what was read."""
    a, b, c = (recorded(tmp_path / name, count) for name, count in (("a", 3), ("b", 2), ("c", 4)))
    (tmp_path / "nodes").write_text(json.dumps({"read": {"b": str(b)}}))
    reader = stream(a, others_file=str(tmp_path / "nodes"))
    begin = reader.initialOffset()
    assert begin == {LOG: 0, OUTCOMES: 0, "log/b": 0, "outcomes/b": 0}
    first = reader.latestOffset(begin, ReadMaxRows(50))
    assert first == begin | {LOG: 3, "log/b": 2}
    (tmp_path / "nodes").write_text(json.dumps({"read": {"b": str(b), "c": str(c)}}))
    second = reader.latestOffset(first, ReadMaxRows(50))
    assert second == first | {"log/c": 4, "outcomes/c": 0}
    (span,) = reader.partitions(first, second)
    assert (span.log, span.start, span.stop, span.data) == ("log/c", 0, 4, str(c))
    (batch,) = reader.read(span)
    assert set(batch.column("log").to_pylist()) == {"log/c"} and batch.num_rows == 4
    without = stream(a, others=json.dumps({"c": str(c)}))
    assert without.latestOffset(second, ReadMaxRows(50)) == second
    assert without.partitions(second, second) == []
    with pytest.raises(PipelineError, match="records of the log of b up to 2, and its data directory is not named"):
        without.partitions(begin, second)
    with pytest.raises(LostRecords, match=f"the log in {c} ends at record 4, but 9 were read before"):
        without.latestOffset(second | {"log/c": 9}, ReadMaxRows(50))


def recorded(data: Path, count: int) -> Path:
    recorder = Recorder(data)
    for _ in range(count):
        recorder.raw("a")
    recorder.save()
    return data
