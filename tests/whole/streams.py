"""A client of Server-Sent Events, written from the standard (HTML s9.2.6) and nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.whole.shell import PATIENCE, document


@dataclass(frozen=True)
class Said:
    id: str
    event: str
    data: str

    def json(self) -> Any:
        return document(self.data.encode())


@dataclass
class Listening:
    status: int
    head: str
    _reader: asyncio.StreamReader
    _lines: list[str] = field(default_factory=list)
    comments: int = 0

    async def next(self, seconds: float = PATIENCE) -> Said:
        """The next event; EOFError when the stream ends first."""
        found: dict[str, list[str]] = {}
        async with asyncio.timeout(seconds):
            while line := (await self._line()):
                if line == "\n" and "data" in found:
                    joined = {name: "\n".join(values) for name, values in found.items()}
                    return Said(joined.get("id", ""), joined.get("event", "message"), joined["data"])
                name, _, value = line.rstrip("\n").partition(":")
                if not name:
                    self.comments += line.startswith(":")
                found.setdefault(name, []).append(value.removeprefix(" "))
        raise EOFError

    async def _line(self) -> str:
        """Of a body in chunks, each of which ends with a line."""
        if not self._lines:
            size = int((await self._reader.readline()).strip() or b"0", 16)
            chunk = await self._reader.readexactly(size + 2)
            self._lines = chunk[:-2].decode().splitlines(keepends=True)
        return self._lines.pop(0) if self._lines else ""


@contextlib.asynccontextmanager
async def listening(url: str, *headers: str) -> AsyncIterator[Listening]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        lines = (f"GET {parts.path}?{parts.query} HTTP/1.1", f"Host: {parts.netloc}", *headers, "", "")
        writer.write("\r\n".join(lines).encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        yield Listening(int(head.split(" ")[1]), head, reader)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
