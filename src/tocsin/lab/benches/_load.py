"""The publisher of the broker's benchmark, in a process of its own: in a flood, or at a pace."""

import asyncio
import mmap
import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import uvloop
from msgspec import Struct, json

from tocsin.lab.benches._messages import Messages
from tocsin.lab.benches._sink import COUNT
from tocsin.lab.benches._stage import Process

_DONE = b"HTTP/1.1 202"
_END = b"\r\n\r\n"
_POLL_SECONDS = 0.001


class Flood(Struct, frozen=True, tag=True):
    """So many messages as fast as they are taken, at most `ahead` more than came out at the other end."""

    first: int
    count: int
    connections: int
    ahead: int
    fan_out: int
    progress: str


class Pace(Struct, frozen=True, tag=True):
    """An open loop: a message is sent when its time has come, whatever became of those before it.

    By turns, a slice each: to the broker, straight to the consumer, and only to a file that is synced each time. So
    whatever else uses the machine and its disk meets all three alike.
    """

    first: int
    per_second: int
    slices: int
    slice_messages: int
    consumer_port: int
    consumer_path: str
    file: str


class Contest(Struct, frozen=True, tag=True):
    """Slices of messages by turns to each of several servers, each over connections of its own that stay open.

    Slices are short, so that what else the machine does hits all alike; what each server was at work is read between.
    """

    first: int
    slices: int
    slice_messages: int
    connections: int
    servers: list[Process]


class Paced(Struct, frozen=True):
    """Message numbers and the nanosecond at which their POST began; nanoseconds for each sync."""

    through: list[tuple[int, int]]
    direct: list[tuple[int, int]]
    synced: list[int]


class Task(Struct, frozen=True):
    seed: int
    port: int
    path: str
    work: Flood | Pace | Contest
    asking: bool = False  # for replies


class Publications(Protocol):
    def of(self, number: int) -> bytes:
        """The HTTP request that publishes the message of that number."""
        ...


class Refused(Exception):
    """A publication was not answered with 202."""


class Flooder:
    """`room` says whether one more may be on its way, given how many were sent."""

    def __init__(self, room: Callable[[int], bool] = lambda _: True) -> None:
        self._room = room
        self._first = self._count = self._sent = self._answered = 0
        self._connections: list[_Connection] = []
        self._parked: list[_Connection] = []
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def connect(self, port: int, connections: int, messages: Publications) -> None:
        """More of them, to one more server, which gets these messages."""
        loop = asyncio.get_running_loop()
        for _ in range(connections):
            _, made = await loop.create_connection(lambda: _Connection(self, messages), "127.0.0.1", port)
            self._connections.append(made)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    async def send(self, first: int, count: int) -> None:
        """Until the last of them is answered."""
        self._first, self._count, self._sent, self._answered = first, count, 0, 0
        self._done = asyncio.get_running_loop().create_future()
        for connection in self._connections:
            self.next(connection)
        await self._done

    def answered(self, connection: "_Connection") -> None:
        self._answered += 1
        if self._answered == self._count:
            self._done.set_result(None)
        self.next(connection)

    def next(self, connection: "_Connection") -> None:
        if self._sent == self._count:
            return
        if not self._room(self._sent):
            if not self._parked:
                asyncio.get_running_loop().call_later(_POLL_SECONDS, self._unpark)
            self._parked.append(connection)
            return
        self._sent += 1
        connection.write(connection.messages.of(self._first + self._sent - 1))

    def refused(self, data: bytes) -> None:
        if not self._done.done():
            self._done.set_exception(Refused(data.decode(errors="replace")))

    def _unpark(self) -> None:
        parked, self._parked = self._parked, []
        for connection in parked:
            self.next(connection)


class _Connection(asyncio.Protocol):
    def __init__(self, flooder: Flooder, messages: Publications) -> None:
        self._flooder, self.messages = flooder, messages
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write, self.close = cast(asyncio.Transport, transport).write, transport.close

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not self._answer.endswith(_END):
            return
        if self._answer.startswith(_DONE):
            self._answer = b""
            self._flooder.answered(self)
        else:
            self._flooder.refused(self._answer)

    def connection_lost(self, error: Exception | None) -> None:
        self._flooder.refused(self._answer or repr(error).encode())


