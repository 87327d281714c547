"""The data source "tocsin-log": logs of nodes and their senders' outcomes, read by offset."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from tocsin.pipeline.errors import LostRecords, PipelineError
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
Offsets = dict[str, int]  # of each log, by its name


def log_name(log: str, node: str) -> str:
    """By which offsets know a log of a node. Those of the first data directory are called as when it was the only one:
    what was begun with it alone goes on with others."""
    return f"{log}/{node}" if node else log


def log_named(name: str) -> tuple[str, str]:
    """Which log of which node."""
    log, _, node = name.partition("/")
    return log, node


class Span(InputPartition):  # type: ignore[misc]
    """A range of one partition of a log, for one task; `data` is the directory of a node that is not the first."""

    def __init__(self, log: str, start: int, stop: int, partition: int = 0, data: str = "") -> None:
        super().__init__((log, start, stop, partition, data))
        self.log, self.start, self.stop, self.partition, self.data = log, start, stop, partition, data


def spans(log: str, start: int, stop: int, parts: int, least: int, data: str = "") -> list[Span]:
    """At most `parts` ranges in order, none smaller than `least` records unless it is the only one."""
    count = max(1, min(parts, (stop - start) // least))
    cuts = [start + (stop - start) * part // count for part in range(count + 1)]
    return [Span(log, *cut, data=data) for cut in pairwise(cuts) if cut[0] < cut[1]]


def admit(start: Offsets, end: Offsets, rows: int) -> Offsets:
    """How far the next batch goes. Of a full batch each log may have half, so that neither starves the other."""
    waiting = end[OUTCOMES] - start[OUTCOMES]
    log = min(end[LOG] - start[LOG], rows - min(waiting, rows // 2))
    return {LOG: start[LOG] + log, OUTCOMES: start[OUTCOMES] + min(waiting, rows - log)}


def admit_fairly(start: Offsets, end: Offsets, rows: int) -> Offsets:
    """The same of many logs: each has its share, and what one leaves of it goes to the next."""
    found, left = dict(start), rows
    waiting = sorted((end[name] - start[name], name) for name in end)
    for number, (count, name) in enumerate(waiting):
        found[name] = start[name] + min(count, max(1, left // (len(waiting) - number)))
        left -= found[name] - start[name]
    return found


def rows_of(directory: Path, start: int, end: int, size: int) -> int:
    """About how many records from `start` on have that many bytes together, going by their segments."""
    firsts = segment_firsts(directory)
    here = max((first for first in firsts if first <= start), default=0)
    held = sum(segment_path(directory, first).stat().st_size for first in firsts if first >= here)
    return max(1, size * (end - here) // max(1, held))


def read_span(data: Path, span: Span) -> Iterator[pa.RecordBatch]:
    """A span's records in batches of bounded size; says so when one is missing."""
    rows: list[tuple[int, bytes]] = []
    size, reached, (log, _) = 0, span.start, log_named(span.log)
    data = Path(span.data) if span.data else data
    for offset, payload in LogReader(Places(data).log(log)).frames(span.start, span.stop):
        rows.append((offset, payload))
        size, reached = size + len(payload), offset + 1
        if len(rows) == _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield _batch(span.log, rows)
            rows, size = [], 0
    if reached != span.stop:
        raise LostRecords(f"the {log} in {data} should have records up to {span.stop} and ends at {reached}")
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
        self.node = options.get("node", "")
        self._others, self._others_file = options.get("others", "{}"), options.get("others_file")

    @property
    def directories(self) -> dict[str, Path]:
        """Of the nodes that are read, by name; the first needs none. Others may come while the job is at work: the file
        is kept up with them."""
        try:
            others = json.loads(self._others)
            if self._others_file:
                others = json.loads(Path(self._others_file).read_text("utf-8"))["read"]
            return {"": self.data} | {name: Path(data) for name, data in others.items()}
        except (OSError, ValueError, LookupError):
            return {"": self.data}

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
        self._opened: dict[str, LogReader] = {}

    def _logs(self) -> Mapping[str, LogReader]:
        """Of the nodes that there are by now."""
        for node, data in self._options.directories.items():
            for log in (LOG, OUTCOMES):
                if (name := log_name(log, node)) not in self._opened:
                    self._opened[name] = LogReader(Places(data).log(log))
        return self._opened

    def initialOffset(self) -> Offsets:  # noqa: N802
        return {name: log.start() for name, log in self._logs().items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.rows)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Of a node that is named no more it stays what was read."""
        end = self._limit or self._end()
        start = start | {name: self._opened[name].start() for name in end if name not in start}
        for name, stop in end.items():
            if stop < start[name]:
                log, node = log_named(name)
                raise LostRecords(
                    f"the {log} in {self._options.directories[node]} ends at record {stop}, but {start[name]} were read"
                    " before: it was lost or replaced"
                )
        share = admit if len(end) == len((LOG, OUTCOMES)) else admit_fairly
        return start | share({name: start[name] for name in end}, end, self._rows(start, end, limit))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._limit = self._end()

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[Span]:
        parts, least, logs = self._options.parts, self._options.least, self._logs()
        found = []
        for name, stop in end.items():
            if name in logs:
                begin = start[name] if name in start else logs[name].start()
                found += spans(name, begin, stop, parts, least, self._elsewhere(name))
            elif stop != start.get(name, 0):
                raise PipelineError(_unread(name, stop))
        return found

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        return read_span(self._options.data, partition)

    def _elsewhere(self, name: str) -> str:
        """It travels with the span: who reads it knows the first directory alone."""
        _, node = log_named(name)
        return str(self._options.directories[node]) if node else ""

    def _rows(self, start: Offsets, end: Offsets, limit: ReadLimit) -> int:
        """The limit, or fewer when the records are large: a batch is one transaction of the outbox."""
        if not isinstance(limit, ReadMaxRows):
            return sum(end.values())
        directories, size = self._options.directories, self._options.bytes
        counts = [
            rows_of(Places(directories[node]).log(LOG), start[name], end[name], size)
            for name, (log, node) in ((name, log_named(name)) for name in end)
            if log == LOG and end[name] != start[name]
        ]
        return min(int(limit.max_rows), *counts) if counts else int(limit.max_rows)

    def _end(self) -> Offsets:
        return {name: log.end() for name, log in self._logs().items()}


def _unread(name: str, stop: int) -> str:
    log, node = log_named(name)
    return (
        f"the batch that is to be finished has records of the {log} of {node} up to {stop}, and its data directory is"
        " not named, or not there: name it with --data until that batch is done"
    )


class LogRange(DataSourceReader):  # type: ignore[misc]
    """A range of the node's log, as a batch."""

    def __init__(self, options: _Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[Span]:
        options = self._options
        name = log_name(LOG, options.node)
        found = spans(name, options.start, options.stop, options.parts, options.least)
        return found or [Span(name, options.start, options.start)]

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
