"""A Spark session that starts quickly, keeps quiet and cleans up after itself."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from tocsin.pipeline.source import LogSource

LOCAL = "local[*]"
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
_ON_THIS_MACHINE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def session(log: Path, scratch: Path, master: str = LOCAL) -> Iterator[SparkSession]:
    """What Spark has to say goes to the file `log`, not to the caller's streams."""
    scratch = scratch.absolute()
    shutil.rmtree(scratch, ignore_errors=True)  # of a job that was killed
    scratch.mkdir(parents=True)
    with _streams_into(log), _workers_run(_python(scratch) if master.startswith("local") else Path(sys.executable)):
        spark = _builder(scratch, master).getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        spark.dataSource.register(LogSource)
        yield spark
    finally:
        with suppress(Py4JError, OSError):  # the JVM may be gone already
            spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _builder(scratch: Path, master: str) -> SparkSession.Builder:
    settings = _SETTINGS | (_ON_THIS_MACHINE if master.startswith("local") else {})
    settings["spark.local.dir"] = str(scratch)
    settings["spark.sql.warehouse.dir"] = str(scratch / "warehouse")
    builder = SparkSession.builder.master(master).appName("tocsin")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


def _python(scratch: Path) -> Path:
    """Python with the caller's path. Spark puts its own PySpark first, a zip without byte code: a second a worker."""
    path = shlex.quote(os.environ.get("PYTHONPATH", ""))
    script = scratch / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {shlex.quote(sys.executable)} "$@"\n', "utf-8")
    script.chmod(0o700)
    return script


@contextmanager
def _workers_run(python: Path) -> Iterator[None]:
    """Spark looks for its workers' Python in the environment, once."""
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    kept = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(python)))
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
