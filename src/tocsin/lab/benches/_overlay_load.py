"""The publisher of the overlay's benchmark, in a process of its own: the same load to several brokers by turns."""

import asyncio
import mmap
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import uvloop
from msgspec import Struct, json

from tocsin.lab.benches._load import Flooder, Line, Refused, in_time
from tocsin.lab.benches._messages import TOPIC, Messages
from tocsin.lab.benches._overlay_nats import Cluster, NatsSide
from tocsin.lab.benches._overlay_run import Run, Side, Usage
from tocsin.lab.benches._sink import COUNT
from tocsin.lab.benches._stage import Lost
from tocsin.model.names import QName, Topic

PATH = "/broker"
_DONE = b"HTTP/1.1 202"
_POLL_SECONDS = 0.001
_PATIENCE = 60.0


class Broker(Struct, frozen=True, tag=True):
    """One that is reached at these ports, by turns, and whose processes these are; what is published there."""

    ports: list[int]
    pids: list[int]
    topics: list[str]


class Floods(Struct, frozen=True, tag=True):
    """A slice of `count` messages to each in each round, as fast as they are taken and come out at the sink; at most
    `ahead` more were taken than came out. The first round warms up, and is not told."""

    first: int
    rounds: int
    count: int
    connections: int  # to each broker, shared among its ports
    ahead: int
    fan_out: int


class OneByOne(Struct, frozen=True, tag=True):
    """So many messages to each in turn, each when the one before it was answered."""

    first: int
    count: int


class Paces(Struct, frozen=True, tag=True):
    """An open loop: a message is sent when its time has come. Slices by turns, to the first port of each."""

    first: int
    per_second: int
    slices: int
    slice_messages: int


class Task(Struct, frozen=True):
    """On these `cores`. The sink has that process, and counts in the file."""

    seed: int
    cores: list[int]
    sink: int
    progress: str
    contestants: list[Broker | Cluster]
    work: Floods | OneByOne | Paces


class Spread:
    """Publications at a port, each on the next of some topics."""

    def __init__(self, seed: int, port: int, topics: Sequence[str]) -> None:
        self._each = [Messages(seed, f"127.0.0.1:{port}", PATH, topic=topic_of(name)) for name in topics]

    def of(self, number: int) -> bytes:
        return self._each[number % len(self._each)].of(number)


def topic_of(name: str) -> Topic:
    """Topics below one root lie side by side on the circle: these have roots of their own."""
    root, *rest = TOPIC.steps
    return Topic((QName(root.namespace, name), *rest))


class _BrokerSide:
    def __init__(self, broker: Broker, floods: Floods, usage: Usage, came: Callable[[], int]) -> None:
        self._floods, self._usage, self._came = floods, usage, came
        self._base = 0
        self._flooder = Flooder(self._has_room)
        self._broker = broker

    async def __aenter__(self) -> Side:
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._flooder.close()

    async def connect(self, seed: int) -> None:
        ports = self._broker.ports
        for number, port in enumerate(ports):
            share = len(range(number, self._floods.connections, len(ports)))
            await self._flooder.connect(port, share, Spread(seed, port, self._broker.topics))

    async def run(self, first: int) -> Run:
        self._base = self._came()
        begun = self._usage.now()
        await self._flooder.send(first, self._floods.count)
        await self._come_out()
        return self._usage.now() - begun

    async def _come_out(self) -> None:
        until = time.monotonic() + _PATIENCE
        while (missing := self._base + self._floods.count * self._floods.fan_out - self._came()) > 0:
            if time.monotonic() > until:
                raise Lost(f"{missing} deliveries are missing")
            await asyncio.sleep(_POLL_SECONDS)

    def _has_room(self, sent: int) -> bool:
        fan_out = self._floods.fan_out
        return not fan_out or sent - (self._came() - self._base) // fan_out < self._floods.ahead


async def _floods(task: Task, floods: Floods) -> list[list[Run]]:
    """Of each contestant a run a round; each round begins with another one."""
    runs: list[list[Run]] = [[] for _ in task.contestants]
    async with AsyncExitStack() as stack:
        sides = [await stack.enter_async_context(await _side(task, floods, each)) for each in task.contestants]
        number = floods.first
        for turn in range(floods.rounds + 1):
            for at in [(turn + each) % len(sides) for each in range(len(sides))]:
                run = await sides[at].run(number)
                number += floods.count
                if turn:
                    runs[at].append(run)
    return runs


async def _side(task: Task, floods: Floods, contestant: Broker | Cluster) -> _BrokerSide | NatsSide:
    usage = Usage(contestant.pids, task.sink)
    if isinstance(contestant, Cluster):
        return NatsSide(contestant, floods.count, floods.connections, task.seed, usage)
    made = _BrokerSide(contestant, floods, usage, _counter(task.progress))
    await made.connect(task.seed)
    return made


def _counter(progress: str) -> Callable[[], int]:
    with Path(progress).open("rb") as file:
        page = mmap.mmap(file.fileno(), COUNT.size, access=mmap.ACCESS_READ)
    return lambda: int(COUNT.unpack_from(page)[0])


def _one_by_one(task: Task, work: OneByOne) -> list[list[int]]:
    """Nanoseconds until each was answered, by contestant; a tenth more go before, and are not told."""
    lines = [_Exchange(task.seed, each) for each in task.contestants if isinstance(each, Broker)]
    for number in range(work.first, work.first + work.count + work.count // 10):
        for at, line in enumerate(lines):
            line.send(number * len(lines) + at)
    for line in lines:
        line.close()
    return [line.taken[-work.count :] for line in lines]


class _Exchange:
    def __init__(self, seed: int, broker: Broker) -> None:
        self._connection = socket.create_connection(("127.0.0.1", broker.ports[0]))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._messages = Spread(seed, broker.ports[0], broker.topics)
        self.taken: list[int] = []

    def send(self, number: int) -> None:
        request = self._messages.of(number)
        begun = time.monotonic_ns()
        self._connection.sendall(request)
        answer = self._connection.recv(4096)
        self.taken.append(time.monotonic_ns() - begun)
        if not answer.startswith(_DONE):
            raise Refused(answer.decode(errors="replace") or "the connection was closed without an answer")

    def close(self) -> None:
        self._connection.close()


def _paces(task: Task, work: Paces) -> list[list[tuple[int, int]]]:
    """Of each contestant the numbers, and the nanosecond at which each was sent."""
    brokers = [each for each in task.contestants if isinstance(each, Broker)]
    lines = [Line(each.ports[0], Spread(task.seed, each.ports[0], each.topics)) for each in brokers]
    for turn in range(len(lines) * work.slices):
        line = lines[turn % len(lines)]
        in_time(work.per_second, work.slice_messages, partial(line.send, work.first + turn * work.slice_messages))
        line.drain()
    for line in lines:
        line.close()
    return [line.starts for line in lines]


def run(task: Task) -> object:
    os.sched_setaffinity(0, task.cores)
    match task.work:
        case Floods() as floods:
            return uvloop.run(_floods(task, floods))
        case OneByOne() as work:
            return _one_by_one(task, work)
        case Paces() as work:
            return _paces(task, work)


if __name__ == "__main__":
    sys.stdout.write(json.encode(run(json.decode(sys.stdin.buffer.read(), type=Task))).decode())
