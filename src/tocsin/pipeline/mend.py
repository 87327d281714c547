"""Tries again what is in the quarantine, with the code of today; what is mended goes on from there, once.

A record that could not be read is normalised, matched and written anew; a notification that could not be decided or
written for one subscriber is tried again for that one. Rows of tables, deliveries and the marks of what is mended are
published in one transaction, as a batch of their own.
"""

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.pipeline.batch import BatchResult, publish
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.hop import Failure, MatchedNotification, RecordResult, decode_outcomes, hop
from tocsin.pipeline.nodes import name_in
from tocsin.pipeline.progress import Progress, job_session
from tocsin.pipeline.run import delivers, owned
from tocsin.pipeline.session import HERE, SparkSettings
from tocsin.pipeline.state.published import Published
from tocsin.pipeline.state.publisher import StatePublisher
from tocsin.pipeline.state.standing import Standing, standing
from tocsin.pipeline.tables import parts, reading
from tocsin.pipeline.tables.commits import Committer
from tocsin.pipeline.tables.location import located
from tocsin.pipeline.tables.parts import Part, PartWriter
from tocsin.pipeline.tables.schemas import (
    DELIVERIES,
    HISTORY,
    KEPT,
    MATCHES,
    MENDED,
    NOTIFICATIONS,
    QUARANTINE,
    SCHEMAS,
    conformed,
)
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import Sink
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places

KEY = ("log", "log_offset", "item", "subscription", "node")
REASON_LENGTH = 160
SHARED = "it is of a log that nodes share, which is not tried again yet"
UNDECIDED = "Undecided"  # its pair is in no row of `matches`
_COUNTS = pa.map_(pa.string(), pa.int64())
_RESULT = pa.schema(
    [
        ("counted", _COUNTS),
        ("mended", _COUNTS),
        ("failing", _COUNTS),
        ("keys", pa.binary()),
        ("parts", pa.list_(pa.binary())),
    ]
)


@dataclass(frozen=True)
class MendSettings:
    """What was found between `start` and `stop`, by offsets. A record meets the subscriptions and declarations of its
    time, or with `as_of` those of that record. `home` is the data directory whose tables those are, where it is another
    node's."""

    data: Path
    start: int | None = None
    stop: int | None = None
    deliver: bool = False
    as_of: int | None = None
    spark: SparkSettings = HERE
    storage: Storage | None = None
    home: Path | None = None

    @property
    def tables(self) -> Storage:
        return self.storage or located(self.home or self.data)


@dataclass(frozen=True)
class Mended:
    """`mended` by why it was in the quarantine, `failing` by why it fails now. `published` is None for a dry run."""

    quarantined: int
    mended: dict[str, int] = field(default_factory=dict)
    failing: dict[str, int] = field(default_factory=dict)
    notifications: int = 0
    matches: int = 0
    history: int = 0
    deliveries: int = 0
    published: bool | None = None


def mend(settings: MendSettings, progress: Progress | None = None) -> Mended:
    log = Places(settings.data).spark_log
    try:
        delivers(settings.data, settings.deliver)  # what is wrong need not wait for Spark
        if not reading.count(settings.tables, QUARANTINE):
            return Mended(0)
        with job_session(log, settings.spark, progress) as spark:
            return mend_on(spark, settings)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem


def mend_on(spark: SparkSession, settings: MendSettings) -> Mended:
    home = (settings.home or settings.data).absolute()
    delivers(settings.data, settings.deliver)
    storage = settings.tables
    with ExitStack() as stack:
        stack.enter_context(owned(home, "replay"))
        outbox = stack.enter_context(closing(Outbox.open(Places(home).outbox)))
        waiting = _waiting(spark, storage, outbox, settings).persist()
        stack.callback(waiting.unpersist)
        (found,) = waiting.agg(F.count("*").alias("rows"), F.min("log_offset").alias("first")).collect()
        if not found["rows"]:
            return Mended(0)
        return _mended(spark, waiting, storage, outbox, settings, found["rows"], found["first"])


