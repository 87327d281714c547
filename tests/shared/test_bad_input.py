"""What is wrong with a shared log is told in a sentence, and nothing is changed."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.pipeline.conftest import Recorder
from tests.shared.kafka_server import KafkaServer, free_ports
from tests.shared.test_kills import forwarded
from tests.shared.test_two_nodes import pipeline
from tests.whole.acts import publish
from tests.whole.shell import contents, environment, wait_until

from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.shared.conftest import Nodes

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kafka]


def serve(log: str, data: Path) -> "subprocess.CompletedProcess[str]":
    words = (sys.executable, "-m", "tocsin", "serve", "--log", log, "--port", "0", "--data", str(data))
    return subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120)


def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    log = f"kafka://127.0.0.1:{free_ports(1)[0]}/x"
    for done in (serve(log, tmp_path / "node"), pipeline(log, tmp_path / "spark")):
        assert done.returncode == 1
        assert f"the shared log {log} does not answer" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_address_that_is_none(tmp_path: Path) -> None:
    done = serve("kafka://host:9092", tmp_path / "node")
    assert done.returncode == 2 and "kafka://host:9092/name" in done.stderr


def test_changes_in_no_one_order(kafka: KafkaServer, log: str, tmp_path: Path) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.brokers})
    for made in admin.create_topics([NewTopic(f"{tmp_path.name}.changes", 2, 1)]).values():
        made.result()
    done = serve(log, tmp_path / "node")
    assert done.returncode == 1 and "must have one partition" in done.stderr


async def test_a_topic_that_was_truncated(nodes: "Nodes", kafka: KafkaServer, tmp_path: Path, http: HttpClient) -> None:
    one = nodes.start("one")
    await publish(http, one, "t", 1, 2)
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 2, "both are forwarded")
    assert pipeline(nodes.log, tmp_path / "spark").returncode == 0
    await publish(http, one, "t", 3, 4, 5)
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 5, "all are forwarded")
    admin = AdminClient({"bootstrap.servers": kafka.brokers})
    gone = [TopicPartition(f"{tmp_path.name}.notifications", each, -1) for each in range(3)]
    for removed in admin.delete_records(gone).values():
        removed.result()
    before = contents(tmp_path / "spark" / "tables")
    done = pipeline(nodes.log, tmp_path / "spark")
    assert done.returncode == 1
    assert "the topic was truncated before it was read" in done.stderr
    assert contents(tmp_path / "spark" / "tables") == before


def test_a_node_shares_from_its_first_record_on(nodes: "Nodes", tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone = Recorder(tmp_path / "alone", "spark")
    alone.subscribe("s", "t")
    alone.save()
    refused = serve(nodes.log, tmp_path / "alone")
    assert refused.returncode == 1 and "does not know: start with an empty --data" in refused.stderr
    nodes.start("one").stop()
    other = serve(f"{nodes.log}-other", tmp_path / "one")
    assert other.returncode == 1 and f"start with --log {nodes.log}" in other.stderr


def test_a_directory_of_a_node_or_of_another_log(nodes: "Nodes", tmp_path: Path) -> None:
    nodes.start("one").stop()
    taken = pipeline(nodes.log, tmp_path / "one")
    assert taken.returncode == 1 and "is a node's data directory" in taken.stderr
    assert pipeline(nodes.log, tmp_path / "spark").returncode == 0
    other = pipeline(f"{nodes.log}-other", tmp_path / "spark")
    assert other.returncode == 1 and "belongs to the shared log" in other.stderr
