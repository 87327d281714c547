"""Tasks whose processes are killed, once each. They travel to the workers by value: no worker can import tests."""

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark import cloudpickle

from tocsin.pipeline.tables import parts
from tocsin.pipeline.tables.schemas import DAY, KEPT
from tocsin.pipeline.task import Task

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


def executor() -> int:
    """The JVM for which this worker works."""
    process = os.getpid()
    while not Path(f"/proc/{process}/exe").resolve().name.startswith("java"):
        process = parent_of(process)
    return process


def victims(what: str) -> list[int]:
    """A machine is the worker of a cluster, and what it started."""
    if what == "worker":
        return [os.getpid()]
    return [executor()] if what == "executor" else [parent_of(executor()), executor()]


def kill_once(folder: Path, name: str, what: str) -> None:
    try:
        (folder / f"killed {name}").touch(exist_ok=False)
    except FileExistsError:
        return
    for process in victims(what):
        os.kill(process, signal.SIGKILL)


@dataclass(frozen=True)
class Doomed(Task):
    """Writes all rows into files, and kills what it is told to before and after that, from a record on."""

    inline: int = 0
    kills: tuple[tuple[str, str, int], ...] = ()

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self._kill("before", 0)
        for answer in super().run(batches):
            self.written_rows(answer)
            self._kill("after", answer.column("stop")[0].as_py())
            yield answer

    def _kill(self, when: str, stop: int) -> None:
        for then, what, record in self.kills:
            if then == when and stop >= record:
                kill_once(self.log.parent, f"{what} {when}", what)

    def written_rows(self, answer: pa.RecordBatch) -> None:
        """Its rows are on disk, and nobody was told."""


@dataclass(frozen=True)
class Plain(Doomed):
    """As one would write it who trusts that a task runs once: appends its rows to their tables by itself."""

    def written_rows(self, answer: pa.RecordBatch) -> None:
        for part in map(parts.decode, answer.column("parts")[0].as_py()):
            if part.table in KEPT:
                rows = pa.parquet.read_table(f"{self.storage.table(part.table)}/{part.path}", partitioning=None)
                days = pa.array([part.day] * rows.num_rows).cast(pa.date32())
                write_deltalake(self.storage.opened(part.table), rows.append_column(DAY, days), mode="append")
