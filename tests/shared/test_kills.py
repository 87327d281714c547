"""Whatever is killed, nothing that was acknowledged is lost, and what Spark repeats is sent once."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up, rows_of
from tests.shared.kafka_server import KafkaServer
from tests.whole.acts import call, get, numbers, publish, subscribe, until
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

from tocsin.pipeline.run import RunSettings
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import SharedLogError, bounds, reader
from tocsin.store.shared.outbox_topic import mark_of
from tocsin.store.shared.reading import read_range
from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.shared.conftest import Nodes

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kafka, pytest.mark.kills]
CHILD = Path(__file__).with_name("run_child.py")


def forwarded(log: str, topic: str) -> int:
    """Records that can be read there, without the marks of transactions; -1 while nobody answers."""
    shared = SharedLog.parse(log)
    name = f"{shared.prefix}.{topic}"
    try:
        ends = {each: bounds(reader(shared), name, each)[1] for each in range(3)}
        return sum(1 for each, end in ends.items() for _ in read_range(shared, name, each, 0, end))
    except (KafkaException, SharedLogError):
        return -1


def repeated(log: str) -> int:
    """How many are in the outbox that were there before."""
    shared = SharedLog.parse(log)
    ends = {each: bounds(reader(shared), shared.outbox, each)[1] for each in range(3)}
    found = Counter(
        mark_of(one) for each, end in ends.items() for one in read_range(shared, shared.outbox, each, 0, end)
    )
    return sum(found.values()) - len(found)


async def test_a_job_that_was_killed_sends_again_what_senders_know(
    nodes: "Nodes", tmp_path: Path, http: HttpClient, sink: Sink, spark: SparkSession
) -> None:
    one = nodes.start("one")
    await subscribe(http, one, sink.url("a"), "t")
    await publish(http, one, "t", *range(20))
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 20, "all are forwarded")
    killed = subprocess.run([sys.executable, str(CHILD), nodes.log, str(tmp_path / "spark")], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    await wait_until(lambda: len(sink.received) == 20, "what the killed job sent is delivered")
    done = catch_up(spark, RunSettings(tmp_path / "spark", once=True, shared=SharedLog.parse(nodes.log)))
    assert not done[0].repeated and done[0].counted["deliveries"] == 20
    assert repeated(nodes.log) == 20, "the control: they are in the topic twice"
    await publish(http, one, "t", 20)
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 21, "one more is forwarded")
    catch_up(spark, RunSettings(tmp_path / "spark", once=True, shared=SharedLog.parse(nodes.log)))
    await wait_until(lambda: len(sink.received) >= 21, "the last is delivered")
    assert numbers(sink, "a") == [*range(21)]
    assert sorted(row["log_offset"] for row in rows_of(tmp_path / "spark", "matches")) == [*range(1, 22)]


async def test_a_node_that_was_killed_forwards_the_rest_once(nodes: "Nodes", http: HttpClient, sink: Sink) -> None:
    one, two = nodes.start("one"), nodes.start("two")
    await subscribe(http, one, sink.url("a"), "t")
    for start in range(0, 60, 20):
        await publish(http, one, "t", *range(start, start + 20))
        one.kill()
        await subscribe(http, two, sink.url(f"{start}"), "t")
        one = nodes.start("one")
        asked = (await get(http, f"{one.url}/api/subscriptions"))["items"]
        assert len(asked) == 2 + start // 20, "known before its doors open"
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 60, "all are forwarded")
    await publish(http, one, "t", 60)
    await wait_until(lambda: forwarded(nodes.log, "notifications") >= 61, "the last is forwarded")
    assert forwarded(nodes.log, "notifications") == 61


async def test_while_kafka_is_gone_nodes_accept_and_changes_wait(
    nodes: "Nodes", kafka: KafkaServer, tmp_path: Path, http: HttpClient, sink: Sink, spark: SparkSession
) -> None:
    one, two = nodes.start("one"), nodes.start("two")
    name = await subscribe(http, one, sink.url("a"), "t")
    await until(lambda: get(http, f"{two.url}/api/subscriptions"), lambda found: len(found["items"]) == 1)
    kafka.kill()
    await publish(http, one, "t", 1, 2)
    await publish(http, two, "t", 3)
    refused = await call(http, "DELETE", f"{two.url}/api/subscriptions/{name}")
    assert refused.status == 503, refused
    kafka.go_on()
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 3, "all are forwarded")
    catch_up(spark, RunSettings(tmp_path / "spark", once=True, shared=SharedLog.parse(nodes.log)))
    await wait_until(lambda: len(sink.received) >= 3, "all are delivered")
    assert sorted(numbers(sink, "a")) == [1, 2, 3]
    await _ended(http, two, name)
    await until(lambda: get(http, f"{one.url}/api/subscriptions"), lambda found: not found["items"])


async def _ended(http: HttpClient, node: BrokerProcess, name: str) -> None:
    """Now, or because what was refused came through after all."""
    answer = await call(http, "DELETE", f"{node.url}/api/subscriptions/{name}")
    assert answer.status in (204, 404), answer
