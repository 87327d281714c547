"""The streaming job: from the log to tables and the outbox, until it is told to stop."""

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from tocsin.pipeline.as_of import open_store
from tocsin.pipeline.batch import Batches, Done, warm_up
from tocsin.pipeline.checkpoint import check_in_step
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.places import Places
from tocsin.pipeline.progress import Progress
from tocsin.pipeline.session import LOCAL, session
from tocsin.pipeline.source import NAME
from tocsin.store.outbox import Outbox

_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class RunSettings:
    """`deliver` None does what the data directory's engine asks for. `parent` is a process to end with.

    `rows` is how many records a batch may have; `interval` how often, in seconds, the log is looked at. With `once`
    the job ends when it has read what is there.
    """

    data: Path
    master: str = LOCAL
    deliver: bool | None = None
    rows: int = 5_000
    interval: float = 0.1
    parent: int | None = None
    once: bool = False


def run(settings: RunSettings) -> None:
    """Until SIGTERM, SIGINT or the end of the parent; PipelineError says in a sentence what else ended it."""
    progress = Progress.on_stdout()
    progress.say("starting")
    try:
        _run(settings, progress)
    except Exception as problem:
        reason = sentence(problem)
        progress.say("failed", reason=reason)
        raise PipelineError(f"{reason} (more in {Places(settings.data).spark_log})") from problem
    progress.say("stopped")


def _run(settings: RunSettings, progress: Progress) -> None:
    stop, places = threading.Event(), Places(settings.data)
    _stop_on_signals(stop)
    with (
        _owned(places),
        closing(Outbox.open(places.outbox)) as outbox,
        session(places.spark_log, places.scratch, settings.master) as spark,
    ):
        check_in_step(settings.data, outbox)
        _stop_on_signals(stop)  # Spark has put its own handler in place
        warm = threading.Thread(target=warm_up, args=(spark,), daemon=True)
        warm.start()
        query = Query(spark, settings, outbox, progress)
        warm.join()
        progress.say("ready")
        query.until(stop, settings.parent)


class Query:
    """The running query. Between two batches it can be stopped without leaving anything to repeat."""

    def __init__(self, spark: SparkSession, settings: RunSettings, outbox: Outbox, progress: Progress) -> None:
        self._batches = Batches(settings.data, outbox, deliver=_delivers(settings), done=self._done)
        self._progress, self._busy, self._began = progress, threading.Lock(), 0.0
        self._query = self._start(spark, settings)

    def until(self, stop: threading.Event, parent: int | None) -> None:
        """Ends when told to, with the parent, or with the query itself."""
        while not stop.wait(_LOOK_SECONDS) and _alive(parent) and self._query.isActive:
            pass
        with self._busy:
            self._query.stop()
        if problem := self._query.exception():
            raise problem

    def _start(self, spark: SparkSession, settings: RunSettings) -> StreamingQuery:
        options = {"data": str(settings.data.absolute()), "rows": str(settings.rows)}
        options["parts"] = str(spark.sparkContext.defaultParallelism)
        writer = spark.readStream.format(NAME).options(**options).load().writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(Places(settings.data).checkpoint.absolute()))
        pace = {"availableNow": True} if settings.once else {"processingTime": f"{settings.interval} seconds"}
        return writer.trigger(**pace).start()

    def _batch(self, frame: DataFrame, batch: int) -> None:
        with self._busy:
            self._began = time.monotonic()
            self._batches(frame, batch)

    def _done(self, done: Done) -> None:
        self._progress.batch(done, round(time.monotonic() - self._began, 3))


def _delivers(settings: RunSettings) -> bool:
    """Two engines that fill outbox and queues of one directory would deliver everything twice."""
    store, _ = open_store(settings.data)
    with closing(store):
        engine = store.meta("engine")
    wanted = engine == "spark" if settings.deliver is None else settings.deliver
    if wanted and engine == "embedded":
        raise PipelineError(f"{settings.data} belongs to the embedded engine, which delivers by itself")
    return wanted


def _stop_on_signals(stop: threading.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())


def _alive(process: int | None) -> bool:
    return process is None or os.getppid() == process


@contextmanager
def _owned(places: Places) -> Iterator[None]:
    """Two jobs on one checkpoint would each undo what the other does."""
    places.data.mkdir(parents=True, exist_ok=True)
    with places.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PipelineError(f"another pipeline run is at work on {places.data}") from None
        yield