async def _flood(task: Task, flood: Flood) -> float:
    """The seconds it took."""
    flooder = Flooder(_room(flood))
    await flooder.connect(task.port, flood.connections, _messages(task, task.port))
    begun = time.perf_counter()
    await flooder.send(flood.first, flood.count)
    return time.perf_counter() - begun


async def _contest(task: Task, contest: Contest) -> list[list[float]]:
    """CPU seconds of each slice, by server."""
    flooders = [Flooder() for _ in contest.servers]
    for flooder, server in zip(flooders, contest.servers, strict=True):
        await flooder.connect(server.port, contest.connections, _messages(task, server.port))
    spent: list[list[float]] = [[] for _ in flooders]
    for number in range(contest.slices):
        for flooder, server, taken in zip(flooders, contest.servers, spent, strict=True):
            begun = server.cpu_seconds()
            await flooder.send(contest.first + number * contest.slice_messages, contest.slice_messages)
            taken.append(server.cpu_seconds() - begun)
    return spent


def _room(flood: Flood) -> Callable[[int], bool]:
    with Path(flood.progress).open("rb") as file:
        page = mmap.mmap(file.fileno(), COUNT.size, access=mmap.ACCESS_READ)
    return lambda sent: sent - COUNT.unpack_from(page)[0] // flood.fan_out < flood.ahead


def _messages(task: Task, port: int) -> Messages:
    return Messages(task.seed, f"127.0.0.1:{port}", task.path, asking=task.asking)


def _pace(task: Task, pace: Pace) -> Paced:
    through = Line(task.port, _messages(task, task.port))
    direct = Line(pace.consumer_port, Messages(task.seed, f"127.0.0.1:{pace.consumer_port}", pace.consumer_path))
    file, size = _Synced(Path(pace.file), task.seed), pace.slice_messages
    for turn in range(2 * pace.slices):
        # Half of the numbers go each way; what goes straight must not be told again by the broker.
        line = direct if turn % 2 else through
        in_time(pace.per_second, size, partial(line.send, pace.first + turn * size))
        line.drain()
        if line is direct:
            in_time(pace.per_second, size, file.append)
    through.close()
    direct.close()
    return Paced(through.starts, direct.starts, file.taken)


def in_time(per_second: int, count: int, act: Callable[[int], None]) -> None:
    begun = time.monotonic()
    for at in range(count):
        time.sleep(max(0.0, begun + at / per_second - time.monotonic()))
        act(at)


class _Synced:
    def __init__(self, file: Path, seed: int) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._body = Messages(seed, "127.0.0.1", "/").of(0).partition(_END)[2]
        self.taken: list[int] = []

    def append(self, _at: int) -> None:
        start = time.monotonic_ns()
        os.write(self._descriptor, self._body)
        os.fdatasync(self._descriptor)
        self.taken.append(time.monotonic_ns() - start)


class Line:
    """Blocking sockets: a timer of the event loop is late by up to a millisecond."""

    def __init__(self, port: int, messages: Publications) -> None:
        self._port, self._messages = port, messages
        self._free = deque(self._connect() for _ in range(4))  # by turns, so that none is closed for being idle
        self._busy: dict[int, socket.socket] = {}
        self.starts: list[tuple[int, int]] = []

    def send(self, first: int, at: int) -> None:
        self._collect(0.0)
        number = first + at
        request = self._messages.of(number)
        connection = self._free.popleft() if self._free else self._connect()
        self._busy[connection.fileno()] = connection
        self.starts.append((number, time.monotonic_ns()))
        connection.sendall(request)

    def drain(self) -> None:
        while self._busy:
            self._collect(5.0)

    def close(self) -> None:
        for connection in self._free:
            connection.close()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _collect(self, seconds: float) -> None:
        """The answers that are there, or come in that time."""
        ready, _, _ = select.select(list(self._busy), [], [], seconds) if self._busy else ([], [], [])
        for number in ready:
            connection = self._busy.pop(number)
            if not (answer := connection.recv(4096)).startswith(_DONE):
                raise Refused(answer.decode(errors="replace") or "the connection was closed without an answer")
            self._free.append(connection)


def run(task: Task) -> object:
    match task.work:
        case Flood() as flood:
            return uvloop.run(_flood(task, flood))
        case Pace() as pace:
            return _pace(task, pace)
        case Contest() as contest:
            return uvloop.run(_contest(task, contest))


if __name__ == "__main__":
    sys.stdout.write(json.encode(run(json.decode(sys.stdin.buffer.read(), type=Task))).decode())
