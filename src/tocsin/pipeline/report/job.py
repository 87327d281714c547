"""The job: what it is asked for, and the sections one after the other."""

import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from tocsin.mediation.times import instant
from tocsin.model.refusal import Refusal
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.progress import Progress, job_session
from tocsin.pipeline.report.sums import Range, Sums
from tocsin.pipeline.report.values import Report
from tocsin.pipeline.session import HERE, SparkSettings
from tocsin.pipeline.state.publisher import open_store
from tocsin.pipeline.tables import reading
from tocsin.pipeline.tables.schemas import KEPT, SUBSCRIPTIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.places import Places

TOP = 10
PULLED = "pull point"
SECTIONS = ("rates", "fan_out", "deliveries", "latencies", "replies", "dead_letters", "quarantine", "costs")
Step = Callable[[str], None]


@dataclass(frozen=True)
class ReportSettings:
    """On what was accepted from `start` up to `stop`. `storage` is where tables are that are not beside the log; of
    each list the first `top` are told."""

    data: Path
    storage: Storage | None = None
    start: datetime | None = None
    stop: datetime | None = None
    top: int = TOP
    spark: SparkSettings = HERE

    @property
    def tables(self) -> Storage:
        return self.storage or Storage.at(Places(self.data).tables)


def report(settings: ReportSettings, step: Step | None = None, progress: Progress | None = None) -> Report:
    """`step` is told the name of each section before it is made."""
    log = Places(settings.data).spark_log
    if settings.storage is not None:
        log = Path(tempfile.gettempdir(), f"tocsin-report-{os.getpid()}.log")
    try:
        if not _has_rows(settings):  # need not wait for Spark
            return Report(datetime.now(UTC), settings.start, settings.stop)
        with job_session(log, settings.spark, progress) as spark:
            found = report_on(spark, settings, step)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem
    if settings.storage is not None:
        log.unlink(missing_ok=True)
    return found


def report_on(spark: SparkSession, settings: ReportSettings, step: Step | None = None) -> Report:
    asked = Range(settings.start, settings.stop)
    consumers = consumers_at(settings.data) | consumers_in(settings.tables)
    with closing(Sums(spark, settings.tables, asked, settings.top, consumers)) as sums:
        made = {}
        for name in SECTIONS:
            if step is not None:
                step(name.replace("_", " "))
            made[name] = getattr(sums, name)()
    return Report(datetime.now(UTC), settings.start, settings.stop, **made)


def time_named(text: str) -> datetime:
    try:
        return datetime.fromtimestamp(instant(text) / 1e9, UTC)
    except Refusal as problem:
        raise PipelineError(f"{text!r} is no time such as 2026-03-01T12:00:00Z") from problem


def consumers_at(data: Path) -> dict[str, str]:
    """To whom each subscription is delivered; nothing where tables are without their node's database."""
    if not Places(data).database.exists():
        return {}
    store, _ = open_store(data)
    with closing(store):
        last = {each.subscription.id: each.subscription for each in store.past.changes()}
    return {name: PULLED if each.consumer is None else each.consumer.address for name, each in last.items()}


def consumers_in(tables: Storage) -> dict[str, str]:
    """The same of all nodes, where several are read."""
    found = reading.scan(tables, SUBSCRIPTIONS).select(["subscription", "consumer"])
    names, consumers = (column.to_pylist() for column in found.columns)
    return {name: PULLED if each is None else each for name, each in zip(names, consumers, strict=True)}


def _has_rows(settings: ReportSettings) -> bool:
    if settings.storage is None:
        open_store(settings.data)[0].close()
    return any(reading.count(settings.tables, name) for name in KEPT)
