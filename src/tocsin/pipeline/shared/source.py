"""The data source "tocsin-shared-log": what nodes put into a log that they share, read by partition and offset."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from confluent_kafka import Message
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from tocsin.pipeline.source import COLUMNS, SCHEMA, Offsets, Span, admit_fairly
from tocsin.store.places import LOG, OUTCOMES
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import answering, bounds, partitions_of, reader
from tocsin.store.shared.reading import MEETS, header, read_range, truncated

NAME = "tocsin-shared-log"
_CHUNK_ROWS, _CHUNK_BYTES = 1_000, 4 << 20


def topics(shared: SharedLog) -> dict[str, str]:
    """By the names that the logs of one node have."""
    return {LOG: shared.notifications, OUTCOMES: shared.outcomes}


def place(log: str, partition: int) -> str:
    return f"{log}/{partition}"


def placed(name: str) -> tuple[str, int]:
    log, _, partition = name.rpartition("/")
    return log, int(partition)


def span_of(name: str, start: int, stop: int) -> Span:
    log, partition = placed(name)
    return Span(log, start, stop, partition)


def extent(shared: SharedLog) -> dict[str, tuple[int, int]]:
    """Of each partition the first record that is kept, and the one after the last."""
    consumer = reader(shared)
    with answering(shared):
        return {
            place(log, each): bounds(consumer, topic, each)
            for log, topic in topics(shared).items()
            for each in partitions_of(consumer, topic)
        }


def read_span(shared: SharedLog, span: Span) -> Iterator[pa.RecordBatch]:
    rows: list[tuple[str, int, int, int, bytes]] = []
    size = 0
    for message in read_range(shared, topics(shared)[span.log], span.partition, span.start, span.stop):
        rows.append(_row(span, message))
        size += len(rows[-1][-1])
        if len(rows) == _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield _batch(rows)
            rows, size = [], 0
    if rows:
        yield _batch(rows)


def _row(span: Span, message: Message) -> tuple[str, int, int, int, bytes]:
    meets = int(header(message, MEETS) or 0)
    return span.log, span.partition, int(message.offset() or 0), meets, bytes(message.value() or b"")


def _batch(rows: Sequence[tuple[str, int, int, int, bytes]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class SharedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    def __init__(self, options: Mapping[str, str]) -> None:
        self._shared, self._rows = SharedLog.parse(options["shared"]), int(options.get("rows", 5_000))
        self._limit: Offsets | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802
        return {name: low for name, (low, _) in extent(self._shared).items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._rows)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Partitions may be added to a topic; those begin at 0."""
        found = extent(self._shared)
        start = dict.fromkeys(found, 0) | start
        for name, (low, high) in found.items():
            log, partition = placed(name)
            if start[name] > high or low > start[name]:
                raise truncated(self._shared, topics(self._shared)[log], partition, start[name], low)
        end = self._limit or {name: high for name, (_, high) in found.items()}
        return admit_fairly(start, end, int(limit.max_rows) if isinstance(limit, ReadMaxRows) else sum(end.values()))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._limit = {name: high for name, (_, high) in extent(self._shared).items()}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[Span]:
        """One a partition: its records are sent in their order."""
        spans = (span_of(name, start.get(name, 0), stop) for name, stop in end.items())
        return [each for each in spans if each.start < each.stop]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        return read_span(self._shared, partition)


class SharedRange(DataSourceReader):  # type: ignore[misc]
    """What nodes accepted, as a batch: the partitions from `start` up to `stop`, each by its name."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._shared = SharedLog.parse(options["shared"])
        self._spans = [span_of(name, int(start), int(stop)) for name, start, stop in _ranges(options["ranges"])]

    def partitions(self) -> Sequence[Span]:
        return self._spans or [Span(LOG, 0, 0)]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        return read_span(self._shared, partition)


def _ranges(text: str) -> Iterator[tuple[str, str, str]]:
    for each in text.split():
        name, start, stop = each.split(":")
        yield name, start, stop


class SharedSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: object) -> SharedRange:  # noqa: ARG002
        return SharedRange(dict(self.options))

    def streamReader(self, schema: object) -> SharedStream:  # noqa: ARG002, N802
        return SharedStream(dict(self.options))
