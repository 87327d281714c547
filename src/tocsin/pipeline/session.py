"""A Spark session that starts quickly, keeps quiet and cleans up after itself."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tocsin.pipeline.source import LogSource

# Compiling for peak speed costs seconds at the start and pays off in hours; the work is in the Python workers.
_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "tocsin.pipeline.daemon",
    "spark.driver.extraJavaOptions": _JAVA,
    # Without Hadoop's native library every local file costs a chmod process, and its checksum file another.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}
LOCAL = "local[*]"
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def session(log: Path, scratch: Path, master: str = LOCAL) -> Iterator[SparkSession]:
    """What Spark has to say goes to the file `log`, not to the caller's streams."""
    shutil.rmtree(scratch, ignore_errors=True)  # of a job that was killed
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with _streams_into(log):
        spark = _builder(scratch.absolute(), master).getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        spark.dataSource.register(LogSource)
        yield spark
    finally:
        with suppress(Py4JError, OSError):  # the JVM may be gone already
            spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _builder(scratch: Path, master: str) -> SparkSession.Builder:
    builder = SparkSession.builder.master(master).appName("tocsin")
    for key, value in (_SETTINGS | (_LOCAL if master.startswith("local") else {})).items():
        builder = builder.config(key, value)
    builder = builder.config("spark.local.dir", str(scratch))
    return builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))


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
