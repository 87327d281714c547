"""What one task of a batch does: the hop over its records, rows into tables, and one row back to the driver."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext

from tocsin.pipeline.as_of import Standing, as_of, frozen
from tocsin.pipeline.hop import decode_outcomes, hop
from tocsin.pipeline.part import Part
from tocsin.pipeline.rows import RECORDS, Sink
from tocsin.pipeline.source import LOG
from tocsin.pipeline.tables import DELIVERIES, KEPT
from tocsin.store.log.reader import LogReader
from tocsin.store.places import Places

COUNTS = (RECORDS, *KEPT, DELIVERIES)
RESULT = pa.schema(
    [
        ("log", pa.string()),
        ("stop", pa.int64()),
        *((name, pa.int64()) for name in COUNTS),
        ("by_subscription", pa.map_(pa.string(), pa.int64())),
    ]
)
Frames = Iterator[tuple[int, bytes]]


@dataclass(frozen=True)
class Task:
    """A function for `mapInArrow` with all it needs; it travels to the workers.

    `tables` are those to write; with `customise` what would be sent is made too. `frozen_at` is for a replay that asks
    what the subscriptions as of that record would get.
    """

    data: Path
    batch: int
    tables: frozenset[str]
    customise: bool = False
    frozen_at: int | None = None
    by_subscription: bool = False

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A task's records are of one log and in order."""
        first = next(batches, None)
        if first is None or not first.num_rows:
            return
        log = first.column(0)[0].as_py()
        with Part(self.data, self.batch, TaskContext.get().partitionId()) as part:
            sink = Sink(part, self.tables)
            stop = self._keep(log, _frames(first, batches), sink)
        yield self._result(log, stop, sink)

    def _keep(self, log: str, frames: Frames, sink: Sink) -> int:
        offset = -1
        if log == LOG:
            with closing(LogReader(Places(self.data).log(LOG))) as reader:
                for seen in hop(frames, self._standing(), customise=self.customise, log=reader):
                    sink.add_seen(seen)
                    offset = seen.offset
        else:
            for offset, payload in frames:
                sink.add_outcomes(offset, decode_outcomes(payload))
        return offset + 1

    def _standing(self) -> Standing:
        return as_of(self.data) if self.frozen_at is None else frozen(self.data, self.frozen_at)

    def _result(self, log: str, stop: int, sink: Sink) -> pa.RecordBatch:
        counted = {name: sink.counted[name] for name in COUNTS}
        by_subscription = list(sink.by_subscription.items()) if self.by_subscription else []
        row = {"log": log, "stop": stop, **counted, "by_subscription": by_subscription}
        return pa.RecordBatch.from_pylist([row], schema=RESULT)


def _frames(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Frames:
    batch: pa.RecordBatch | None = first
    while batch is not None:
        yield from zip(batch.column(1).to_pylist(), batch.column(2).to_pylist(), strict=True)
        batch = next(rest, None)
