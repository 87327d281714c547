"""A Spark session that starts quickly, keeps quiet and cleans up after itself."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from tocsin.pipeline.connect import connected
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.sources import register

LOCAL = "local[*,4]"  # a task is tried so often, as on a cluster; Spark's own way here is once
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "tocsin.pipeline.daemon",
    # Compiling for peak speed doubles the CPU time until the query runs, and most of the work is in the Python workers.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    # Without Hadoop's native library every local file costs a chmod process, and its checksum file another.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}
# Workers of a busy cluster may take longer to begin than the 15 s that Spark gives them.
_ON_A_CLUSTER = {"spark.python.authenticate.socketTimeout": "180s"}
_ON_THIS_MACHINE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


_STANDALONE = "spark://"
_STOPPED = "stopped SparkContext"  # by itself, when no master answers
ANSWER_SECONDS = 5.0  # for each of several masters
WORKER = "tocsin-worker"  # beside the Python that runs us, on every machine of a cluster


@dataclass(frozen=True)
class SparkSettings:
    """Where a job runs. What `conf` says wins over our own settings, and so does what `spark-submit` was told.

    `master` None is that of `spark-submit`, else this machine. `remote` is a Connect server, which has a master and
    settings of its own.
    """

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    ui: bool = False
    remote: str | None = None

    def settings(self, scratch: Path, submitted: Mapping[str, str]) -> dict[str, str]:
        master = self.master or submitted.get("spark.master", LOCAL)
        ours = _SETTINGS | (_ON_THIS_MACHINE if master.startswith("local") else _ON_A_CLUSTER)
        ours |= {"spark.local.dir": str(scratch), "spark.sql.warehouse.dir": str(scratch / "warehouse")}
        ours |= {"spark.ui.enabled": "true"} if self.ui else {}
        ours["spark.executorEnv.TOCSIN_PATH"] = os.environ.get("PYTHONPATH", "")
        return {"spark.app.name": "tocsin", **ours, **submitted, "spark.master": master, **dict(self.conf)}


HERE = SparkSettings()


@contextmanager
def session(log: Path, scratch: Path, spark: SparkSettings = HERE) -> Iterator[SparkSession]:
    """What Spark has to say goes to the file `log`, not to the caller's streams."""
    if spark.remote is not None:
        with connected(spark.remote, dict(spark.conf)) as remote:
            yield remote
        return
    check_answers(master := spark.settings(scratch, _submitted())["spark.master"])
    scratch = scratch.absolute()
    shutil.rmtree(scratch, ignore_errors=True)  # of a job that was killed
    scratch.mkdir(parents=True)
    with _streams_into(log), _workers_run(worker()):
        builder = SparkSession.builder
        for key, value in spark.settings(scratch, _submitted()).items():
            builder = builder.config(key, value)
        opened = _opened(builder, master)
    try:
        opened.sparkContext.setLogLevel("ERROR")
        register(opened)
        yield opened
    finally:
        with suppress(Py4JError, OSError):  # the JVM may be gone already
            opened.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _opened(builder: SparkSession.Builder, master: str) -> SparkSession:
    """Where somebody listens who is no master, or one of another version, Spark asks for its minute, which no setting
    makes shorter, and then says something else."""
    try:
        return builder.getOrCreate()
    except Py4JJavaError as problem:
        if not master.startswith(_STANDALONE) or _STOPPED not in str(problem):
            raise
        raise PipelineError(
            f"what listens at {master} did not answer as a Spark master within the minute that Spark asks for: see that"
            " it is one, and of the same version, or name the right one with --master; without it Spark runs on this"
            " machine"
        ) from problem


def check_answers(master: str) -> None:
    """That somebody listens where a standalone master should be, before Spark asks for a minute."""
    if not master.startswith(_STANDALONE) or any(map(_listens, master.removeprefix(_STANDALONE).split(","))):
        return
    raise PipelineError(
        f"no Spark master answers at {master}: start one there, or name the right one with --master; without it"
        " Spark runs on this machine"
    )


def _listens(address: str) -> bool:
    try:
        place = urlsplit(f"//{address}")
        with socket.create_connection((place.hostname or "", place.port or 7077), timeout=ANSWER_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def worker() -> Path:
    """What starts Python on the executors: with the caller's path, where Spark would put its own PySpark first, a zip
    without byte code, which costs a second a worker and on a busy cluster all of its patience."""
    found = Path(sys.executable).with_name(WORKER)
    return found if found.exists() else Path(sys.executable)


def _submitted() -> dict[str, str]:
    """What `spark-submit` was told; it started the JVM before us."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


@contextmanager
def _workers_run(python: Path) -> Iterator[None]:
    """Spark looks for its workers' Python in the environment, once."""
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    kept = {name: os.environ.get(name) for name in (*names, "TOCSIN_PATH")}
    os.environ.update({name: str(python) for name in names} | {"TOCSIN_PATH": os.environ.get("PYTHONPATH", "")})
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _streams_into(path: Path) -> Iterator[None]:
    """Processes that are started meanwhile, the JVM first, inherit the file as their output."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(file, 1)
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for each in (*kept, file):
            os.close(each)
