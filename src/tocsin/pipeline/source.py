"""The data source "tocsin-log": the node's log and the senders' outcomes, read by offset."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from tocsin.pipeline.errors import LostRecords
from tocsin.store.log.reader import LogReader
from tocsin.store.log.segment import segment_firsts, segment_path
from tocsin.store.places import LOG, OUTCOMES, Places

NAME = "tocsin-log"
# `meets` is how many changes a record meets: in a log of one node those before it, in a shared one those it says.
COLUMNS = "log string, partition int, offset bigint, meets bigint, payload binary"
SCHEMA = pa.schema(
    [
        ("log", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("meets", pa.int64()),
        ("payload", pa.binary()),
    ]
)

_CHUNK_ROWS = 1_000
_CHUNK_BYTES = 4 << 20
Offsets = dict[str, int]


class Span(InputPartition):  # type: ignore[misc]
    """A range of one partition of a log, for one task."""

    def __init__(self, log: str, start: int, stop: int, partition: int = 0) -> None:
        super().__init__((log, start, stop, partition))
        self.log, self.start, self.stop, self.partition = log, start, stop, partition


def spans(log: str, start: int, stop: int, parts: int, least: int) -> list[Span]:
    """At most `parts` ranges in order, none smaller than `least` records unless it is the only one."""
    count = max(1, min(parts, (stop - start) // least))
    cuts = [start + (stop - start) * part // count for part in range(count + 1)]
    return [Span(log, *cut) for cut in pairwise(cuts) if cut[0] < cut[1]]


def admit(start: Offsets, end: Offsets, rows: int) -> Offsets:
    """How far the next batch goes. Of a full batch each log may have half, so that neither starves the other."""
    waiting = end[OUTCOMES] - start[OUTCOMES]
    log = min(end[LOG] - start[LOG], rows - min(waiting, rows // 2))
    return {LOG: start[LOG] + log, OUTCOMES: start[OUTCOMES] + min(waiting, rows - log)}


def rows_of(directory: Path, start: int, end: int, size: int) -> int:
    """About how many records from `start` on have that many bytes together, going by their segments."""
    firsts = segment_firsts(directory)
    here = max((first for first in firsts if first <= start), default=0)
    held = sum(segment_path(directory, first).stat().st_size for first in firsts if first >= here)
    return max(1, size * (end - here) // max(1, held))


def read_span(data: Path, span: Span) -> Iterator[pa.RecordBatch]:
    """A span's records in batches of bounded size; says so when one is missing."""
    rows: list[tuple[int, bytes]] = []
    size, reached = 0, span.start
    for offset, payload in LogReader(Places(data).log(span.log)).frames(span.start, span.stop):
        rows.append((offset, payload))
        size, reached = size + len(payload), offset + 1
        if len(rows) == _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield _batch(span.log, rows)
            rows, size = [], 0
    if reached != span.stop:
        raise LostRecords(f"the {span.log} in {data} should have records up to {span.stop} and ends at {reached}")
    if rows:
        yield _batch(span.log, rows)


def _batch(log: str, rows: Sequence[tuple[int, bytes]]) -> pa.RecordBatch:
    offsets, payloads = zip(*rows, strict=True)
    where = [pa.repeat(log, len(rows)), pa.repeat(pa.scalar(0, pa.int32()), len(rows)), pa.array(offsets)]
    return pa.RecordBatch.from_arrays([*where, where[-1], pa.array(payloads)], schema=SCHEMA)


class _Options:
    """The data source's options, typed. They travel to the workers."""

    def __init__(self, options: dict[str, str]) -> None:
        self.data = Path(options["data"])
        self.rows = int(options.get("rows", 5_000))
        self.bytes = int(options.get("bytes", 64 << 20))
        self._parts = int(options.get("parts", 1))
        self._parts_file = options.get("parts_file")
        self.least = int(options.get("least", 200))
        self.start = int(options.get("start", 0))
        self.stop = int(options.get("stop", 0))

    @property
    def parts(self) -> int:
        """As many as there are cores now: executors of a cluster come and go, and the file is kept up with them."""
        try:
            return int(Path(self._parts_file).read_text("utf-8")) if self._parts_file else self._parts
        except (OSError, ValueError):
            return self._parts


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    def __init__(self, options: _Options) -> None:
        self._options = options
        self._limit: Offsets | None = None

    @cached_property
    def _logs(self) -> dict[str, LogReader]:
        places = Places(self._options.data)
        return {name: LogReader(places.log(name)) for name in (LOG, OUTCOMES)}

    def initialOffset(self) -> Offsets:  # noqa: N802
        return {name: log.start() for name, log in self._logs.items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.rows)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        end = self._limit or self._end()
        for name, stop in end.items():
            if stop < start[name]:
                raise LostRecords(
                    f"the {name} in {self._options.data} ends at record {stop}, but {start[name]} were read before:"
                    " it was lost or replaced"
                )
        return admit(start, end, self._rows(start, end, limit))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._limit = self._end()

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[Span]:
        parts, least = self._options.parts, self._options.least
        return [span for name in (LOG, OUTCOMES) for span in spans(name, start[name], end[name], parts, least)]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        return read_span(self._options.data, partition)

    def _rows(self, start: Offsets, end: Offsets, limit: ReadLimit) -> int:
        """The limit, or fewer when the records are large: a batch is one transaction of the outbox."""
        if not isinstance(limit, ReadMaxRows):
            return sum(end.values())
        if end[LOG] == start[LOG]:
            return int(limit.max_rows)
        directory = Places(self._options.data).log(LOG)
        return min(int(limit.max_rows), rows_of(directory, start[LOG], end[LOG], self._options.bytes))

    def _end(self) -> Offsets:
        return {name: log.end() for name, log in self._logs.items()}


class LogRange(DataSourceReader):  # type: ignore[misc]
    """A range of the node's log, as a batch."""

    def __init__(self, options: _Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[Span]:
        options = self._options
        found = spans(LOG, options.start, options.stop, options.parts, options.least)
        return found or [Span(LOG, options.start, options.start)]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        return read_span(self._options.data, partition)


class LogSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: object) -> LogRange:  # noqa: ARG002
        return LogRange(_Options(dict(self.options)))

    def streamReader(self, schema: object) -> LogStream:  # noqa: ARG002, N802
        return LogStream(_Options(dict(self.options)))
