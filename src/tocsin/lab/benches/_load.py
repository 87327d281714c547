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
from typing import cast

import uvloop
from msgspec import Struct, json

from tocsin.lab.benches._messages import Messages
from tocsin.lab.benches._sink import COUNT

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


class Paced(Struct, frozen=True):
    """Message numbers and the nanosecond at which their POST began; nanoseconds for each sync."""

    through: list[tuple[int, int]]
    direct: list[tuple[int, int]]
    synced: list[int]


class Task(Struct, frozen=True):
    seed: int
    port: int
    path: str
    work: Flood | Pace


class Refused(Exception):
    """A publication was not answered with 202."""


class _Flooder:
    def __init__(self, task: Task, flood: Flood) -> None:
        self._messages = Messages(task.seed, f"127.0.0.1:{task.port}", task.path)
        self._flood = flood
        with Path(flood.progress).open("rb") as file:
            self._page = mmap.mmap(file.fileno(), COUNT.size, access=mmap.ACCESS_READ)
        self._sent = self._answered = 0
        self._parked: list[_Connection] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(self, connection: "_Connection") -> None:
        self._answered += 1
        if self._answered == self._flood.count:
            self.done.set_result(None)
        self.next(connection)

    def next(self, connection: "_Connection") -> None:
        if self._sent == self._flood.count:
            return
        if self._sent - COUNT.unpack_from(self._page)[0] // self._flood.fan_out >= self._flood.ahead:
            if not self._parked:
                asyncio.get_running_loop().call_later(_POLL_SECONDS, self._unpark)
            self._parked.append(connection)
            return
        self._sent += 1
        connection.write(self._messages.of(self._flood.first + self._sent - 1))

    def refused(self, data: bytes) -> None:
        if not self.done.done():
            self.done.set_exception(Refused(data.decode(errors="replace")))

    def _unpark(self) -> None:
        parked, self._parked = self._parked, []
        for connection in parked:
            self.next(connection)


class _Connection(asyncio.Protocol):
    def __init__(self, flooder: _Flooder) -> None:
        self._flooder = flooder
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = cast(asyncio.Transport, transport).write

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
    loop, flooder = asyncio.get_running_loop(), _Flooder(task, flood)
    made = [
        await loop.create_connection(lambda: _Connection(flooder), "127.0.0.1", task.port)
        for _ in range(flood.connections)
    ]
    begun = time.perf_counter()
    for _, connection in made:
        flooder.next(connection)
    await flooder.done
    return time.perf_counter() - begun


def _pace(task: Task, pace: Pace) -> Paced:
    through, direct = _Line(task.seed, task.port, task.path), _Line(task.seed, pace.consumer_port, pace.consumer_path)
    file, size = _Synced(Path(pace.file), task.seed), pace.slice_messages
    for turn in range(2 * pace.slices):
        # Half of the numbers go each way; what goes straight must not be told again by the broker.
        line = direct if turn % 2 else through
        _in_time(pace, partial(line.send, pace.first + turn * size))
        line.drain()
        if line is direct:
            _in_time(pace, file.append)
    through.close()
    direct.close()
    return Paced(through.starts, direct.starts, file.taken)


def _in_time(pace: Pace, act: Callable[[int], None]) -> None:
    begun = time.monotonic()
    for at in range(pace.slice_messages):
        time.sleep(max(0.0, begun + at / pace.per_second - time.monotonic()))
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


class _Line:
    """Blocking sockets: a timer of the event loop is late by up to a millisecond."""

    def __init__(self, seed: int, port: int, path: str) -> None:
        self._messages = Messages(seed, f"127.0.0.1:{port}", path)
        self._port = port
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


if __name__ == "__main__":
    sys.stdout.write(json.encode(run(json.decode(sys.stdin.buffer.read(), type=Task))).decode())
