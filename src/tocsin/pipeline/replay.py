"""Replays a range of the log as a Spark batch: counts what would be delivered and, on request, delivers it."""

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tocsin.mediation.times import instant
from tocsin.model.refusal import Refusal
from tocsin.pipeline.batch import BatchResult, publish, work
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.frames import read_log, read_table
from tocsin.pipeline.nodes import name_in, node_at
from tocsin.pipeline.progress import Progress, job_session
from tocsin.pipeline.ranges import check_as_of, log_range
from tocsin.pipeline.run import delivers, owned
from tocsin.pipeline.session import HERE, SparkSettings
from tocsin.pipeline.state.publisher import StatePublisher
from tocsin.pipeline.tables.location import located
from tocsin.pipeline.tables.schemas import DELIVERIES, MATCHES, NOTIFICATIONS, QUARANTINE
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import Task
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.past import first_since
from tocsin.store.places import LOG, OUTCOMES, Places

PAIR = ("log_offset", "item", "subscription")
EXAMPLES = 20


@dataclass(frozen=True)
class ReplaySettings:
    """Records from `start` up to `stop`, by default all that are kept.

    A record meets the subscriptions and declarations of its time; with `as_of` those of that record, as if they had
    always been there. A replay that was delivered is not delivered a second time, unless `again` is another number.
    With `diff` it is compared with the table of matches. `home` is the data directory whose tables those are, where it
    is another node's.
    """

    data: Path
    start: int | None = None
    stop: int | None = None
    deliver: bool = False
    as_of: int | None = None
    again: int = 0
    diff: bool = False
    spark: SparkSettings = HERE
    storage: Storage | None = None
    home: Path | None = None

    @property
    def tables(self) -> Storage:
        return self.storage or located(self.home or self.data)


@dataclass(frozen=True)
class Difference:
    """Pairs of a notification and a subscription on one side only: how many of each subscription, and a few."""

    count: int
    by_subscription: dict[str, int]
    examples: list[tuple[int, int, str]]  # offset, place in the record, subscription


@dataclass(frozen=True)
class Compared:
    """`new` would be matched and was not; `gone` was and would not be."""

    new: Difference
    gone: Difference


@dataclass(frozen=True)
class Replayed:
    """`published` is None for a dry run, False when the same replay was delivered before. Of several nodes the sums are
    told, and `nodes` has each."""

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
    diff: Compared | None = None
    nodes: dict[str, "Replayed"] | None = None


@dataclass(frozen=True)
class _Range:
    start: int
    stop: int
    frozen_at: int | None


def replay(settings: ReplaySettings, progress: Progress | None = None) -> Replayed:
    log = Places(settings.data).spark_log
    try:
        _range(settings)  # what is wrong with it need not wait for Spark
        with job_session(log, settings.spark, progress) as spark:
            return replay_on(spark, settings)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem


def replay_nodes(asked: Sequence[ReplaySettings], progress: Progress | None = None) -> Replayed:
    """Of each node its range, one after the other: a record meets the subscriptions of its own node."""
    log = Places(asked[0].data).spark_log
    try:
        names = [node_at(each.data) for each in asked]
        for each in asked:
            _range(each)
        with job_session(log, asked[0].spark, progress) as spark:
            return summed(dict(zip(names, (replay_on(spark, each) for each in asked), strict=True)))
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem


def replay_on(spark: SparkSession, settings: ReplaySettings) -> Replayed:
    data, asked = settings.data.absolute(), _range(settings)
    with ExitStack() as stack:
        if settings.deliver:
            stack.enter_context(owned(data, "replay"))
        rows = Storage.at(
            stack.enter_context(TemporaryDirectory(dir=settings.home or data))
        )  # of a replay: beside the tables, not in them
        found = _work(spark, data, asked, settings, rows)
        where = f"log_offset >= {asked.start} AND log_offset < {asked.stop}{_and_of(data)}"
        diff = compared(spark, settings.tables, rows, found, where=where) if settings.diff else None
        if not settings.deliver:
            return _replayed(asked, found, diff=diff)
        batch, outbox = _batch_id(asked, settings.again), Outbox.open(Places(data).outbox)
        stack.callback(outbox.close)
        # No progress through the log, or retention would go by it.
        due = replace(found, parts=[part for part in found.parts if part.table == DELIVERIES])
        published = publish(outbox, rows, batch, due, {LOG: 0, OUTCOMES: 0})
        return _replayed(asked, found, batch, published, diff)


def _and_of(data: Path) -> str:
    """Of this node alone: the tables may have others' rows besides."""
    name = name_in(data)
    return "" if name is None else " AND node = '{}'".format(name.replace("'", "''"))


