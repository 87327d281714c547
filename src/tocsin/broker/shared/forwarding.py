"""Forwards what this node accepted, and what came of its deliveries, to the log that nodes share: each once."""

from collections import deque
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from zlib import crc32

from confluent_kafka import Producer, TopicPartition

from tocsin.broker.journal import Arrival, Follower
from tocsin.broker.shared.worker import Worker
from tocsin.model.identity import Node
from tocsin.model.records import Changed, Declared
from tocsin.store.errors import StoreError
from tocsin.store.log.reader import LogReader
from tocsin.store.past import Past
from tocsin.store.places import LOG, OUTCOMES, Places
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import ANSWER_SECONDS, Headers, answering, consumer_of, partitions_of
from tocsin.store.shared.reading import MEETS
from tocsin.store.shared.transactions import Transactions

_LOOK_SECONDS = 0.05
_PAUSE = 1.0
_PAGE, _PAGE_BYTES = 2_000, 8 << 20


class Forwarding:
    """A follower of the node's log, whose cursor is kept in Kafka: in the transaction that writes the records.

    Records of one producer go to one partition, in their order.
    """

    def __init__(
        self, shared: SharedLog, node: Node, places: Places, past: Past, report: Callable[[str], None]
    ) -> None:
        self._shared, self._places = shared, places
        self._transactions = Transactions(shared, f"{node}.records")
        self._cursors = consumer_of(shared, f"{node}.records")
        with answering(shared):
            self._partitions = {
                each: len(partitions_of(self._cursors, each)) for each in (shared.notifications, shared.outcomes)
            }
            self.forwarded = self._read_cursors()
        self._meets = past.shared(self.forwarded[LOG])
        self._waiting: deque[tuple[int, int, int]] = deque()  # offset, hash of the producer, what it meets
        self._worker = Worker("forwarding", self._run, report)

    def follower(self) -> Follower:
        return Follower(self._changed, self._declared, self._accepted, since=self.forwarded[LOG])

    def behind(self) -> int:
        """Records that are accepted and not forwarded yet."""
        return len(self._waiting)

    def start(self) -> None:
        self._worker.start()

    async def close(self) -> None:
        """What is on disk and not forwarded yet is when the node is started again."""
        await self._worker.close()

    def _changed(self, change: Changed) -> None:
        self._meets = self._meets if change.shared is None else change.shared + 1

    def _declared(self, declared: Declared) -> None:
        self._meets = self._meets if declared.shared is None else declared.shared + 1

    def _accepted(self, arrived: Arrival) -> None:
        producer = arrived.notifications[0].producer if arrived.notifications else ""
        self._waiting.append((arrived.offset, crc32(producer.encode()), self._meets))

    def _read_cursors(self) -> dict[str, int]:
        """What was begun under this node's name before is over when the transactions are open."""
        self._transactions.open()
        kept = self._cursors.committed(self._places_of((0, 0)), timeout=ANSWER_SECONDS)
        return {LOG: max(0, kept[0].offset), OUTCOMES: max(0, kept[1].offset)}

    def _resume(self) -> None:
        """Where Kafka has it: what nobody heard of may have been committed."""
        with answering(self._shared):
            self.forwarded = self._read_cursors()
        while self._waiting and self._waiting[0][0] < self.forwarded[LOG]:
            self._waiting.popleft()

    def _run(self) -> None:
        failed, stopped = False, self._worker.stopped
        with closing(LogReader(self._places.log(LOG))) as log, closing(LogReader(self._places.log(OUTCOMES))) as done:
            while not stopped.is_set():
                try:
                    if failed:
                        self._resume()
                    busy, failed = self._forward(log, done), False
                    self._worker.trouble("")
                except StoreError as problem:
                    busy, failed = False, True
                    self._worker.trouble(f"forwarding waits: {problem}")
                if not busy:
                    stopped.wait(_PAUSE if failed else _LOOK_SECONDS)

    def _forward(self, log: LogReader, done: LogReader) -> bool:
        """One transaction; whether there was anything."""
        first = list(islice(self._waiting, _PAGE))
        records = _page(log, first[0][0], first[-1][0] + 1) if first else []
        kept = dict(records)
        page = [each for each in first if each[0] in kept]
        outcomes = _page(done, self.forwarded[OUTCOMES], self.forwarded[OUTCOMES] + _PAGE)
        if not page and not outcomes:
            return False
        stop = (
            page[-1][0] + 1 if page else self.forwarded[LOG],
            outcomes[-1][0] + 1 if outcomes else self.forwarded[OUTCOMES],
        )

        def produce(producer: Producer) -> None:
            topic, count = self._shared.notifications, self._partitions[self._shared.notifications]
            for offset, key, meets in page:
                headers: Headers = [(MEETS, str(meets).encode())]
                producer.produce(topic, value=kept[offset], headers=headers, partition=key % count)
            for offset, payload in outcomes:
                of_outcomes = offset % self._partitions[self._shared.outcomes]
                producer.produce(self._shared.outcomes, value=payload, partition=of_outcomes)
            group = self._cursors.consumer_group_metadata()
            producer.send_offsets_to_transaction(self._places_of(stop), group, ANSWER_SECONDS)

        self._transactions.write(produce)
        for _ in page:
            self._waiting.popleft()
        self.forwarded = {LOG: stop[0], OUTCOMES: stop[1]}
        return True

    def _places_of(self, cursors: tuple[int, int]) -> list[TopicPartition]:
        """Kafka keeps cursors by partition; these are of our logs, under the first of each topic."""
        topics = (self._shared.notifications, self._shared.outcomes)
        return [TopicPartition(topic, 0, cursor) for topic, cursor in zip(topics, cursors, strict=True)]


def _page(log: LogReader, start: int, stop: int) -> list[tuple[int, bytes]]:
    found, size = [], 0
    for offset, payload in log.kept_frames(start, stop):
        found.append((offset, payload))
        size += len(payload)
        if size > _PAGE_BYTES:
            break
    return found
