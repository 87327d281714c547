"""Reads a range of one partition, once and to its end."""

import time
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import SharedLogError, answering, bounds, reader

MEETS = "meets"  # a header: how many of the shared changes its node had applied when it accepted a record
PATIENCE = 60.0  # in seconds, without anything new
_PAGE = 1_000
_LOOK_SECONDS = 0.02


def read_range(shared: SharedLog, topic: str, partition: int, start: int, stop: int) -> Iterator[Message]:
    """The records from `start` up to `stop`, in order. Offsets have gaps: the marks of transactions take some."""
    if start >= stop:
        return
    consumer = reader(shared)
    with answering(shared):
        low, _ = bounds(consumer, topic, partition)
        if low > start:
            raise truncated(shared, topic, partition, start, low)
        consumer.assign([TopicPartition(topic, partition, start)])
        heard = time.monotonic()
        while True:
            for message in consumer.consume(_PAGE, _LOOK_SECONDS):
                heard = time.monotonic()
                if message.error() is None and int(message.offset() or 0) < stop:
                    yield message
                if _reached(message, shared, stop):
                    consumer.unassign()
                    return
            if time.monotonic() - heard > PATIENCE:
                raise SharedLogError(
                    f"{topic} of {shared.shown} gave nothing of partition {partition} between {start} and {stop} for"
                    f" {PATIENCE:.0f} s: see whether its brokers are well, and start again"
                )


def _reached(message: Message, shared: SharedLog, stop: int) -> bool:
    error = message.error()
    if error is None:
        return int(message.offset() or 0) >= stop - 1
    if error.code() == KafkaError._PARTITION_EOF:
        return int(message.offset() or 0) >= stop
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise SharedLogError(f"{shared.shown}: what was to be read is gone: {error.str()}; its topic was truncated")
    if not error.retriable() and error.fatal():
        raise KafkaException(error)
    return False


def truncated(shared: SharedLog, topic: str, partition: int, start: int, low: int) -> SharedLogError:
    return SharedLogError(
        f"{topic} of {shared.shown} begins at record {low} of partition {partition}, but {start} is to be read next:"
        " the topic was truncated before it was read. Restore it from a backup; or, to go on without what is lost,"
        " give the job a new data directory"
    )


def header(message: Message, name: str) -> str:
    found = dict(message.headers() or ()).get(name)
    return found.decode() if isinstance(found, bytes) else found or ""
