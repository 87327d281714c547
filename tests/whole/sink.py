"""A consumer that answers as it is told: any status, later, never, or by hanging up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from tocsin import Received
from tocsin.model.notification import Notification
from tocsin.wire.server import no_more


@dataclass(frozen=True)
class Say:
    status: int = 202
    headers: str = ""
    body: bytes = b""


HANG_UP = Say(0)
NEVER = Say(-1)
Answering = Callable[[Received], Say]


@dataclass
class Sink:
    """`script` decides what each request is answered; `received` has them all, whatever was answered."""

    script: Answering = lambda received: Say()
    received: list[Received] = field(default_factory=list)
    port: int = 0
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def at(self, path: str) -> list[Received]:
        return [each for each in self.received if each.path == f"/{path}"]

    def notifications(self, path: str) -> list[Notification]:
        return [found for each in self.at(path) for found in each.notifications()]

    def payloads(self, path: str) -> list[bytes]:
        return [each.payload.data for each in self.notifications(path)]

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Sink"]:
        await self.up()
        try:
            yield self
        finally:
            await self.down()

    async def up(self) -> None:
        """On the port it had before, if it had one."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Connections are refused from now on, and those open are cut."""
        if self._server is not None:
            server, self._server = self._server, None
            await no_more(server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            pairs = (line.partition(":")[::2] for line in head[1:] if line)
            headers = tuple((name.lower(), value.strip()) for name, value in pairs)
            body = await reader.readexactly(int(dict(headers).get("content-length", "0")))
            received = Received(head[0].split(" ")[1], headers, body)
            said = self.script(received)
            self.received.append(received)
            if said == HANG_UP:
                return
            if said == NEVER:
                await reader.read()  # until the other side gives up
                return
            writer.write(_written(said))
            await writer.drain()


def _written(said: Say) -> bytes:
    start = f"HTTP/1.1 {said.status} Said\r\nContent-Length: {len(said.body)}\r\n{said.headers}\r\n"
    return start.encode() + said.body
