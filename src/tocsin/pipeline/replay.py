"""Replays a range of the log as a Spark batch: counts what would be delivered and, on request, delivers it."""

from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from tocsin.pipeline import tables
from tocsin.pipeline.batch import BatchResult, publish, work
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.run import delivers, owned
from tocsin.pipeline.session import LOCAL, session
from tocsin.pipeline.source import NAME
from tocsin.pipeline.tables import DELIVERIES, ERRORS, MATCHES, NOTIFICATIONS
from tocsin.pipeline.task import Task
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places


@dataclass(frozen=True)
class ReplaySettings:
    """Records from `start` up to `stop`, by default all that are kept.

    A record meets the subscriptions of its time; with `current` those of today, as if they had always been there.
    A replay that was delivered is not delivered a second time, unless `again` is another number.
    """

    data: Path
    start: int | None = None
    stop: int | None = None
    deliver: bool = False
    current: bool = False
    again: int = 0
    master: str = LOCAL


@dataclass(frozen=True)
class Replayed:
    """`published` is None for a dry run, False when the same replay was delivered before."""

    start: int
    stop: int
    records: int
    notifications: int
    matches: int
    deliveries: int
    errors: int
    by_subscription: dict[str, int]
    batch: int | None = None
    published: bool | None = None


@dataclass(frozen=True)
class _Range:
    start: int
    stop: int
    frozen_at: int | None


def replay(settings: ReplaySettings) -> Replayed:
    log = Places(settings.data).spark_log
    try:
        _range(settings)  # what is wrong with it need not wait for Spark
        with TemporaryDirectory() as scratch, session(log, Path(scratch) / "spark", settings.master) as spark:
            return replay_on(spark, settings)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem


def replay_on(spark: SparkSession, settings: ReplaySettings) -> Replayed:
    data, asked = settings.data.absolute(), _range(settings)
    if not settings.deliver:
        return _replayed(asked, _work(spark, data, asked, Task(data, 0, frozenset())))
    batch = _batch_id(asked, settings.again)
    with owned(data, "replay"), closing(Outbox.open(Places(data).outbox)) as outbox:
        tables.clear(data, batch, DELIVERIES)
        found = _work(spark, data, asked, Task(data, batch, frozenset({DELIVERIES})))
        # No progress through the log, or retention would go by it.
        published = publish(outbox, data, batch, found, {LOG: 0, OUTCOMES: 0})
    return _replayed(asked, found, batch, published)


def _range(settings: ReplaySettings) -> _Range:
    delivers(settings.data, settings.deliver)
    reader = LogReader(Places(settings.data).log(LOG))
    with closing(reader):
        first, end = reader.start(), reader.end()
    start = first if settings.start is None else settings.start
    stop = end if settings.stop is None else settings.stop
    if not first <= start <= stop <= end:
        raise PipelineError(f"the log has records {first} up to {end}, not {start} up to {stop}")
    return _Range(start, stop, end if settings.current else None)


def _batch_id(asked: _Range, again: int) -> int:
    """Negative, so that it is none of the stream's, and the same for the same replay."""
    digest = blake2b(f"{asked} {again}".encode(), digest_size=8).digest()
    return -1 - (int.from_bytes(digest) >> 1)


def _work(spark: SparkSession, data: Path, asked: _Range, task: Task) -> BatchResult:
    parts = spark.sparkContext.defaultParallelism
    options = {"data": str(data), "start": str(asked.start), "stop": str(asked.stop), "parts": str(parts)}
    frame = spark.read.format(NAME).options(**options).load()
    return work(frame, replace(task, customise=True, frozen_at=asked.frozen_at, by_subscription=True))


def _replayed(asked: _Range, found: BatchResult, batch: int | None = None, published: bool | None = None) -> Replayed:
    counted = found.counted
    return Replayed(
        start=asked.start,
        stop=asked.stop,
        records=counted["records"],
        notifications=counted[NOTIFICATIONS],
        matches=counted[MATCHES],
        deliveries=counted[DELIVERIES],
        errors=counted[ERRORS],
        by_subscription=dict(sorted(found.by_subscription.items())),
        batch=batch,
        published=published,
    )
