import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from tocsin.wire.addresses import AddressGuard
from tocsin.wire.http_client import HttpClient
from tocsin.wire.server import no_more


@dataclass(frozen=True)
class Reply:
    status: int = 202
    headers: str = ""
    body: bytes = b""


Answering = Callable[[str, bytes], Reply | None]


@dataclass
class Sink:
    """A consumer on loopback that answers as it is told: `None` is never."""

    answering: Answering = lambda path, body: Reply()
    received: list[tuple[str, bytes]] = field(default_factory=list)
    port: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _server: asyncio.Server | None = None

    @staticmethod
    def reply(status: int, headers: str = "", body: bytes = b"") -> Reply:
        return Reply(status, headers, body)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def bodies(self, path: str) -> list[bytes]:
        return [body for at, body in self.received if at == f"/{path}"]

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        await no_more(self._server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        path, body = head.split(" ")[1], await reader.readexactly(length)
        self.received.append((path, body))
        reply = self.answering(path, body)
        if reply is None:
            await asyncio.Event().wait()
        assert reply is not None
        start = f"HTTP/1.1 {reply.status} Said\r\nContent-Length: {len(reply.body)}\r\n{reply.headers}\r\n"
        writer.write(start.encode() + reply.body)
        return True


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    sink = Sink()
    await sink.open()
    yield sink
    await sink.close()


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient(guard=AddressGuard(loopback_allowed=True), timeout=20.0)
    yield client
    await client.close()
