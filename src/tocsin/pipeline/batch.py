"""One batch: tables first, then the outbox and the batch's id in one transaction."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.pipeline import tables
from tocsin.pipeline.source import LOG, OUTCOMES, Offsets
from tocsin.pipeline.tables import DELIVERIES, KEPT
from tocsin.pipeline.task import COUNTS, RESULT, Task
from tocsin.store.codec import decode_delivery
from tocsin.store.outbox import Outbox

TABLES = frozenset(KEPT)
_RESULT = from_arrow_schema(RESULT)


@dataclass(frozen=True)
class Work:
    """What the tasks of a batch did, together."""

    end: Offsets
    counted: Counter[str]
    by_subscription: Counter[str]


def work(frame: DataFrame, task: Task) -> Work:
    """One Spark job. Its answer is small: a row a task."""
    rows = frame.mapInArrow(task.run, _RESULT).toArrow().to_pylist()
    end: Offsets = {}
    counted: Counter[str] = Counter()
    by_subscription: Counter[str] = Counter()
    for row in rows:
        end[row["log"]] = max(row["stop"], end.get(row["log"], 0))
        counted.update({name: row[name] for name in COUNTS})
        by_subscription.update(dict(row["by_subscription"]))
    return Work(end, counted, by_subscription)


def warm_up(spark: SparkSession) -> None:
    """Has the workers started before the first batch needs them."""
    spark.range(1).selectExpr("'log' AS log", "id AS offset", "x'' AS payload").where("offset < 0").mapInArrow(
        Task(Path(), 0, frozenset()).run, _RESULT
    ).toArrow()


@dataclass(frozen=True)
class Done:
    """A published batch. A repeated one was published before, and Spark did not know."""

    id: int
    counted: Counter[str]
    repeated: bool = False


class Batches:
    """What `foreachBatch` calls. A batch killed anywhere on its way and repeated leaves each row once."""

    def __init__(self, data: Path, outbox: Outbox, *, deliver: bool, done: Callable[[Done], None]) -> None:
        self._data, self._outbox, self._done = data, outbox, done
        self._tables = TABLES | {DELIVERIES} if deliver else TABLES
        published = [each for each in outbox.batches() if each.id >= 0]
        self._last = published[-1].id if published else -1
        self._end: Offsets = json.loads(published[-1].end) if published else {LOG: 0, OUTCOMES: 0}

    def __call__(self, frame: DataFrame, batch: int) -> None:
        if batch <= self._last:  # its tables were whole before it was published
            tables.clear(self._data, batch, DELIVERIES)
            self._done(Done(batch, Counter(), repeated=True))
            return
        tables.clear(self._data, batch)
        found = work(frame, Task(self._data, batch, self._tables))
        self._publish(batch, found)
        tables.clear(self._data, batch, DELIVERIES)
        self._done(Done(batch, found.counted))

    def _publish(self, batch: int, found: Work) -> None:
        self._end = self._end | found.end
        deliveries = map(decode_delivery, tables.deliveries(self._data, batch))
        self._outbox.publish(batch, deliveries, rows=found.counted["records"], end=json.dumps(self._end))
        self._last = batch
