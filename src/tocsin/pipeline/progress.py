"""How far a job is, as Spark's own status tracker says, for whoever draws it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from tocsin.pipeline.session import SparkSettings, session
from tocsin.pipeline.sources import is_remote

Progress = Callable[[int, int], None]  # so many tasks are done, of so many that are known by now
LOOK_SECONDS = 0.2


@contextmanager
def job_session(log: Path, settings: SparkSettings, progress: Progress | None = None) -> Iterator[SparkSession]:
    """A session for one job that ends, watched."""
    with (
        TemporaryDirectory() as scratch,
        session(log, Path(scratch) / "spark", settings) as spark,
        watched(spark, progress),
    ):
        yield spark


@contextmanager
def watched(spark: SparkSession, progress: Progress | None) -> Iterator[None]:
    """Tells of all stages that are seen at work meanwhile; at the end, all that was known is done. A Connect
    server tells nothing of it."""
    if progress is None or is_remote(spark):
        yield
        return
    stages, ended = Stages(spark), threading.Event()

    def watch() -> None:
        with suppress(Py4JError, OSError):  # the JVM may be gone; the job itself will say so
            while not ended.wait(LOOK_SECONDS):
                progress(*stages.look())

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    progress(stages.total, stages.total)


class Stages:
    """Those seen so far. One that is no longer at work is done."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._tasks: dict[int, int] = {}

    @property
    def total(self) -> int:
        return sum(self._tasks.values())

    def look(self) -> tuple[int, int]:
        """How many tasks are done, and how many are known."""
        waiting = 0
        for number in self._tracker.getActiveStageIds():
            if (stage := self._tracker.getStageInfo(number)) is not None:
                self._tasks[number] = stage.numTasks
                waiting += stage.numTasks - stage.numCompletedTasks
        return self.total - waiting, self.total
