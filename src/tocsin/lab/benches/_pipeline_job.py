"""The job on Spark: a batch of it as a turn, all of it as a stream; and whose processor time it took."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from tocsin.lab.benches._pipeline_plain import Turn
from tocsin.lab.benches._pipeline_workload import Laid
from tocsin.pipeline.batch import BatchResult, PublishedBatch, work
from tocsin.pipeline.run import Progress, RunSettings, publishing, start
from tocsin.pipeline.session import SparkSettings, session
from tocsin.pipeline.source import NAME
from tocsin.pipeline.state.published import Published
from tocsin.pipeline.tables.schemas import DELIVERIES, MATCHES
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import RECORDS, Task
from tocsin.store.places import Places

CORES = 2
_SCHEDULED = 2  # CPUCLOCK_SCHED, as in _stage.py
Pair = tuple[int, int, str]


class Cpu(Struct, frozen=True):
    """Seconds of the processor: the driver's Python, its JVM, and all that the JVM started (Python's daemon, its
    workers, their helpers)."""

    driver: float
    jvm: float
    workers: float

    @property
    def all(self) -> float:
        return self.driver + self.jvm + self.workers

    def __sub__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.driver - other.driver, self.jvm - other.jvm, self.workers - other.workers)


class Meter:
    """Of a process that has ended it knows what was last seen."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm = int(spark.sparkContext._gateway.proc.pid)
        self._seen: dict[int, float] = {}

    def read(self) -> Cpu:
        for each in _below(self._jvm):
            with suppress(OSError):
                self._seen[each] = _seconds(each)
        return Cpu(time.process_time(), _seconds(self._jvm), sum(self._seen.values()))


def _seconds(process: int) -> float:
    return time.clock_gettime(~process << 3 | _SCHEDULED)


def _below(parent: int) -> Iterator[int]:
    found: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found.setdefault(int(words[1]), []).append(int(each.parent.name))
    waiting = [parent]
    while waiting:
        children = found.get(waiting.pop(), [])
        yield from children
        waiting += children


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """As the job has it, on two cores."""
    with (
        TemporaryDirectory(prefix="tocsin-bench-") as folder,
        session(Path(folder, "spark.log"), Path(folder, "scratch"), SparkSettings(f"local[{CORES}]")) as spark,
    ):
        yield spark


def records(spark: SparkSession, laid: Laid, start: int, stop: int) -> DataFrame:
    """Publications by their numbers."""
    span = {"start": laid.first + start, "stop": laid.first + stop, "parts": CORES}
    options = {"data": str(laid.data), **{name: str(value) for name, value in span.items()}}
    return spark.read.format(NAME).options(**options).load()


class Hop:
    """Batches of the hop: normalise, match and customise; rows are written into `tables` beside, if any."""

    def __init__(self, spark: SparkSession, laid: Laid, state: Published, scratch: Path) -> None:
        self._spark, self._laid, self._state, self._scratch = spark, laid, state, scratch
        self._meter = Meter(spark)

    def turn(self, start: int, stop: int, tables: Sequence[str] = ()) -> Turn:
        before, begun = self._meter.read(), time.perf_counter()
        found = self._found(start, stop, tables)
        seconds = time.perf_counter() - begun
        cpu = (self._meter.read() - before).all
        return Turn(stop - start, seconds, cpu, found.counted[DELIVERIES])

    def pairs(self, start: int, stop: int) -> set[Pair]:
        found = [each for each in self._found(start, stop, (MATCHES,)).parts if each.table == MATCHES]
        files = [pq.read_table(Path(self._scratch, MATCHES, each.path), partitioning=None) for each in found]
        rows = pa.concat_tables(files).select(["log_offset", "item", "subscription"])
        return set(zip(*(column.to_pylist() for column in rows.columns), strict=True))

    def _found(self, start: int, stop: int, tables: Sequence[str]) -> BatchResult:
        storage, log = Storage.at(Places(self._laid.data).tables), Places(self._laid.data).log()
        rows = Storage.at(self._scratch)
        task = Task(log, storage, self._state, frozenset(tables), customise=True, written=rows, inline=0)
        return work(records(self._spark, self._laid, start, stop), task)


class Mark(Struct, frozen=True):
    """When a batch was published: how many records there were by then."""

    records: int
    cpu: Cpu
    at: float


class _Marks(Progress):
    def __init__(self, spark: SparkSession) -> None:
        super().__init__(StringIO())
        self._meter, self._records = Meter(spark), 0
        self.found: list[Mark] = []

    def batch(self, done: PublishedBatch) -> None:
        self._records += done.counted[RECORDS]
        self.mark()

    def mark(self) -> None:
        self.found.append(Mark(self._records, self._meter.read(), time.perf_counter()))


def stream(spark: SparkSession, data: Path, rows: int) -> list[Mark]:
    """The job reads what is there, as `tocsin pipeline run --once` does: a mark for each batch, and one for the end,
    when the tables are committed."""
    marks, settings = _Marks(spark), RunSettings(data, once=True, rows=rows)
    with publishing(settings, marks) as batches:
        query = start(spark, settings, batches)
        query.awaitTermination()
    marks.mark()
    return marks.found


def bytes_a_row(storage: Storage, table: str) -> tuple[float, int]:
    """Of a table whose small files were made one."""
    delta = storage.opened(table)
    delta.optimize.compact()
    found = pa.table(delta.get_add_actions(flatten=True))
    rows = sum(found["num_records"].to_pylist())
    return sum(found["size_bytes"].to_pylist()) / max(rows, 1), rows
