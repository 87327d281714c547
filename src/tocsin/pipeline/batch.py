"""Publishes one batch: what goes to the outbox, what is staged for the tables and the batch's id in one transaction."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.pipeline.nodes import Others
from tocsin.pipeline.source import Offsets
from tocsin.pipeline.state.published import Published
from tocsin.pipeline.state.publisher import StatePublisher
from tocsin.pipeline.state.standing import EARLIER
from tocsin.pipeline.tables import parts
from tocsin.pipeline.tables.parts import Part
from tocsin.pipeline.tables.schemas import DELIVERIES, KEPT
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import COUNTS, RESULT, Task
from tocsin.store.blocks import Block
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places
from tocsin.store.shared.address import SharedLog

MEETS = "meets"  # beside the offsets of a batch: from which change on the next one's state is published
_RESULT = from_arrow_schema(RESULT)


@dataclass(frozen=True)
class BatchResult:
    """What all tasks of a batch counted, and the rows they made, in the order of the log."""

    end: Offsets
    counted: Counter[str]
    by_subscription: Counter[str]
    parts: Sequence[Part]
    meets: int = 0  # the least of changes that a record of a shared log met


def work(frame: DataFrame, task: Task) -> BatchResult:
    """One Spark job. Its answer is small: a row a task, with no more than a few rows of tables."""
    end: Offsets = {}
    counted: Counter[str] = Counter()
    by_subscription: Counter[str] = Counter()
    made: list[Part] = []
    meets: list[int] = []
    for row in frame.mapInArrow(task.run, _RESULT).toArrow().to_pylist():
        end[row["log"]] = max(row["stop"], end.get(row["log"], 0))
        counted.update({name: row[name] for name in COUNTS})
        by_subscription.update(dict(row["by_subscription"]))
        made += map(parts.decode, row["parts"])
        meets += [row["meets"]] if row["log"].startswith(LOG) else []
    return BatchResult(end, counted, by_subscription, made, min(meets, default=0))


def warm_up(spark: SparkSession) -> None:
    """Has the workers started before the first batch needs them."""
    nothing = spark.range(1).selectExpr("'' AS log", "0 AS partition", "id AS offset", "id AS meets", "x'' AS payload")
    with suppress(Exception):  # the first batch will say what is wrong
        work(nothing.where("offset < 0"), Task(Path(), Storage(""), Published("", 0, ""), frozenset()))


def publish(outbox: Outbox, storage: Storage, batch: int, found: BatchResult, end: Offsets) -> bool:
    """False when the batch was published before. What the tasks left for the outbox is gone afterwards."""
    for_outbox = [each for each in found.parts if each.table == DELIVERIES]
    fresh = outbox.publish(
        batch,
        (block for part in for_outbox for block in _blocks(storage, part)),
        rows=found.counted["records"],
        end=json.dumps(end),
        staged=(parts.encode(each) for each in found.parts if each.table != DELIVERIES),
    )
    for part in for_outbox:
        if part.path:
            storage.files(DELIVERIES).delete_file(part.path)
    return fresh


def _blocks(storage: Storage, part: Part) -> Iterator[Block]:
    for rows in parts.rows_of(storage, part):
        yield from map(Block, *(column.to_pylist() for column in rows.columns))


def _beginning(data: Path) -> Offsets:
    """Of a first batch: what retention has taken by now it does not read, and need not be as of."""
    with closing(LogReader(Places(data).log())) as log:
        return {LOG: log.start(), OUTCOMES: 0}


@dataclass(frozen=True)
class PublishedBatch:
    """A published batch; `repeated` if it had been published before and Spark did not know."""

    id: int
    counted: Counter[str]
    seconds: float
    repeated: bool


class Batches:
    """The function for `foreachBatch`. A batch that is killed anywhere and repeated leaves each row once."""

    def __init__(
        self,
        data: Path,
        storage: Storage,
        outbox: Outbox,
        state: StatePublisher,
        others: Others,
        *,
        deliver: bool,
        shared: SharedLog | None = None,
        done: Callable[[PublishedBatch], None],
    ) -> None:
        self._data, self._storage, self._outbox, self._state, self._done = data, storage, outbox, state, done
        self._deliver, self._shared, self._others = deliver, shared, others
        self.busy = Lock()  # free between two batches
        published = [each for each in outbox.batches() if each.id >= 0]
        self.last = published[-1].id if published else -1
        self._end: Offsets = json.loads(published[-1].end) if published else _beginning(data)

    def __call__(self, frame: DataFrame, batch: int) -> None:
        with self.busy:
            began = time.monotonic()
            repeated = batch <= self.last
            counted = Counter[str]() if repeated else self._process(frame, batch)
            self._done(PublishedBatch(batch, counted, time.monotonic() - began, repeated))

    def look(self) -> None:
        """For nodes that are to be read as well, and were not there."""
        self._others.look()

    def _process(self, frame: DataFrame, batch: int) -> Counter[str]:
        if self._shared is None:
            found = self._work(frame, self._end[LOG])
            self._end = self._end | found.end
        else:
            met = self._end.get(MEETS, 0)
            found = self._work_shared(frame, met)
            self._end = self._end | found.end | {MEETS: found.meets or met}
        publish(self._outbox, self._storage, batch, found, self._end)
        self._others.reached(self._end)
        self.last = batch
        return found.counted

    def _work(self, frame: DataFrame, start: int) -> BatchResult:
        written = frozenset((*KEPT, DELIVERIES) if self._deliver else KEPT)
        state, others = self._state.publish(start), self._others.met(self._end)
        log, customise = Places(self._data).log(), self._deliver
        task = Task(log, self._storage, state, written, customise=customise, shared=self._shared, others=others)
        return work(frame, task)

    def _work_shared(self, frame: DataFrame, start: int) -> BatchResult:
        """Records meet about what those of the batch before met. One of a node that was behind may meet less: then all
        of it is done again from the first change on, and what was sent before is known to who sends."""
        try:
            return self._work(frame, start)
        except Exception as problem:
            if not start or EARLIER not in str(problem):
                raise
            return self._work(frame, 0)
