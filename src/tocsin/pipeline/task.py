"""One task of a batch: runs the hop over its records, writes rows into tables, returns one row of counts."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec.structs import replace

from tocsin.model.delivery import Outcome
from tocsin.model.notification import Notification
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import neighbour_of
from tocsin.pipeline.hop import Failure, MatchedNotification, RecordResult, decode_outcomes, hop, shared_hop
from tocsin.pipeline.source import log_named
from tocsin.pipeline.state.published import Published
from tocsin.pipeline.state.standing import standing
from tocsin.pipeline.tables.parts import INLINE_BYTES, Part, PartWriter, Row, encode
from tocsin.pipeline.tables.schemas import ASKED, DELIVERIES, HISTORY, KEPT, MATCHES, NOTIFICATIONS, QUARANTINE, REPLIES
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.blocks import Block, BlockWriter
from tocsin.store.log.reader import LogReader
from tocsin.store.places import LOG, OUTCOMES
from tocsin.store.shared.address import SharedLog

if TYPE_CHECKING:
    from tocsin.store.shared.outbox_topic import OutboxWriter

RECORDS = "records"


@dataclass
class Sink:
    """Counts all that is added, and writes the tables that are asked for."""

    part: PartWriter
    tables: frozenset[str]
    now: int  # in microseconds
    snapshot: str | None = None
    outbox: "OutboxWriter | None" = None  # where deliveries go, if not into rows
    source: str = LOG
    node: str | None = None  # whose log that is
    sent_as: str = ""
    counted: Counter[str] = field(default_factory=Counter)
    by_subscription: Counter[str] = field(default_factory=Counter)
    blocks: BlockWriter = field(default_factory=BlockWriter)

    def add(self, table: str, row: Row, offset: int, time: int, size: int = 0) -> None:
        self.counted[table] += 1
        if table in self.tables:
            self.part.add(table, (row,), offset, time, size)

    def add_seen(self, seen: RecordResult) -> None:
        if not seen.late:  # else the record and its notifications have their rows
            self.counted[RECORDS] += 1
            for failed in seen.failed:
                self._add_failed(seen.offset, failed)
        for told in seen.told:
            said = told.notification
            if not seen.late:
                self.add(
                    NOTIFICATIONS, notification_row(said), said.at.offset, said.when // 1_000, len(said.payload.data)
                )
                if said.reply is not None:
                    self.add(ASKED, _asked_row(told, said.reply), said.at.offset, said.when // 1_000)
            self.add_matched(told)

    def add_outcomes(self, offset: int, outcomes: tuple[Outcome, ...] | Failure) -> None:
        self.counted[RECORDS] += 1
        if isinstance(outcomes, Failure):
            self._add_failed(offset, outcomes)
            return
        for outcome in outcomes:
            if outcome.result == "replied":  # no attempt to deliver
                self.add(REPLIES, _reply_row(outcome), outcome.at.offset, outcome.when // 1_000)
            else:
                self.add(HISTORY, _history_row(outcome), outcome.at.offset, outcome.when // 1_000)

    def add_matched(self, told: MatchedNotification) -> None:
        said = told.notification
        offset, time = said.at.offset, said.when // 1_000
        self.counted[MATCHES] += len(told.matched)
        if told.matched and MATCHES in self.tables:
            which, decided = (said.id, *_place(said)), (self.snapshot, time)
            self.part.add(MATCHES, [(*which, each.id, *decided) for each in told.matched], offset, time)
        deliveries = told.deliveries
        if self.snapshot is not None:
            deliveries = tuple(replace(each, snapshot=self.snapshot) for each in deliveries)
        self.counted[DELIVERIES] += len(deliveries)
        if self.outbox is not None:
            self.outbox.send(f"{self.sent_as}{self.source}/{said.at.node}", offset, said.index, deliveries)
        elif DELIVERIES in self.tables:
            self._leave(self.blocks.add(deliveries))
        for failed in told.failed:
            self._add_failed(offset, failed)
        self.by_subscription.update(each.id for each in told.matched)

    def finished(self) -> list[Part]:
        """When all is added."""
        self._leave(self.blocks.rest())
        return self.part.parts()

    def _leave(self, blocks: Iterable[Block]) -> None:
        for each in blocks:
            self.part.add(DELIVERIES, (each,), 0, 0, len(each.data))

    def _add_failed(self, offset: int, failed: Failure) -> None:
        row = (self.source, offset, failed.subscription, self.now, failed.reason, failed.record, failed.item, self.node)
        self.add(QUARANTINE, row, offset, self.now, len(failed.record or b""))


def _place(value: Notification | Outcome) -> tuple[str, int, int]:
    return value.at.node, value.at.offset, value.index


def notification_row(said: Notification) -> Row:
    kind = None if said.type is None else str(said.type)
    words = (said.dialect, said.producer, str(said.topic), kind, said.attributes)
    payload = (said.payload.media_type, said.payload.data)
    return (said.id, *_place(said), said.when // 1_000, *words, *payload, said.cause, *_way(said))


def _way(said: Notification) -> tuple[str, str, int, tuple[str, ...]]:
    """Where it came in, where it was matched, and how it went from the one to the other."""
    here, way = said.at.node, said.way
    return (here, here, 0, ()) if way is None else (way.origin, here, way.hops, way.path)


def _history_row(outcome: Outcome) -> Row:
    match = outcome.match
    came = (outcome.when // 1_000, outcome.result, outcome.attempt, outcome.detail, outcome.snapshot)
    return (match.notification, match.subscription, *_place(outcome), *came)


def _asked_row(told: MatchedNotification, request: ReplyRequest) -> Row:
    said, receiver = told.notification, told.pull_point or told.notification.addressee or None
    asks = (str(said.topic), request.view, request.type, request.until // 1_000)
    reached = receiver is None or told.pull_point is not None or bool(told.matched)
    passed_on = [each.id for each in told.matched if neighbour_of(each) is not None]
    return (said.id, *_place(said), said.when // 1_000, *asks, receiver, reached, passed_on)


def _reply_row(outcome: Outcome) -> Row:
    match = outcome.match
    return (match.notification, match.subscription, *_place(outcome), outcome.when // 1_000, outcome.detail)


COUNTS = (RECORDS, *KEPT, DELIVERIES)
RESULT = pa.schema(
    [
        ("log", pa.string()),
        ("stop", pa.int64()),
        ("meets", pa.int64()),  # the least of its records
        *((name, pa.int64()) for name in COUNTS),
        ("by_subscription", pa.map_(pa.string(), pa.int64())),
        ("parts", pa.list_(pa.binary())),
    ]
)
Frames = Iterator[tuple[int, int, bytes]]  # offset, what it meets, payload


@dataclass(frozen=True)
class Met:
    """What records of one node meet: `state` is what the driver published of subscriptions and declarations, and all
    that a task knows of them; in `log` a subscription finds what was before it."""

    log: Path
    state: Published


@dataclass(frozen=True)
class Task:
    """A function for `mapInArrow` with all it needs; it travels to the workers.

    `tables` are those to write; with `customise` what would be sent is made too. Records meet what is their node's own:
    `log` and `state` are those of the first data directory, `others` those of nodes that are read beside it, by name.
    """

    log: Path
    storage: Storage
    state: Published
    tables: frozenset[str]
    customise: bool = False
    by_subscription: bool = False
    written: Storage | None = None  # where rows go, if not beside the state
    inline: int = INLINE_BYTES
    shared: SharedLog | None = None  # in place of the log
    sent_as: str = ""  # what a job that is none of the stream's puts before the marks of what it sends
    others: Mapping[str, Met] = field(default_factory=dict)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A task's records are of one log and in order."""
        first = next(batches, None)
        if first is None or not first.num_rows:
            return
        log, partition, meets = (first.column(name)[0].as_py() for name in ("log", "partition", "meets"))
        writer, state = PartWriter(self.written or self.storage, self.inline), self._met(log).state
        sink = Sink(writer, self.tables, time.time_ns() // 1_000, state.digest, node=state.node or None)
        if self.shared is None:
            sink.source, _ = log_named(log)
            stop = self._keep(log, _frames(first, batches), sink)
        else:
            log = sink.source = f"{log}/{partition}"
            stop, meets = self._keep_shared(log, list(_frames(first, batches)), sink)
        yield self._result(log, stop, meets, sink, sink.finished())

    def _met(self, log: str) -> Met:
        _, node = log_named(log)
        return self.others[node] if node else Met(self.log, self.state)

    def _keep(self, log: str, frames: Frames, sink: Sink) -> int:
        offset, own = -1, self._met(log)
        if log_named(log)[0] == LOG:
            met, records = standing(self.storage, own.state), ((offset, payload) for offset, _, payload in frames)
            with closing(LogReader(own.log)) as reader:
                for seen in hop(records, met, customise=self.customise, log=reader):
                    sink.add_seen(seen)
                    offset = seen.offset
        else:
            for offset, _, payload in frames:
                sink.add_outcomes(offset, decode_outcomes(payload))
        return offset + 1

    def _keep_shared(self, log: str, frames: Sequence[tuple[int, int, bytes]], sink: Sink) -> tuple[int, int]:
        """Deliveries are in the shared outbox when this returns."""
        if log_named(log)[0] == OUTCOMES:
            return self._keep(OUTCOMES, iter(frames), sink), 0
        assert self.shared is not None
        if DELIVERIES in self.tables:
            sink.outbox, sink.sent_as = _outbox_writer(self.shared), self.sent_as
        for seen in shared_hop(frames, standing(self.storage, self.state), customise=self.customise):
            sink.add_seen(seen)
        if sink.outbox is not None:
            sink.outbox.flush()
        return frames[-1][0] + 1, min(meets for _, meets, _ in frames)

    def _result(self, log: str, stop: int, meets: int, sink: Sink, parts: list[Part]) -> pa.RecordBatch:
        counted = {name: sink.counted[name] for name in COUNTS}
        by_subscription = list(sink.by_subscription.items()) if self.by_subscription else []
        written = [encode(each) for each in parts]
        row = {
            "log": log,
            "stop": stop,
            "meets": meets,
            **counted,
            "by_subscription": by_subscription,
            "parts": written,
        }
        return pa.RecordBatch.from_pylist([row], schema=RESULT)


def _frames(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Frames:
    batch: pa.RecordBatch | None = first
    while batch is not None:
        yield from zip(*(batch.column(name).to_pylist() for name in ("offset", "meets", "payload")), strict=True)
        batch = next(rest, None)


def _outbox_writer(shared: SharedLog) -> "OutboxWriter":
    from tocsin.store.shared.outbox_topic import OutboxWriter

    return OutboxWriter(shared)
