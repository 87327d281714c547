"""Publishes one batch: its tables first, then the outbox and the batch's id in one transaction."""

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.pipeline import tables
from tocsin.pipeline.as_of import keep_up
from tocsin.pipeline.errors import OutOfStep
from tocsin.pipeline.source import Offsets
from tocsin.pipeline.tables import DELIVERIES, KEPT
from tocsin.pipeline.task import COUNTS, RESULT, Task
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES

_RESULT = from_arrow_schema(RESULT)


@dataclass(frozen=True)
class BatchResult:
    """What all tasks of a batch counted."""

    end: Offsets
    counted: Counter[str]
    by_subscription: Counter[str]


def work(frame: DataFrame, task: Task) -> BatchResult:
    """One Spark job. Its answer is small: a row a task."""
    rows = frame.mapInArrow(task.run, _RESULT).toArrow().to_pylist()
    end: Offsets = {}
    counted: Counter[str] = Counter()
    by_subscription: Counter[str] = Counter()
    for row in rows:
        end[row["log"]] = max(row["stop"], end.get(row["log"], 0))
        counted.update({name: row[name] for name in COUNTS})
        by_subscription.update(dict(row["by_subscription"]))
    return BatchResult(end, counted, by_subscription)


def warm_up(spark: SparkSession) -> None:
    """Has the workers started before the first batch needs them."""
    nothing = spark.range(1).selectExpr("'' AS log", "id AS offset", "x'' AS payload").where("offset < 0")
    with suppress(Exception):  # the first batch will say what is wrong
        work(nothing, Task(Path(), 0, frozenset()))


def publish(outbox: Outbox, data: Path, batch: int, found: BatchResult, end: Offsets) -> bool:
    """False when the batch was published before. What the tasks left for the outbox is gone afterwards."""
    count = tables.count(data, DELIVERIES, {batch})
    if count != found.counted[DELIVERIES]:
        raise OutOfStep(f"batch {batch} has {found.counted[DELIVERIES]} deliveries, but {count} of them on disk")
    fresh = outbox.publish(batch, tables.deliveries(data, batch), rows=found.counted["records"], end=json.dumps(end))
    tables.clear(data, batch, DELIVERIES)
    return fresh


@dataclass(frozen=True)
class PublishedBatch:
    """A published batch; `repeated` if it had been published before and Spark did not know."""

    id: int
    counted: Counter[str]
    seconds: float
    repeated: bool


class Batches:
    """The function for `foreachBatch`. A batch that is killed anywhere and repeated leaves each row once."""

    def __init__(self, data: Path, outbox: Outbox, *, deliver: bool, done: Callable[[PublishedBatch], None]) -> None:
        self._data, self._outbox, self._done = data, outbox, done
        self._deliver = deliver
        self.busy = Lock()  # free between two batches
        published = [each for each in outbox.batches() if each.id >= 0]
        self._last = published[-1].id if published else -1
        self._end: Offsets = json.loads(published[-1].end) if published else {LOG: 0, OUTCOMES: 0}

    def __call__(self, frame: DataFrame, batch: int) -> None:
        with self.busy:
            began = time.monotonic()
            repeated = batch <= self._last
            counted = self._clear(batch) if repeated else self._process(frame, batch)
            self._done(PublishedBatch(batch, counted, time.monotonic() - began, repeated))

    def _clear(self, batch: int) -> Counter[str]:
        """Its tables were whole before it was published."""
        tables.clear(self._data, batch, DELIVERIES)
        return Counter()

    def _process(self, frame: DataFrame, batch: int) -> Counter[str]:
        tables.clear(self._data, batch)
        keep_up(self._data, self._end[LOG])
        written = frozenset((*KEPT, DELIVERIES) if self._deliver else KEPT)
        found = work(frame, Task(self._data, batch, written, customise=self._deliver))
        self._end = self._end | found.end
        publish(self._outbox, self._data, batch, found, self._end)
        self._last = batch
        return found.counted
