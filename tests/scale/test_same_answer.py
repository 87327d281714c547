"""One recording, every way to match it: the same pairs, and the same bytes for each.

MESSAGES and SUBSCRIPTIONS say how large it is; `make same-answer` takes 50,000 and 10,000.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from msgspec.structs import replace
from tests.pipeline.test_cluster import master
from tests.scale.recorded import digest, lay, placed, recording
from tests.shared.conftest import kafka
from tests.shared.kafka_server import KafkaServer, free_ports
from tests.shared.test_kills import forwarded
from tests.shared.test_same_answer import in_the_outbox
from tests.whole.shell import BrokerProcess, environment, wait_until

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.journal import Journal
from tocsin.delivery.lane import Entry
from tocsin.flow.flow import Flow, normalise
from tocsin.lab.benches._pipeline_workload import BASE_URL
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Node
from tocsin.model.records import Accepted, Changed, Declared, Record
from tocsin.store.codec import decode, encode
from tocsin.store.database import Store
from tocsin.store.judge.judge import Judges
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, Places
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.changes import change_of
from tocsin.store.shared.kafka import bounds, make_topics, reader
from tocsin.store.shared.reading import read_range
from tocsin.store.shared.transactions import Transactions

__all__ = ["kafka", "master"]
pytestmark = [pytest.mark.scale, pytest.mark.timeout(3600)]
MESSAGES, SUBSCRIPTIONS = int(os.environ.get("MESSAGES", "50000")), int(os.environ.get("SUBSCRIPTIONS", "10000"))
SEED, PARTITIONS = 7, 3
Answer = Counter[bytes]


def recorded() -> Iterator[Record]:
    return recording(MESSAGES, SUBSCRIPTIONS, SEED)


def answer(deliveries: Iterable[Delivery]) -> Answer:
    return Counter(map(digest, deliveries))


@pytest.fixture(scope="module")
def expected() -> Answer:
    """By a plain loop in one process."""
    flow, found = Flow(BASE_URL), Answer()
    for record in placed(recorded()):
        match record:
            case Changed(subscription=subscription):
                flow.apply(subscription)
            case Declared(what=what):
                flow.declare(what)
            case Accepted():
                pairs = ((said, each) for said in normalise(record) for each in flow.match(said).wanted)
                found.update(digest(flow.deliver(*pair)) for pair in pairs)
    assert found.total() > MESSAGES // 10
    print(f"{MESSAGES:,} messages, {SUBSCRIPTIONS:,} subscriptions: {found.total():,} deliveries")
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Of a node with the Spark engine, which has its log in files."""
    lay(tmp_path / "data", placed(recorded()), "spark")
    return tmp_path / "data"


def job(*words: str) -> None:
    command = (sys.executable, "-m", "tocsin", "pipeline", *words)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr


def in_outbox(data: Path) -> Answer:
    found, after = Answer(), 0
    with closing(Outbox.open(Places(data).outbox)) as outbox:
        while rows := outbox.pending(after, 1_000):
            found.update(digest(each) for _, each in rows)
            after = rows[-1][0]
    return found


class Told:
    """In place of the deliverer: keeps what the engine offers, as it would be sent."""

    engine: EmbeddedEngine

    def __init__(self) -> None:
        self.found = Answer()

    def offer(self, entry: Entry) -> None:
        self.found[digest(self.engine.prepare(entry))] += 1

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


async def test_the_embedded_engine(tmp_path: Path, expected: Answer) -> None:
    lay(tmp_path / "data", placed(recorded()), "embedded")
    places, told = Places(tmp_path / "data"), Told()
    with closing(Store.open(places.database)) as store, closing(Judges()) as judges:
        log, log_reader = Log.open(places.log(LOG)), LogReader(places.log(LOG))
        told.engine = EmbeddedEngine(Flow(BASE_URL, judge=judges.in_loop), store, log_reader, judges, told)  # type: ignore[arg-type]
        Journal(Node("n"), log).start(log_reader, told.engine.followers())
        await log.close()
    assert told.found == expected


def test_a_run_on_this_machine(data: Path, expected: Answer) -> None:
    job("run", "--once", "--data", str(data), "--master", "local[2]")
    assert in_outbox(data) == expected


def test_a_replay(data: Path, expected: Answer) -> None:
    job("replay", "--deliver", "--data", str(data), "--master", "local[2]")
    assert in_outbox(data) == expected


def test_a_run_on_a_cluster(data: Path, expected: Answer, master: str) -> None:
    conf = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=1g")
    job("run", "--once", "--data", str(data), "--master", master, *conf)
    assert in_outbox(data) == expected


def share(shared: SharedLog) -> list[int]:
    """The changes, in their order; where each of them is."""
    changes = (each for each in recorded() if not isinstance(each, Accepted))
    payloads = [encode(each) for each in changes]
    writer = Transactions(shared, "recording")
    for start in range(0, len(payloads), 5_000):
        page = payloads[start : start + 5_000]
        writer.write(partial(_produce, shared.changes, page))
    found: list[int] = []
    while len(found) < len(payloads):  # what is committed can be read a little later
        _, end = bounds(reader(shared), shared.changes, 0)
        found = [change_of(each).offset for each in read_range(shared, shared.changes, 0, 0, end)]
    return found


def _produce(topic: str, payloads: Sequence[bytes], producer: Producer) -> None:
    for each in payloads:
        producer.produce(topic, each, headers=[("node", b"recording"), ("base-url", BASE_URL.encode())])


def part(number: int, offsets: list[int]) -> Iterator[Record]:
    """Every other publication, and all changes."""
    places, said = iter(offsets), 0
    for record in recorded():
        if isinstance(record, Accepted):
            said += 1
            if said % 2 == number:
                yield record
        else:
            yield replace(record, shared=next(places))


async def test_two_nodes_that_share_a_log(tmp_path: Path, expected: Answer, kafka: KafkaServer) -> None:
    url = f"kafka://{kafka.brokers}/recorded"
    shared, nodes = SharedLog.parse(url), list[BrokerProcess]()
    make_topics(shared, PARTITIONS)
    offsets = share(shared)
    try:
        for number, name in enumerate(("one", "two")):
            lay(tmp_path / name, placed(part(number, offsets), Node(name)), "spark", Node(name))
            settings = {"log-shared": url, "log-partitions": str(PARTITIONS), "advertise": BASE_URL}
            nodes.append(BrokerProcess.start(tmp_path / name, settings, free_ports(1)[0]))
        await wait_until(lambda: forwarded(url, "notifications") == MESSAGES, "all are forwarded", 600)
    finally:
        for each in nodes:  # before they send any of it: nobody is there
            each.kill()
    job("run", "--once", "--log", url, "--data", str(tmp_path / "spark"), "--master", "local[2]")
    assert answer(in_the_outbox(url)) == expected


def test_what_is_recorded_is_read_back(data: Path) -> None:
    with closing(LogReader(Places(data).log(LOG))) as log:
        assert sum(isinstance(decode(each), Accepted) for _, each in log.frames(0, log.end())) == MESSAGES
