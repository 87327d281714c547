"""Takes what Spark decided to send from the log that nodes share into this node's outbox, each once."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tocsin.broker.shared.worker import Worker
from tocsin.store.blocks import Block, single
from tocsin.store.errors import StoreError
from tocsin.store.outbox import Outbox, Taken
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import ANSWER_SECONDS, bounds, consumer_of
from tocsin.store.shared.outbox_topic import Marks, mark_of

_LOOK_SECONDS = 0.05
_PAGE = 2_000
_PAUSE = 1.0
_MOST_METADATA = 4_000  # bytes that Kafka keeps beside a cursor


class Inbox:
    """Nodes divide the partitions among themselves. What a node has taken it sends, also when a partition goes to
    another; that one goes on behind it."""

    def __init__(self, shared: SharedLog, outbox: Outbox, report: Callable[[str], None]) -> None:
        self._shared, self._outbox = shared, outbox
        self._marks: dict[int, Marks] = {}
        self._worker = Worker("inbox", self._run, report)

    def start(self) -> None:
        self._worker.start()

    async def close(self) -> None:
        await self._worker.close()

    def _run(self) -> None:
        consumer = consumer_of(self._shared, "senders", **{"session.timeout.ms": 10_000})
        consumer.subscribe([self._shared.outbox], on_assign=self._assigned)
        while not self._worker.stopped.is_set():
            try:
                self._take(consumer, [each for each in consumer.consume(_PAGE, _LOOK_SECONDS) if _is_record(each)])
                self._worker.trouble("")
            except (StoreError, KafkaException) as problem:
                self._worker.trouble(f"what is to be sent waits: {problem}")
                self._worker.stopped.wait(_PAUSE)
                self._go_back(consumer)
        consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Where this node has stopped, or another that had the partition since: whoever is further."""
        kept = {each.partition: each for each in consumer.committed(partitions, timeout=ANSWER_SECONDS)}
        begun = []
        for each in partitions:
            here = self._outbox.taken(each.partition)
            there = kept[each.partition]
            further = Taken(there.offset, there.metadata or "") if there.offset >= 0 else Taken(0)
            last = max(here, further, key=lambda one: one.stop)
            self._marks[each.partition] = Marks.read(last.marks)
            low, _ = bounds(consumer, each.topic, each.partition)
            begun.append(TopicPartition(each.topic, each.partition, max(last.stop, low)))
        consumer.assign(begun)

    def _take(self, consumer: Consumer, page: Sequence[Message]) -> None:
        fresh: list[Block] = []
        stops: dict[int, int] = {}
        for message in page:
            partition, value = int(message.partition() or 0), message.value() or b""
            if self._marks.setdefault(partition, Marks({})).passes(mark_of(message)):
                fresh.append(single((message.key() or b"").decode(), value))
            stops[partition] = int(message.offset() or 0) + 1
        if not stops:
            return
        taken = {each: Taken(stop, self._marks[each].written()) for each, stop in stops.items()}
        self._outbox.take(fresh, taken)
        cursors = [
            TopicPartition(self._shared.outbox, each, one.stop, one.marks if len(one.marks) < _MOST_METADATA else "")
            for each, one in taken.items()
        ]
        with suppress(KafkaException):  # the partition went to another meanwhile, which may send some again
            consumer.commit(offsets=cursors, asynchronous=False)

    def _go_back(self, consumer: Consumer) -> None:
        """To what the outbox has: what was read and could not be kept is read again."""
        with suppress(KafkaException):
            self._assigned(consumer, consumer.assignment())


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise StoreError(f"{message.topic()}: {error.str()}; what was to be sent was removed before it was taken")
    return error is None
