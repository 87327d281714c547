"""The job as a process of its own, as the command line runs it; on request killed, or parts of it.

Beside its arguments the environment says where: MASTER, TABLES; and how many ROWS a batch has.
"""

import functools
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.table import TableOptimizer

from tocsin.pipeline import batch
from tocsin.pipeline.batch import BatchResult
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.run import RunSettings, run
from tocsin.pipeline.session import SparkSettings
from tocsin.pipeline.tables import commits
from tocsin.pipeline.tables.commits import _Table
from tocsin.pipeline.tables.location import located
from tocsin.pipeline.tables.parts import Part
from tocsin.pipeline.tables.schemas import KEPT
from tocsin.store.outbox import Outbox

_publish, _commit, _compact, _work = Outbox.publish, _Table.commit, TableOptimizer.compact, batch.work


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_between(table: DeltaTable, compact: Callable[[], Any]) -> None:
    """After the file that compacting makes, before its commit, which finds its place taken until then."""
    folder = Path(table.table_uri.removeprefix("file://"))
    taken = folder / "_delta_log" / f"{table.version() + 1:020}.json"
    taken.mkdir()
    try:
        compact()
    except CommitFailedError:
        taken.rmdir()
        assert [*folder.glob("day=*/part-*")], "what it made"
        die()


def doomed(later: int) -> None:
    """Tasks kill an executor with the first rows that are written, and a machine of the cluster with later ones."""
    sys.path.append(str(Path(__file__).parents[2]))
    from tests.pipeline.doomed import Doomed

    kills = (("after", "executor", 0), ("after", "machine", later))
    vars(batch)["Task"] = functools.partial(Doomed, kills=kills)


def killed(when: str, at: int) -> None:
    """Around the work on a batch or its publishing; or with part of the tables committed; or around their being
    compacted, or in the middle of that."""

    def work(*words: Any) -> BatchResult:
        if when == "before rows":
            die()
        return _work(*words)

    def publish(self: Outbox, batch: int, *words: Any, **more: Any) -> bool:
        if (when, batch) == ("before", at):
            die()
        fresh = _publish(self, batch, *words, **more)
        if (when, batch) == ("after", at):
            die()
        return fresh

    def commit(self: _Table, found: Sequence[tuple[int, Part]], last: int) -> None:
        if when == "between tables" and last >= at and KEPT.index(self._name) == 1:
            die()
        _commit(self, found, last)

    def compact(self: TableOptimizer, *words: Any, **more: Any) -> Any:
        if when == "before compaction":
            die()
        if when == "during compaction":
            die_between(self.table, lambda: _compact(self, *words, **more))
        done = _compact(self, *words, **more)
        if when == "after compaction":
            die()
        return done

    commits.COMPACT_FILES, vars(batch)["work"] = 2, work
    Outbox.publish, _Table.commit, TableOptimizer.compact = publish, commit, compact  # type: ignore[method-assign]


def main(data: str, parent: str, when: str = "", at: str = "0") -> None:
    if when == "executors":
        doomed(int(at))
    elif when:
        killed(when, int(at))
    conf = (("spark.driver.host", "127.0.0.1"), ("spark.executor.memory", "512m"))
    spark = SparkSettings(os.environ.get("MASTER", "local[2]"), conf)
    rows, storage = int(os.environ.get("ROWS", 10)), located(Path(data), os.environ.get("TABLES"))
    try:
        job = RunSettings(Path(data), spark, rows=rows, parent=int(parent) or None, once=bool(when), storage=storage)
        run(replace(job, commit_seconds=0.2))
    except PipelineError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main(*sys.argv[1:])
