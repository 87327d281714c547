"""What Spark decided to send, as records of a topic: by subscription, each with the mark of what it came from."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import KafkaException, Message, Producer

from tocsin.model.delivery import Delivery
from tocsin.store.codec import encode
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import ANSWER_SECONDS, Headers, SharedLogError, answering, producer_of
from tocsin.store.shared.reading import header

SOURCE = "source"  # a header: log, partition, offset, place in the record
_MOST_SOURCES = 48  # partitions of the log whose marks are kept; of a job that is done none is needed


class Mark(NamedTuple):
    """What a delivery came from. In one partition of the outbox those of one source come in this order, and again from
    somewhere on when a task was repeated."""

    source: str
    offset: int
    item: int
    subscription: str


def mark_of(message: Message) -> Mark:
    source, offset, item = header(message, SOURCE).rsplit("/", 2)
    return Mark(source, int(offset), int(item), (message.key() or b"").decode())


class Marks:
    """The last that was taken of each source: what is not behind it was taken before."""

    def __init__(self, last: dict[str, tuple[int, int, str]]) -> None:
        self._last = last

    @classmethod
    def read(cls, text: str) -> "Marks":
        return cls({source: tuple(mark) for source, mark in json.loads(text or "{}").items()})

    def written(self) -> str:
        return json.dumps(self._last, separators=(",", ":"))

    def passes(self, mark: Mark) -> bool:
        place = mark[1:]
        known = self._last.get(mark.source)
        if known is not None and place <= known:
            return False
        self._last.pop(mark.source, None)
        self._last[mark.source] = place
        while len(self._last) > _MOST_SOURCES:
            del self._last[next(iter(self._last))]
        return True


class OutboxWriter:
    """For one task: what it sends is in the topic when it is flushed."""

    def __init__(self, shared: SharedLog) -> None:
        self._shared, self._producer = shared, _producer(shared)
        self._problem: str | None = None

    def send(self, source: str, offset: int, item: int, deliveries: Iterable[Delivery]) -> None:
        """All of one notification."""
        headers: Headers = [(SOURCE, f"{source}/{offset}/{item}".encode())]
        for delivery in sorted(deliveries, key=lambda each: each.match.subscription):
            while True:
                try:
                    self._producer.produce(
                        self._shared.outbox,
                        key=delivery.match.subscription.encode(),
                        value=encode(delivery),
                        headers=headers,
                        on_delivery=self._told,
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        with answering(self._shared):
            left = self._producer.flush(ANSWER_SECONDS * 4)
        if left or self._problem:
            why = self._problem or f"{left} were not taken in time"
            raise SharedLogError(f"the outbox {self._shared.outbox} of {self._shared.shown} did not take all: {why}")

    def _told(self, problem: object, message: Message) -> None:
        del message
        if problem is not None:
            self._problem = str(problem)


_producers: dict[SharedLog, Producer] = {}


def _producer(shared: SharedLog) -> Producer:
    """One for a worker process, which outlives its tasks."""
    if shared not in _producers:
        try:
            _producers[shared] = producer_of(shared, partitioner="murmur2_random")
        except KafkaException as problem:
            raise SharedLogError(f"the shared log {shared.shown} cannot be written: {problem}") from problem
    return _producers[shared]