def _mended(
    spark: SparkSession,
    waiting: DataFrame,
    storage: Storage,
    outbox: Outbox,
    settings: MendSettings,
    rows: int,
    first: int,
) -> Mended:
    data = settings.data.absolute()
    with StatePublisher(data, storage, f"mend-{uuid.uuid4()}") as publisher:
        state = publisher.publish(first) if settings.as_of is None else publisher.publish_frozen(settings.as_of)
        written = frozenset((*KEPT, DELIVERIES, MENDED)) if settings.deliver else frozenset[str]()
        found = _work(spark, waiting, MendTask(Places(data).log(), storage, state, written))
    published = _publish(data, storage, outbox, found) if settings.deliver and found.mended else None
    counted = found.counted
    return Mended(
        quarantined=rows,
        mended=dict(found.mended),
        failing=dict(found.failing),
        notifications=counted[NOTIFICATIONS],
        matches=counted[MATCHES],
        history=counted[HISTORY],
        deliveries=counted[DELIVERIES],
        published=published,
    )


def _waiting(spark: SparkSession, storage: Storage, outbox: Outbox, settings: MendSettings) -> DataFrame:
    """A row for each row of the quarantine that nobody has mended. What is staged is looked at before the table into
    which it goes: between the two it could not be seen."""
    names, schema = list(KEY), from_arrow_schema(SCHEMAS[MENDED])
    staged = list(_staged(storage, outbox))
    mended = reading.read(spark, storage, MENDED).select(names)
    mended = mended.unionByName(spark.createDataFrame(staged, schema).select(names)).distinct()
    rows = reading.read(spark, storage, QUARANTINE)
    rows = rows if settings.start is None else rows.where(f"log_offset >= {settings.start}")
    rows = rows if settings.stop is None else rows.where(f"log_offset < {settings.stop}")
    rows = _of_node(rows, settings)
    same = [rows[name].eqNullSafe(mended[name]) for name in KEY]
    return rows.join(mended, same, "left_anti")


def _of_node(rows: DataFrame, settings: MendSettings) -> DataFrame:
    """What is of its log. Rows that name no node are of the only one that there was, whose tables those are."""
    if (name := name_in(settings.data)) is None:
        return rows
    own = F.col("node") == name
    return rows.where(own if settings.home is not None else own | F.col("node").isNull())


def _staged(storage: Storage, outbox: Outbox) -> Iterator[tuple[Any, ...]]:
    for _, data in outbox.staged():
        part = parts.decode(data)
        if part.table == MENDED:
            yield from (tuple(row.values()) for row in _rows(storage, part).to_pylist())


def _rows(storage: Storage, part: Part) -> pa.Table:
    if not part.path:
        batches = list(parts.rows_of(storage, part))
    else:
        with storage.files(MENDED).open_input_file(part.path) as file:
            batches = pq.read_table(file).to_batches()
    return pa.Table.from_batches([conformed(each, SCHEMAS[MENDED]) for each in batches], SCHEMAS[MENDED])


@dataclass(frozen=True)
class _Found:
    counted: Counter[str]
    mended: Counter[str]
    failing: Counter[str]
    keys: bytes
    parts: list[Part]


def _work(spark: SparkSession, waiting: DataFrame, task: "MendTask") -> _Found:
    """A record once, with all that was found of it."""
    tried = F.collect_list(F.struct("item", "subscription", "reason", "node")).alias("tried")
    frame = waiting.groupBy("log", "log_offset").agg(F.first("record", ignorenulls=True).alias("record"), tried)
    frame = frame.repartitionByRange(spark.sparkContext.defaultParallelism, "log", "log_offset")
    frame = frame.sortWithinPartitions("log", "log_offset").mapInArrow(task.run, from_arrow_schema(_RESULT))
    found = _Found(Counter(), Counter(), Counter(), b"", [])
    keys = []
    for row in frame.toArrow().to_pylist():
        for name in ("counted", "mended", "failing"):
            getattr(found, name).update(dict(row[name]))
        found.parts.extend(map(parts.decode, row["parts"]))
        keys.append(row["keys"])
    return _Found(found.counted, found.mended, found.failing, b"".join(sorted(keys)), found.parts)


def _publish(data: Path, storage: Storage, outbox: Outbox, found: _Found) -> bool:
    """As a batch that is none of the stream's. Its rows are committed by the streaming job, or here if none is at
    work."""
    batch = -1 - (int.from_bytes(blake2b(found.keys, digest_size=8).digest()) >> 1)
    made = BatchResult({}, Counter(), Counter(), found.parts)
    fresh = publish(outbox, storage, batch, made, {LOG: 0, OUTCOMES: 0})
    with suppress(PipelineError), owned(data, "pipeline"), Committer(storage, outbox, lambda _: None):
        pass
    return fresh


