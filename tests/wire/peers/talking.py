"""Nodes for tests, and one that says whatever it is told to."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tocsin.wire.peers.calling import PeerUnreachable
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.frames import REFUSAL, Frame, FrameReader
from tocsin.wire.peers.handshake import Handshake, Member, Role, refusal_of
from tocsin.wire.peers.server import PeerServer

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
HERE, THERE = Member("here", "127.0.0.1:1"), Member("there", "127.0.0.1:2")
PATIENCE = 60.0  # seconds, for what comes at once on a machine that is not busy
NONCE = b"n" * 32


async def echo(name: str, body: bytes) -> bytes:
    return name.encode() + b" " + body


async def until(found: Callable[[], Any], what: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not found():
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.002)


async def soon(awaited: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(awaited, PATIENCE)


async def failure(awaited: Awaitable[Any]) -> PeerUnreachable:
    try:
        await soon(awaited)
    except PeerUnreachable as problem:
        return problem
    raise AssertionError("it was reached")


class Gate:
    """A handler that says what it has, and answers when it may."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.ended: list[bytes] = []
        self.open = asyncio.Event()

    async def __call__(self, name: str, body: bytes) -> bytes:
        self.begun.append(body)
        await self.open.wait()
        self.ended.append(body)
        return body


@dataclass
class Node:
    server: PeerServer
    said: list[str] = field(default_factory=list)
    met: list[Member] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    @property
    def unproven(self) -> int:
        return len(self.server._unproven)


@contextlib.asynccontextmanager
async def node(
    handler: Callable[[str, bytes], Awaitable[bytes]] = echo,
    *,
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    key: bytes = KEY,
    port: int = 0,
    me: Member = THERE,
) -> AsyncIterator[Node]:
    said: list[str] = []
    met: list[Member] = []
    server = PeerServer(handler, key, me, tls=tls, limits=limits, report=said.append, met=met.append)
    await server.start("127.0.0.1", port)
    try:
        yield Node(server, said, met)
    finally:
        await server.close()


class Talker:
    """Frames and octets by hand, at either end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = FrameReader(1 << 30)
        self._read: list[Frame] = []

    def say(self, octets: bytes) -> None:
        self.writer.write(octets)

    async def hear(self) -> Frame | None:
        """None when the other hung up."""
        while not self._read:
            octets = b""
            with contextlib.suppress(ConnectionError):
                octets = await soon(self.reader.read(1 << 16))
            if not octets:
                return None
            self._read = list(self._frames.frames(octets))
        return self._read.pop(0)

    async def refused(self) -> str:
        """The last word, whatever comes before it."""
        heard = await self.hear()
        while heard is not None and heard[0] != REFUSAL:
            heard = await self.hear()
        assert heard is not None and heard[:2] == (REFUSAL, 0), heard
        assert await self.hear() is None
        return refusal_of(heard[2]).text

    async def shake(self, role: Role = "caller", key: bytes = KEY, me: Member = HERE) -> None:
        handshake = Handshake(role, key, me, NONCE)
        self.say(handshake.begin())
        while not handshake.proven:
            heard = await self.hear()
            assert heard is not None
            self.say(handshake.take(heard[0], heard[2]))

    def close(self) -> None:
        self.writer.transport.abort()


@contextlib.asynccontextmanager
async def talker(at: Node, tls: ssl.SSLContext | None = None) -> AsyncIterator[Talker]:
    made = Talker(*await asyncio.open_connection("127.0.0.1", at.server.port, ssl=tls))
    try:
        yield made
    finally:
        made.close()


@contextlib.asynccontextmanager
async def impostor(act: Callable[[Talker], Awaitable[None]]) -> AsyncIterator[str]:
    """The address of one that does to each connection whatever it is told to."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await act(Talker(reader, writer))
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
