"""The streaming job: from the log to tables and the outbox, until it is told to stop."""

import fcntl
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tocsin.pipeline.as_of import open_store
from tocsin.pipeline.batch import Batches, PublishedBatch, warm_up
from tocsin.pipeline.errors import OutOfStep, PipelineError, sentence
from tocsin.pipeline.session import LOCAL, session
from tocsin.pipeline.source import NAME
from tocsin.store.outbox import Outbox
from tocsin.store.places import Places

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


class Progress:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    @classmethod
    def on_stdout(cls) -> "Progress":
        """Keeps standard output to itself: whatever else writes there from now on goes to standard error."""
        sys.stdout.flush()
        out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        return cls(out)

    def say(self, event: str, **values: object) -> None:
        try:
            print(json.dumps({"event": event, **values}), file=self._out, flush=True)
        except BrokenPipeError:  # whoever listened is gone; the work goes on until it is told to stop
            self._out = open(os.devnull, "w")  # noqa: SIM115, PTH123

    def batch(self, done: PublishedBatch) -> None:
        told = {name: done.counted[name] for name in ("notifications", "matches", "deliveries", "history", "errors")}
        rest = {"seconds": round(done.seconds, 3), "repeated": done.repeated}
        self.say("batch", id=done.id, rows=done.counted["records"], **told, **rest)


def run(settings: RunSettings) -> None:
    """Until SIGTERM, SIGINT or the end of the parent; PipelineError says in a sentence what else ended it.

    For a process of its own: it takes the signals and standard output.
    """
    progress = Progress.on_stdout()
    progress.say("starting")
    try:
        _run(settings, progress)
    except Exception as problem:
        reason = sentence(problem, Places(settings.data).spark_log)
        progress.say("failed", reason=reason)
        raise PipelineError(reason) from problem
    progress.say("stopped")


def _run(settings: RunSettings, progress: Progress) -> None:
    stop, places = threading.Event(), Places(settings.data)
    _stop_on_signals(stop)
    deliver = delivers(settings.data, settings.deliver)
    with owned(places.data, "pipeline"), closing(Outbox.open(places.outbox)) as outbox:
        check_in_step(places.data, outbox)
        batches = Batches(places.data, outbox, deliver=deliver, done=progress.batch)
        with session(places.spark_log, places.scratch, settings.master) as spark:
            _stop_on_signals(stop)  # Spark has put its own handler in place
            query = _started(spark, settings, batches)
            progress.say("ready")
            _follow(query, batches, stop, settings.parent)


def _started(spark: SparkSession, settings: RunSettings, batches: Batches) -> StreamingQuery:
    """The workers start while Spark plans the query."""
    warming = threading.Thread(target=warm_up, args=(spark,), daemon=True)
    warming.start()
    query = start(spark, settings, batches)
    warming.join()
    return query


def start(spark: SparkSession, settings: RunSettings, batches: Batches) -> StreamingQuery:
    options = {"data": str(settings.data.absolute()), "rows": str(settings.rows)}
    options["parts"] = str(spark.sparkContext.defaultParallelism)
    writer = spark.readStream.format(NAME).options(**options).load().writeStream.foreachBatch(batches)
    writer = writer.option("checkpointLocation", str(Places(settings.data).checkpoint.absolute()))
    pace = {"availableNow": True} if settings.once else {"processingTime": f"{settings.interval} seconds"}
    return writer.trigger(**pace).start()


def _follow(query: StreamingQuery, batches: Batches, stop: threading.Event, parent: int | None) -> None:
    """Until told to stop, or to the end of the parent or of the query. A batch that has begun is finished."""
    try:
        while not stop.wait(_LOOK_SECONDS) and _is_parent(parent) and query.isActive:
            pass
        with batches.busy:
            query.stop()
        problem = query.exception()
    except (Py4JError, OSError) as gone:
        problem = gone
    if problem is not None and not stop.is_set():  # a signal to all processes at once ends Spark as well
        raise problem


def delivers(data: Path, wanted: bool | None) -> bool:
    """Whether the outbox is filled. With the embedded engine the node delivers, and both would deliver twice."""
    store, _ = open_store(data)
    with closing(store):
        engine = store.meta("engine")
    if wanted and engine == "embedded":
        raise PipelineError(f"{data} belongs to the embedded engine, which delivers by itself")
    return engine == "spark" if wanted is None else wanted


def _stop_on_signals(stop: threading.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())


def _is_parent(process: int | None) -> bool:
    return process is None or os.getppid() == process


def check_in_step(data: Path, outbox: Outbox) -> None:
    """A batch is planned, published, finished, in that order. Anything else would lose batches without a word."""
    places = Places(data)
    published = max(outbox.committed() | {-1})
    planned, finished = (_last(places.checkpoint / name) for name in ("offsets", "commits"))
    if not finished <= published <= planned:
        raise OutOfStep(
            f"{places.checkpoint} has planned batch {planned} and finished {finished}, but the last in {places.outbox}"
            f" is {published}: they do not belong together; restore both from one backup"
        )


def _last(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("[0-9]*") if path.name.isdecimal()), default=-1)


@contextmanager
def owned(data: Path, job: str) -> Iterator[None]:
    """Two of them would each undo what the other does."""
    with Places(data).lock(job).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PipelineError(f"another {job} job is at work on {data}") from None
        yield
