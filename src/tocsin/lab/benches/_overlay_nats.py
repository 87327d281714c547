"""A cluster of NATS servers: what it takes to get bytes from one node to another, where nobody looks into them."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

from tocsin.lab.benches._messages import Messages
from tocsin.lab.benches._overlay_run import Run, Usage

NODES = 3
INSTALL = "`apt-get install nats-server` and `pip install nats-py`"
SUBJECT, STREAM = "bench", "BENCH"
_PATIENCE = 60.0


class Cluster(Struct, frozen=True, tag=True):
    """`durable` is JetStream with a copy at each node; else it is what core NATS does."""

    ports: list[int]
    pids: list[int]
    durable: bool


class NotThere(Exception):
    """What is missing, and how to get it."""


def server() -> str:
    found = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
    if found is None or find_spec("nats") is None:
        missing = "nats-server" if found is None else "nats-py"
        raise NotThere(f"{missing} is not installed: {INSTALL}")
    return found


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Of three servers with JetStream, which core NATS does not use."""
    program, ports, routes = server(), _free_ports(NODES), _free_ports(NODES)
    with contextlib.ExitStack() as stack:
        started = []
        for number, (port, route) in enumerate(zip(ports, routes, strict=True)):
            words = f"-a 127.0.0.1 -p {port} -n n{number} --cluster_name bench --cluster nats://127.0.0.1:{route}"
            others = ",".join(f"nats://127.0.0.1:{each}" for each in routes)
            command = [program, *words.split(), "--routes", others, "-js", "-sd", str(folder / f"nats{number}")]
            started.append(stack.enter_context(_ended(subprocess.Popen(command, stderr=subprocess.DEVNULL))))
        yield Cluster(ports, [each.pid for each in started], durable=False)


@contextlib.contextmanager
def _ended(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _free_ports(many: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(many)]
        return [each.getsockname()[1] for each in held]


class NatsSide:
    """Publishes at the first node what is subscribed to at the second; `outstanding` wait for an answer at once, where
    there are answers."""

    def __init__(self, cluster: Cluster, count: int, outstanding: int, seed: int, usage: Usage) -> None:
        self._cluster, self._count, self._outstanding, self._usage = cluster, count, outstanding, usage
        self._payload = Messages(seed, "127.0.0.1", "/broker").of(0).partition(b"\r\n\r\n")[2]
        self._subject = f"{SUBJECT}.{'durable' if cluster.durable else 'core'}"
        self._came, self._wanted = 0, 0
        self._whole = asyncio.Event()

    async def __aenter__(self) -> "NatsSide":
        import nats

        urls = [f"nats://127.0.0.1:{port}" for port in self._cluster.ports[:2]]
        self._publisher, self._subscriber = [
            await nats.connect(each, allow_reconnect=False, connect_timeout=20) for each in urls
        ]
        if self._cluster.durable:
            await self._begin_stream()
        else:
            await self._subscriber.subscribe(self._subject, cb=self._take)
            await self._until_routed()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._publisher.close()
        await self._subscriber.close()

    async def run(self, first: int) -> Run:
        del first
        self._expect(self._count)
        begun = self._usage.now()
        if self._cluster.durable:
            left = iter(range(self._count))
            await asyncio.gather(*(self._acknowledged(left) for _ in range(self._outstanding)))
        else:
            for _ in range(self._count):
                await self._publisher.publish(self._subject, self._payload)
            await self._publisher.flush()
        async with asyncio.timeout(_PATIENCE):
            await self._whole.wait()
        return self._usage.now() - begun

    def _expect(self, more: int) -> None:
        self._wanted = self._came + more
        self._whole.clear()

    async def _take(self, message: Any) -> None:
        del message
        self._came += 1
        if self._came == self._wanted:
            self._whole.set()

    async def _acknowledged(self, left: Iterator[int]) -> None:
        stream = self._publisher.jetstream()
        for _ in left:
            await stream.publish(self._subject, self._payload)

    async def _until_routed(self) -> None:
        """What is published before the nodes have met is lost."""
        until = time.monotonic() + _PATIENCE
        while not self._came and time.monotonic() < until:
            await self._publisher.publish(self._subject, self._payload)
            await self._publisher.flush()
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)  # for those that are still on their way

    async def _begin_stream(self) -> None:
        """Until the nodes have chosen who leads them."""
        from nats.errors import Error

        until = time.monotonic() + _PATIENCE
        while True:
            try:
                await self._publisher.jetstream().add_stream(
                    name=STREAM, subjects=[self._subject], num_replicas=len(self._cluster.ports), storage="file"
                )
                break
            except Error:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.2)
        # Each is acknowledged once it was taken, as each delivery of ours is.
        await self._subscriber.jetstream().subscribe(self._subject, durable="bench", stream=STREAM, cb=self._take)
