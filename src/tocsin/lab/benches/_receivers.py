"""Receivers of publications that ask for replies: one HTTP server for all of them, each at a path of its own."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
Heard = Callable[[str, bytes], Awaitable[bytes]]  # path and body: what is answered


@contextlib.asynccontextmanager
async def receivers(heard: Heard) -> AsyncIterator[int]:
    """The port at which they listen."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
                body = await reader.readexactly(int(length.partition(":")[2]))
                answer = await heard(head.split(" ", 2)[1], body)
                writer.write(_OK % (len(answer), answer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def reply_to(body: bytes) -> str:
    """Where the receiver of a CloudEvent replies."""
    return str(json.loads(body)["replyto"])


class Poster:
    """Posts to one server over connections that stay open."""

    def __init__(self, url: str, connections: int) -> None:
        self._host, self._port = urlsplit(url).hostname or "", urlsplit(url).port or 80
        self._connections = connections
        self._writers: list[asyncio.StreamWriter] = []
        self._free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def open(self) -> None:
        for _ in range(self._connections):
            reader, writer = await asyncio.open_connection(self._host, self._port)
            self._writers.append(writer)
            self._free.put_nowait((reader, writer))

    async def post(self, path: str, body: bytes) -> int:
        """The status."""
        reader, writer = await self._free.get()
        try:
            kind = b"Host: x\r\nContent-Type: application/json"
            writer.write(
                b"POST %b HTTP/1.1\r\n%b\r\nContent-Length: %d\r\n\r\n" % (path.encode(), kind, len(body)) + body
            )
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, found, length = head.partition(b"content-length:")
            await reader.readexactly(int(length.split(b"\r\n")[0]) if found else 0)
            return int(head.split(b" ", 2)[1])
        finally:
            self._free.put_nowait((reader, writer))

    def close(self) -> None:
        for writer in self._writers:
            writer.close()
