"""How a shared log is reached: clients of Kafka, its topics, and what it could not do as a sentence."""

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tocsin.store.errors import StoreError
from tocsin.store.shared.address import SharedLog

ANSWER_SECONDS = 15.0
PARTITIONS = 8
FOREVER = {"retention.ms": "-1", "retention.bytes": "-1"}
MOST_BYTES = 64 << 20  # of a record; Kafka's own default is 1 MB, less than a large request makes
_MADE_ALREADY = KafkaError.TOPIC_ALREADY_EXISTS
Headers = list[tuple[str, str | bytes | None]]
# What is told to people comes as an error of the call; librdkafka would say it on standard error as well.
_QUIET: dict[str, Any] = {"log_level": 0, "error_cb": lambda _: None}


class SharedLogError(StoreError):
    """The shared log cannot be used as it is; the text says why and what to do."""


def client(shared: SharedLog, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"bootstrap.servers": shared.brokers, **_QUIET, **dict(shared.options), **more}


def consumer_of(shared: SharedLog, group: str, **more: Any) -> Consumer:
    """Reads what is committed; says where a partition ends, and when what was to be read is gone."""
    settings = {
        "group.id": f"{shared.prefix}.{group}",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 50,
    }
    return Consumer(client(shared, settings | more))


def producer_of(shared: SharedLog, **more: Any) -> Producer:
    settings = {"enable.idempotence": True, "linger.ms": 5, "compression.type": "lz4", "message.max.bytes": MOST_BYTES}
    return Producer(client(shared, settings | more))


@contextmanager
def answering(shared: SharedLog) -> Iterator[None]:
    """What Kafka could not do, in a sentence."""
    try:
        yield
    except KafkaException as problem:
        raise SharedLogError(f"the shared log {shared.shown} does not answer: {reason_of(problem)}") from problem


def reason_of(problem: KafkaException) -> str:
    error = problem.args[0]
    return str(error.str() if isinstance(error, KafkaError) else error)


def make_topics(shared: SharedLog, partitions: int = PARTITIONS) -> None:
    """Those that are missing, replicated as the cluster does by default. Changes are kept for good: who comes later
    reads them all."""
    with answering(shared):
        admin = AdminClient(client(shared, {}))
        there = admin.list_topics(timeout=ANSWER_SECONDS).topics
        large, many = {"max.message.bytes": str(MOST_BYTES)}, (shared.notifications, shared.outcomes, shared.outbox)
        wanted = [NewTopic(shared.changes, 1, -1, config=FOREVER | large)]
        wanted += [NewTopic(each, partitions, -1, config=large) for each in many]
        missing = [each for each in wanted if each.topic not in there]
        for made in admin.create_topics(missing).values() if missing else ():
            try:
                made.result()
            except KafkaException as problem:
                if problem.args[0].code() != _MADE_ALREADY:
                    raise
    if shared.changes in there and len(there[shared.changes].partitions) != 1:
        raise SharedLogError(f"the topic {shared.changes} must have one partition, to be one order; it has more")


def partitions_of(consumer: Consumer, topic: str) -> list[int]:
    found = consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


def bounds(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """The first record that is kept, and the one after the last that is committed."""
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ANSWER_SECONDS)
    return int(low), int(high)


@functools.lru_cache(maxsize=4)
def reader(shared: SharedLog) -> Consumer:
    """One for a process and shared log, to be assigned what is read next: connecting costs more than a small batch."""
    return consumer_of(shared, "readers")
