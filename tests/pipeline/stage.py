"""What tests of the pipeline share: a job's parts without a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from tocsin.pipeline.batch import PublishedBatch
from tocsin.pipeline.run import Progress, RunSettings, publishing, start
from tocsin.pipeline.state.published import StateFiles
from tocsin.pipeline.state.publisher import LEAST, StatePublisher
from tocsin.pipeline.state.standing import Standing
from tocsin.pipeline.tables import reading
from tocsin.pipeline.tables.storage import Storage


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said = StringIO()
        super().__init__(self.said)
        self.done: list[PublishedBatch] = []
        self.enough: Event | None = None  # set with the first batch

    def batch(self, done: PublishedBatch) -> None:
        self.done.append(done)
        if self.enough is not None:
            self.enough.set()


def catch_up(spark: SparkSession, settings: RunSettings) -> list[PublishedBatch]:
    """Reads what is there, as `run` with `once`."""
    told = Told()
    with publishing(settings, told) as batches:
        query = start(spark, settings, batches)
        try:
            query.awaitTermination(60)
        finally:
            query.stop()
    return told.done


def storage_of(data: Path) -> Storage:
    return Storage.at(data / "tables")


def rows_of(data: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = reading.scan(storage_of(data), table).to_pylist()
    return rows


@contextmanager
def standing(data: Path, start: int = 0, *, least: int = LEAST, frozen_at: int | None = None) -> Iterator[Standing]:
    """The subscriptions as a task has them that begins there or later."""
    with StatePublisher(data, storage_of(data), least=least) as publisher:
        told = publisher.publish(start) if frozen_at is None else publisher.publish_frozen(frozen_at)
    yield Standing(StateFiles(storage_of(data)), told)