def compared(
    spark: SparkSession,
    tables: Storage,
    rows: Storage,
    found: BatchResult,
    pair: Sequence[str] = PAIR,
    where: str | None = None,
) -> Compared:
    """The pairs of the replay beside those of the table, or of a part of it."""
    files = [f"{rows.table(MATCHES)}/{part.path}" for part in found.parts if part.table == MATCHES]
    again = spark.read.parquet(*files) if files else read_table(spark, MATCHES, rows)
    before = read_table(spark, MATCHES, tables)
    before = before if where is None else before.where(where)
    then, now = (frame.select(*pair).distinct().cache() for frame in (before, again))
    return Compared(_difference(now.exceptAll(then)), _difference(then.exceptAll(now)))


def _difference(rows: DataFrame) -> Difference:
    rows = rows.cache()
    counts = {row["subscription"]: int(row["count"]) for row in rows.groupBy("subscription").count().collect()}
    examples = [(row["log_offset"], row["item"], row["subscription"]) for row in rows.orderBy(*PAIR).take(EXAMPLES)]
    return Difference(sum(counts.values()), dict(sorted(counts.items())), examples)


def offset_named(data: Path, text: str) -> int:
    """The record that is meant by an offset, or by a time such as 2026-03-01T12:00:00Z: the first accepted then."""
    if text.isdecimal():
        return int(text)
    try:
        when = instant(text)
    except Refusal as problem:
        raise PipelineError(f"{text!r} is neither an offset nor a time such as 2026-03-01T12:00:00Z") from problem
    with closing(LogReader(Places(data).log(LOG))) as reader:
        return first_since(reader, when)


def _range(settings: ReplaySettings) -> _Range:
    delivers(settings.data, settings.deliver)
    start, stop = log_range(settings.data, settings.start, settings.stop)
    if settings.as_of is not None:
        check_as_of(settings.data, settings.as_of)
    return _Range(start, stop, settings.as_of)


def _batch_id(asked: _Range, again: int) -> int:
    """Negative, so that it is none of the stream's, and the same for the same replay."""
    digest = blake2b(f"{asked} {again}".encode(), digest_size=8).digest()
    return -1 - (int.from_bytes(digest) >> 1)


def _work(spark: SparkSession, data: Path, asked: _Range, settings: ReplaySettings, rows: Storage) -> BatchResult:
    """What it is compared by is in files whatever its number, for Spark to read."""
    frame = read_log(spark, data, asked.start, asked.stop)
    tables = frozenset(
        name for name, asked_for in ((DELIVERIES, settings.deliver), (MATCHES, settings.diff)) if asked_for
    )
    storage, frozen_at = settings.tables, asked.frozen_at
    with StatePublisher(data, storage, f"replay-{uuid.uuid4()}") as publisher:
        state = publisher.publish(asked.start) if frozen_at is None else publisher.publish_frozen(frozen_at)
        task = Task(Places(data).log(), storage, state, tables, customise=True, by_subscription=True, written=rows)
        return work(frame, replace(task, inline=0) if settings.diff else task)


def _replayed(
    asked: _Range,
    found: BatchResult,
    batch: int | None = None,
    published: bool | None = None,
    diff: Compared | None = None,
) -> Replayed:
    return Replayed(asked.start, asked.stop, **counts_of(found), batch=batch, published=published, diff=diff)


def summed(nodes: dict[str, Replayed]) -> Replayed:
    """Offsets too, though each counts by itself: so many records lie between."""
    counts = ("start", "stop", "records", "notifications", "matches", "deliveries", "errors")
    all_of_them: Counter[str] = Counter()
    for each in nodes.values():
        all_of_them.update(each.by_subscription)
    diffs = [each.diff for each in nodes.values() if each.diff is not None]
    return Replayed(
        **{name: sum(getattr(each, name) for each in nodes.values()) for name in counts},
        by_subscription=dict(sorted(all_of_them.items())),
        diff=Compared(_union(each.new for each in diffs), _union(each.gone for each in diffs)) if diffs else None,
        nodes=nodes,
    )


def _union(sides: Iterable[Difference]) -> Difference:
    found, by_subscription = list(sides), Counter[str]()
    for each in found:
        by_subscription.update(each.by_subscription)
    examples = [example for each in found for example in each.examples][:EXAMPLES]
    return Difference(sum(each.count for each in found), dict(sorted(by_subscription.items())), examples)


def counts_of(found: BatchResult) -> dict[str, Any]:
    counted = found.counted
    return {
        "records": counted["records"],
        "notifications": counted[NOTIFICATIONS],
        "matches": counted[MATCHES],
        "deliveries": counted[DELIVERIES],
        "errors": counted[QUARANTINE],
        "by_subscription": dict(sorted(found.by_subscription.items())),
    }
