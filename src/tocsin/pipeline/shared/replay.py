"""Replays a log that nodes share: all of it or what came between two times, with the changes of then or of now."""

import uuid
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from tocsin.model.identity import Instant
from tocsin.pipeline.batch import BatchResult, work
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.progress import Progress, job_session
from tocsin.pipeline.replay import Replayed, ReplaySettings, compared, counts_of
from tocsin.pipeline.run import owned, shared_past
from tocsin.pipeline.shared.source import extent, place, placed
from tocsin.pipeline.sources import register_shared
from tocsin.pipeline.state.publisher import StatePublisher, open_store
from tocsin.pipeline.tables.schemas import DELIVERIES, MATCHES
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import Task
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, Places
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import ANSWER_SECONDS, answering, reader

Ranges = dict[str, tuple[int, int]]  # from where to where, by partition
_PAIR = ("node", "log_offset", "item", "subscription")


@dataclass(frozen=True)
class SharedReplay:
    """What was accepted from one time up to another, in nanoseconds. With `as_of` records meet so many changes, with -1
    all that there are; else those of their time."""

    shared: SharedLog
    since: Instant | None = None
    until: Instant | None = None
    as_of: int | None = None


def replay_shared(settings: ReplaySettings, asked: SharedReplay, progress: Progress | None = None) -> Replayed:
    """Of `settings` the range and `as_of` do not count; its `data` is the job's own."""
    log = Places(settings.data).spark_log
    settings.data.mkdir(parents=True, exist_ok=True)
    try:
        with job_session(log, settings.spark, progress) as spark:
            return replay_shared_on(spark, settings, asked)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem


def replay_shared_on(spark: SparkSession, settings: ReplaySettings, asked: SharedReplay) -> Replayed:
    data, ranges = settings.data.absolute(), ranges_between(asked.shared, asked.since, asked.until)
    with ExitStack() as stack:
        stack.enter_context(owned(data, "replay"))
        outbox = stack.enter_context(closing(Outbox.open(Places(data).outbox)))
        batch = _batch_id(ranges, asked, settings.again)
        fresh = settings.deliver and batch not in outbox.committed()
        rows = Storage.at(stack.enter_context(TemporaryDirectory(dir=data)))
        found = _work(spark, settings, asked, ranges, rows, f"{batch}:" if fresh else None)
        # With all of the table, which has no offsets of partitions.
        diff = compared(spark, settings.tables, rows, found, _PAIR) if settings.diff else None
        if fresh:
            outbox.publish(batch, (), rows=found.counted["records"], end="{}")
    ends = [sum(each) for each in zip(*ranges.values(), strict=True)] or [0, 0]
    done = Replayed(start=ends[0], stop=ends[1], diff=diff, **counts_of(found))
    return replace(done, batch=batch, published=fresh) if settings.deliver else done


def ranges_between(shared: SharedLog, since: Instant | None, until: Instant | None) -> Ranges:
    """By the times at which records came to Kafka, shortly after they were accepted."""
    found = {name: ends for name, ends in extent(shared).items() if placed(name)[0] == LOG}
    starts, stops = _at(shared, found, since, 0), _at(shared, found, until, 1)
    return {name: (starts[name], max(starts[name], stops[name])) for name in found}


def _at(shared: SharedLog, found: Ranges, when: Instant | None, end: int) -> dict[str, int]:
    if when is None:
        return {name: ends[end] for name, ends in found.items()}
    places = [TopicPartition(shared.notifications, placed(name)[1], when // 1_000_000) for name in found]
    with answering(shared):
        known = reader(shared).offsets_for_times(places, timeout=ANSWER_SECONDS)
    names = {place(LOG, each.partition): each.offset for each in known}
    return {name: offset if offset >= 0 else found[name][1] for name, offset in names.items()}


def _work(
    spark: SparkSession,
    settings: ReplaySettings,
    asked: SharedReplay,
    ranges: Ranges,
    rows: Storage,
    sent_as: str | None,
) -> BatchResult:
    data, storage, frame = settings.data, settings.tables, _frame(spark, asked.shared, ranges)
    wanted = frozenset(
        name for name, is_wanted in ((DELIVERIES, sent_as is not None), (MATCHES, settings.diff)) if is_wanted
    )
    with shared_past(data, asked.shared) as bring_up:
        publisher = StatePublisher(data, storage, f"replay-{uuid.uuid4()}", bring_up=bring_up)
        with publisher:
            if asked.as_of is None:
                (least,) = frame.agg(F.min("meets")).collect()
                state = publisher.publish(least[0] or 0)
            else:
                state = publisher.publish_frozen(_changes_by_now(data) if asked.as_of < 0 else asked.as_of)
            task = Task(Path(), storage, state, wanted, customise=True, by_subscription=True, written=rows)
            task = replace(task, shared=asked.shared, sent_as=sent_as or "")
            return work(frame, replace(task, inline=0) if settings.diff else task)


def _frame(spark: SparkSession, shared: SharedLog, ranges: Ranges) -> DataFrame:
    text = " ".join(f"{name}:{start}:{stop}" for name, (start, stop) in ranges.items() if start < stop)
    options = {"shared": shared.url, "ranges": text}
    return spark.read.format(register_shared(spark)).options(**options).load()


def _changes_by_now(data: Path) -> int:
    store, _ = open_store(data)
    with closing(store):
        return store.past.end()


def _batch_id(ranges: Ranges, asked: SharedReplay, again: int) -> int:
    digest = blake2b(f"{sorted(ranges.items())} {asked.as_of} {again}".encode(), digest_size=8).digest()
    return -1 - (int.from_bytes(digest) >> 1)