@dataclass(frozen=True)
class MendTask:
    """A function for `mapInArrow` over records of the quarantine, in order."""

    log: Path
    storage: Storage
    state: Published
    tables: frozenset[str]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = PartWriter(self.storage)
        sink = Sink(writer, self.tables, time.time_ns() // 1_000, self.state.digest, node=self.state.node or None)
        with closing(LogReader(self.log)) as reader:
            mender = _Mender(sink, standing(self.storage, self.state), reader)
            for batch in batches:
                for row in batch.to_pylist():
                    mender.mend(row["log"], row["log_offset"], row["record"], row["tried"])
        counts = {name: list(count.items()) for name, count in mender.counts().items()}
        written = [parts.encode(each) for each in sink.finished()]
        yield pa.RecordBatch.from_pylist([counts | {"keys": mender.keys.digest(), "parts": written}], schema=_RESULT)


class _Mender:
    def __init__(self, sink: Sink, met: Standing, reader: LogReader) -> None:
        self._sink, self._met, self._reader = sink, met, reader
        self._mended: Counter[str] = Counter()
        self._failing: Counter[str] = Counter()
        self.keys = blake2b(digest_size=16)

    def counts(self) -> dict[str, Counter[str]]:
        return {"counted": self._sink.counted, "mended": self._mended, "failing": self._failing}

    def mend(self, log: str, offset: int, record: bytes | None, tried: Iterable[dict[str, Any]]) -> None:
        if log == OUTCOMES:
            for each in tried:
                self._outcomes(offset, record or b"", each)
            return
        seen = self._see(log, offset, record)
        for each in tried:
            if seen.failed:
                self._fails(seen.failed[0].reason)
            elif each["subscription"] is None:
                self._sink.add_seen(seen)
                self._is_mended(log, offset, each)
            else:
                self._pair(offset, seen, each)

    def _outcomes(self, offset: int, record: bytes, tried: dict[str, Any]) -> None:
        found = decode_outcomes(record)
        if isinstance(found, Failure):
            self._fails(found.reason)
        else:
            self._sink.add_outcomes(offset, found)
            self._is_mended(OUTCOMES, offset, tried)

    def _pair(self, offset: int, seen: RecordResult, tried: dict[str, Any]) -> None:
        """What is wanted of the record by this one; nothing, if its filter says so now."""
        name, items = tried["subscription"], tried["item"]
        told = [each for each in seen.told if items is None or each.notification.index == items]
        failed = [each for one in told for each in one.failed if each.subscription == name]
        if failed:
            self._fails(failed[0].reason)
            return
        for each in told:
            self._sink.add_matched(_of(each, name, new=tried["reason"].startswith(UNDECIDED)))
        self._is_mended(LOG, offset, tried)

    def _see(self, log: str, offset: int, record: bytes | None) -> RecordResult:
        if log != LOG:
            return RecordResult(offset, failed=(Failure(SHARED),))
        payload = record if record is not None else self._read(offset)
        if payload is None:
            return RecordResult(offset, failed=(Failure(f"the log has no record {offset} any more"),))
        return next(hop(iter([(offset, payload)]), self._met, customise=True))

    def _read(self, offset: int) -> bytes | None:
        return next((payload for at, payload in self._reader.kept_frames(offset, offset + 1) if at == offset), None)

    def _fails(self, reason: str) -> None:
        self._failing[reason[:REASON_LENGTH]] += 1

    def _is_mended(self, log: str, offset: int, tried: dict[str, Any]) -> None:
        self._mended[tried["reason"][:REASON_LENGTH]] += 1
        key = (log, offset, tried["item"], tried["subscription"])
        self.keys.update(repr(key).encode())
        self._sink.add(MENDED, (*key, self._sink.now, tried["node"]), offset, self._sink.now)


def _of(told: MatchedNotification, subscription: str, *, new: bool) -> MatchedNotification:
    """For one subscription alone; a pair that was decided before has its row."""
    matched = tuple(each for each in told.matched if new and each.id == subscription)
    deliveries = tuple(each for each in told.deliveries if each.match.subscription == subscription)
    return MatchedNotification(told.notification, matched, deliveries)
