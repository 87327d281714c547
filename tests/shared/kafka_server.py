"""A real Kafka broker as a process: one node that is broker and controller, from the jars that `make kafka` fetches."""

import os
import signal
import socket
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

JARS = Path(os.environ.get("TOCSIN_KAFKA_JARS", Path(__file__).parents[2] / "build" / "kafka"))
PATIENCE = 90.0
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=500
"""


def available() -> bool:
    return any(JARS.glob("kafka_*.jar"))


@dataclass
class KafkaServer:
    """It keeps its ports and its folder when it is killed and started again."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @classmethod
    def start(cls, folder: Path) -> Self:
        folder.mkdir(parents=True)
        port, controller = free_ports(2)
        (folder / "server.properties").write_text(
            _PROPERTIES.format(port=port, controller=controller, folder=folder), "utf-8"
        )
        words = ["format", "-t", str(uuid.uuid4()), "-c", str(folder / "server.properties")]
        subprocess.run(_java("kafka.tools.StorageTool", *words), check=True, capture_output=True)
        server = cls(folder, port)
        server.go_on()
        return server

    @property
    def brokers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def go_on(self) -> None:
        """Starts it, again if it was killed; it answers when this returns."""
        with (self.folder / "out.txt").open("ab") as out:
            words = _java("kafka.Kafka", str(self.folder / "server.properties"))
            self.process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
        admin, deadline = AdminClient({"bootstrap.servers": self.brokers, "log_level": 0}), time.monotonic() + PATIENCE
        while True:
            try:
                admin.list_topics(timeout=2)
                return
            except KafkaException:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError((self.folder / "out.txt").read_text("utf-8")[-2000:]) from None

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def _java(main: str, *words: str) -> list[str]:
    memory = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return ["java", *memory, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{JARS}/*", main, *words]


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
