"""A consumer as small as can be, in a process of its own: says 202 to everything, and remembers what came when.

`GET /reset` forgets, `GET /counts` tells how many distinct messages each path got, and `GET /times` when each number
came (CLOCK_MONOTONIC, which all processes of a machine share). How much came in all stands in a file that others map.
"""

import asyncio
import mmap
import sys
from collections import defaultdict
from pathlib import Path
from struct import Struct
from time import monotonic_ns
from typing import Any, cast

import httptools
import uvloop
from msgspec import json

from tocsin.lab.benches._messages import number_of

COUNT = Struct("=Q")
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


class Record:
    """Distinct messages only: what comes again is no progress."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(COUNT.pack(0))
        with file.open("r+b") as opened:
            self._page = mmap.mmap(opened.fileno(), COUNT.size)
        self._seen: dict[bytes, set[int]] = defaultdict(set)
        self._times: dict[int, int] = {}
        self._count = 0

    def came(self, path: bytes, number: int) -> None:
        seen = self._seen[path]
        if number not in seen:
            seen.add(number)
            self._times[number] = monotonic_ns()
            self._count += 1
            COUNT.pack_into(self._page, 0, self._count)

    def answer(self, asked: bytes) -> object:
        if asked == b"/times":
            return list(self._times.items())
        if asked == b"/reset":
            self._seen.clear()
            self._times.clear()
            self._count = 0
            COUNT.pack_into(self._page, 0, 0)
        return {path.decode(): len(seen) for path, seen in self._seen.items()}


class Responder(asyncio.Protocol):
    def __init__(self, record: Record) -> None:
        self._record = record
        self._parser: Any = httptools.HttpRequestParser(self)
        self._path, self._body = b"", b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.Transport, transport).write

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path, self._body = url, b""

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        if self._body:
            self._record.came(self._path, number_of(self._body))
            self._write(_ACCEPTED)
        else:
            answer = json.encode(self._record.answer(self._path))
            self._write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))


async def _serve(file: Path) -> None:
    loop, record = asyncio.get_running_loop(), Record(file)
    server = await loop.create_server(lambda: Responder(record), "127.0.0.1", 0)
    sys.stdout.write(json.encode({"port": server.sockets[0].getsockname()[1]}).decode() + "\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(Path(sys.argv[1])))
