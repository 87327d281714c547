"""One task of a batch: runs the hop over its records, writes rows into tables, returns one row of counts."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext

from tocsin.model.delivery import Outcome
from tocsin.model.notification import Notification
from tocsin.pipeline.as_of import SubscriptionState, as_of, frozen
from tocsin.pipeline.hop import Failure, MatchedNotification, RecordResult, decode_outcomes, hop
from tocsin.pipeline.tables import DELIVERIES, ERRORS, HISTORY, KEPT, MATCHES, NOTIFICATIONS, PartWriter, Row
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import encoded
from tocsin.store.places import LOG, OUTCOMES, Places

RECORDS = "records"


@dataclass
class Sink:
    """Counts all that is added, and writes the tables that are asked for."""

    part: PartWriter
    tables: frozenset[str]
    counted: Counter[str] = field(default_factory=Counter)
    by_subscription: Counter[str] = field(default_factory=Counter)

    def add(self, table: str, row: Row, size: int = 0) -> None:
        self.counted[table] += 1
        if table in self.tables:
            self.part.add(table, row, size)

    def add_seen(self, seen: RecordResult) -> None:
        if seen.late:  # the record and its notifications have their rows
            for told in seen.told:
                self._add_matched(told)
            return
        self.counted[RECORDS] += 1
        for failed in seen.failed:
            self._add_failed(LOG, seen.offset, failed)
        for told in seen.told:
            self._add_told(told)

    def add_outcomes(self, offset: int, outcomes: tuple[Outcome, ...] | Failure) -> None:
        self.counted[RECORDS] += 1
        if isinstance(outcomes, Failure):
            self._add_failed(OUTCOMES, offset, outcomes)
            return
        for outcome in outcomes:
            self.add(HISTORY, _history_row(outcome))

    def _add_told(self, told: MatchedNotification) -> None:
        said = told.notification
        self.add(NOTIFICATIONS, _notification_row(said), len(said.payload.data))
        self._add_matched(told)

    def _add_matched(self, told: MatchedNotification) -> None:
        said = told.notification
        for subscription in told.matched:
            self.add(MATCHES, (said.id, *_place(said), subscription.id, said.when // 1_000))
        for delivery in told.deliveries:
            self.add(DELIVERIES, encoded(delivery), len(delivery.body))
        for failed in told.failed:
            self._add_failed(LOG, said.at.offset, failed)
        self.by_subscription.update(each.id for each in told.matched)

    def _add_failed(self, log: str, offset: int, failed: Failure) -> None:
        self.add(ERRORS, (log, offset, failed.subscription, failed.reason))


def _place(value: Notification | Outcome) -> tuple[str, int, int]:
    return value.at.node, value.at.offset, value.index


def _notification_row(said: Notification) -> Row:
    kind = None if said.type is None else str(said.type)
    words = (said.dialect, said.producer, str(said.topic), kind, said.attributes)
    payload = (said.payload.media_type, said.payload.data)
    return (said.id, *_place(said), said.when // 1_000, *words, *payload, said.cause)


def _history_row(outcome: Outcome) -> Row:
    match = outcome.match
    came = (outcome.when // 1_000, outcome.result, outcome.attempt, outcome.detail)
    return (match.notification, match.subscription, *_place(outcome), *came)


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
        with PartWriter(self.data, self.batch, TaskContext.get().partitionId()) as part:
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

    def _standing(self) -> SubscriptionState:
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
