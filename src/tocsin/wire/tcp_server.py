"""SOAP over TCP: DIME messages in, DIME messages out, the same SOAP handling as over HTTP.

Messages of one connection are handled in their order, one after the other. A one-way message that is accepted has no
answer: who wants to know that it is on disk asks something behind it on the same connection.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from tocsin.markup import xml
from tocsin.mediation.operations import Reply
from tocsin.mediation.soap import dime
from tocsin.model.refusal import Reason, Refusal
from tocsin.wire.asgi import Disconnected, Receive
from tocsin.wire.server import no_more

Client = tuple[str, int] | None  # the address and port of who calls
# Path, content type, body, what tells that the caller is gone, as it would be told over HTTP, and who that is.
Handle = Callable[[str, str, bytes, Receive, Client], Awaitable[Reply | None]]
Refuse = Callable[[str, Refusal], Reply]  # content type

DEFAULT_PATH = "/broker"
_DOORS = ("/broker/", "/onvif/", "/notifiers/")
_CHUNK = 64 << 10
_MOST_AHEAD = 16  # chunks
_CLOSING_SECONDS = 5.0
_LINGER_SECONDS = 1.0
_MOST_LINGERED = 8 << 20


class Patience(Struct, frozen=True):
    """How long a caller may be silent, take over one message, and take to read an answer."""

    idle: float = 300.0
    message: float = 30.0
    answer: float = 30.0
    connections: int = 1024


class TcpDoor:
    def __init__(self, handle: Handle, refuse: Refuse, limit: int, patience: Patience | None = None) -> None:
        self._handle, self._refuse, self._limit = handle, refuse, limit
        self._patience = patience or Patience()
        self._connections: dict[asyncio.Task[None], _Connection] = {}

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(reader, writer, self._limit, self._patience)
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._connections) >= self._patience.connections:
                text = f"there are {len(self._connections)} connections already; try again a little later"
                await connection.send(self._refuse("", Refusal("overloaded", text)))
                return
            self._connections[task] = connection
            await self._converse(connection)
        except (OSError, EOFError, Disconnected, asyncio.CancelledError):
            return  # they went away, or we do
        finally:
            self._connections.pop(task, None)
            await connection.close()

    async def close(self) -> None:
        """Those that wait are hung up on; a message that is being handled is answered first."""
        tasks = list(self._connections)
        for task, connection in self._connections.items():
            connection.stopping = True
            if not connection.busy:
                task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)
            for task in late:
                task.cancel()

    async def _converse(self, connection: "_Connection") -> None:
        while not connection.stopping:
            try:
                messages, problem = await connection.receive()
            except TimeoutError:
                text = f"the message did not come whole within {self._patience.message:g} seconds"
                problem, messages = Refusal("too-slow", text), []
            for message in messages:
                await self._answer(connection, message)
            if problem is not None:
                kind = dime.content_type(messages[-1]) if messages else ""
                await connection.send(self._refuse(kind, problem))
                await connection.linger()
                return

    async def _answer(self, connection: "_Connection", message: dime.Message) -> None:
        connection.busy = True
        kind = dime.content_type(message)
        try:
            reply = await self._handle(path_of(message.data), kind, message.data, connection.left, connection.client)
        except Refusal as refusal:
            reply = self._refuse(kind, refusal)
        if reply is not None and reply.body:
            await connection.send(reply)
        connection.busy = False


class _Connection:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int, patience: Patience
    ) -> None:
        self._reader, self._writer, self._patience = reader, writer, patience
        self._frames = dime.Reader(limit)
        peer = writer.get_extra_info("peername")
        self.client: Client = (peer[0], peer[1]) if peer else None
        self._ahead: list[bytes] = []  # what came while another message was handled
        self.busy = self.stopping = False

    async def receive(self) -> tuple[list[dime.Message], Refusal | None]:
        """At least one message, or what is wrong; TimeoutError for one that takes too long."""
        octets = b"" if self._frames.under_way else await self._first()
        async with asyncio.timeout(self._patience.message):
            while True:
                try:
                    if messages := self._frames.feed(octets):
                        return messages, None
                except dime.DimeError as problem:
                    text, messages = problem.args
                    reason: Reason = "too-large" if isinstance(problem, dime.TooLong) else "malformed"
                    return messages, Refusal(reason, text)
                octets = await self._more()

    async def left(self) -> MutableMapping[str, Any]:
        """When the caller has gone. What it says meanwhile is kept, up to a point, for when its turn comes."""
        with contextlib.suppress(OSError):
            while len(self._ahead) < _MOST_AHEAD:
                if not (octets := await self._reader.read(_CHUNK)):
                    return {"type": "http.disconnect"}
                self._ahead.append(octets)
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, reply: Reply) -> None:
        kind = next((value for name, value in reply.headers if name.lower() == "content-type"), "")
        self._writer.write(dime.write(dime.of_soap(reply.body, kind)))
        try:
            async with asyncio.timeout(self._patience.answer):
                await self._writer.drain()
        except TimeoutError:
            self._writer.transport.abort()
            raise ConnectionAbortedError("the answer was not read in time") from None

    async def linger(self) -> None:
        """A socket closed with octets unread takes our last word with it, so they are read, up to a point."""
        left = _MOST_LINGERED
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            self._writer.write_eof()
            async with asyncio.timeout(_LINGER_SECONDS):
                while left > 0:
                    left -= len(await self._more())

    async def close(self) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self._writer.close()
            async with asyncio.timeout(_CLOSING_SECONDS):
                await self._writer.wait_closed()

    async def _first(self) -> bytes:
        """Nobody is owed a word who says nothing for long."""
        try:
            async with asyncio.timeout(self._patience.idle):
                return await self._more()
        except TimeoutError:
            raise EOFError from None

    async def _more(self) -> bytes:
        octets = self._ahead.pop(0) if self._ahead else await self._reader.read(_CHUNK)
        if not octets:
            raise EOFError
        return octets


def path_of(envelope: bytes) -> str:
    """The door that wsa:To names, whatever the scheme and host of that address; the broker's without one."""
    try:
        found = xml.parse(envelope).find("{*}Header/{*}To")
        path = "" if found is None else urlsplit((found.text or "").strip()).path
    except (xml.MarkupError, ValueError):
        return DEFAULT_PATH
    return path if path.startswith(_DOORS) else DEFAULT_PATH


@contextlib.asynccontextmanager
async def tcp_served(door: TcpDoor, listener: socket.socket) -> AsyncIterator[None]:
    """Connections are taken from when it begins; on the way out what is being handled may finish."""
    server = await asyncio.start_server(door.connected, sock=listener, limit=_CHUNK)
    try:
        yield
    finally:
        await no_more(server)
        await door.close()
        await server.wait_closed()
