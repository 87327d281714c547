"""The publisher of the broker's benchmark, in a process of its own: in a flood, or at a pace."""

import asyncio
import mmap
import select
import socket
import sys
import time
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
    """An open loop: a message is sent when its time has come, whatever became of those before it."""

    first: int
    count: int
    per_second: int


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


def _pace(task: Task, pace: Pace) -> list[tuple[int, int]]:
    """For each number, the nanosecond at which its POST began."""
    messages = Messages(task.seed, f"127.0.0.1:{task.port}", task.path)
    line, begun = _Line(task.port), time.monotonic()
    starts: list[tuple[int, int]] = []
    for each in range(pace.count):
        request = messages.of(pace.first + each)
        line.wait_until(begun + each / pace.per_second)
        starts.append((pace.first + each, time.monotonic_ns()))
        line.send(request)
    line.close()
    return starts


class _Line:
    """Blocking sockets: a timer of the event loop is late by up to a millisecond."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[socket.socket] = [self._connect() for _ in range(4)]
        self._busy: dict[int, socket.socket] = {}

    def wait_until(self, when: float) -> None:
        while self._collect(max(0.0, when - time.monotonic())):
            pass
        if (left := when - time.monotonic()) > 0:
            time.sleep(left)

    def send(self, request: bytes) -> None:
        connection = self._free.pop() if self._free else self._connect()
        self._busy[connection.fileno()] = connection
        connection.sendall(request)

    def close(self) -> None:
        while self._busy:
            self._collect(5.0)
        for connection in self._free:
            connection.close()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _collect(self, seconds: float) -> bool:
        """Whether an answer came in that time."""
        ready, _, _ = select.select(list(self._busy), [], [], seconds) if self._busy else ([], [], [])
        for number in ready:
            connection = self._busy.pop(number)
            if not connection.recv(4096).startswith(_DONE):
                raise Refused("a publication was refused at a pace")
            self._free.append(connection)
        return bool(ready)


def run(task: Task) -> object:
    match task.work:
        case Flood() as flood:
            return uvloop.run(_flood(task, flood))
        case Pace() as pace:
            return _pace(task, pace)


if __name__ == "__main__":
    sys.stdout.write(json.encode(run(json.decode(sys.stdin.buffer.read(), type=Task))).decode())
