from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.conftest import spark
from tests.shared.kafka_server import KafkaServer, available, free_ports
from tests.whole.acts import IMPATIENT
from tests.whole.conftest import http, sink
from tests.whole.shell import BrokerProcess

__all__ = ["http", "sink", "spark"]
ADVERTISED = "http://broker.example:8080"


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    assert available(), "no jars of Kafka: run `make test-kafka`, which fetches them"
    server = KafkaServer.start(tmp_path_factory.mktemp("kafka") / "server")
    yield server
    server.kill()


@pytest.fixture
def log(kafka: KafkaServer, tmp_path: Path) -> str:
    """The address of a shared log that nobody else has."""
    return f"kafka://{kafka.brokers}/{tmp_path.name}"


class Nodes:
    """Starts nodes of one shared log; they are reached by a common address, as behind a load balancer."""

    def __init__(self, log: str, place: Path) -> None:
        self.log, self._place = log, place
        self._settings = IMPATIENT | {"log-shared": log, "log-partitions": "3", "advertise": ADVERTISED}
        self._started: list[BrokerProcess] = []

    def start(self, name: str) -> BrokerProcess:
        (port,) = free_ports(1)
        process = BrokerProcess.start(self._place / name, self._settings, port)
        process.url = f"http://127.0.0.1:{port}"
        self._started.append(process)
        return process

    def close(self) -> None:
        for each in self._started:
            each.kill()


@pytest.fixture
def nodes(log: str, tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(log, tmp_path)
    yield made
    made.close()
