"""Who connects in the moment a server ends is let go: no turn of the loop is too early or too late for that."""

import asyncio
import contextlib
import gc
import socket
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire import server
from tocsin.wire import tcp_server as tcp_door
from tocsin.wire.asgi import Receive, Scope, Send
from tocsin.wire.server import listen, no_more, served
from tocsin.wire.tcp_server import Client, TcpDoor, tcp_served

Open = Callable[[socket.socket], AbstractAsyncContextManager[None]]


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("nobody asks anything")


async def unasked(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
    raise AssertionError("nobody asks anything")


def refuse(content_type: str, refusal: Refusal) -> Reply:
    raise AssertionError("there is nothing to refuse")


@contextlib.asynccontextmanager
async def bare(listener: socket.socket) -> AsyncIterator[None]:
    handled: list[asyncio.StreamWriter] = []
    opened = await asyncio.start_server(lambda reader, writer: handled.append(writer), sock=listener)
    yield
    await no_more(opened)
    for each in handled:
        each.close()
    await asyncio.sleep(0)


OPEN: dict[str, Open] = {
    "bare": bare,
    "http": lambda listener: served(silent, listener),
    "tcp": lambda listener: tcp_served(TcpDoor(unasked, refuse, 1 << 10), listener),
}


class Calling:
    """Calls a server as it ends, as many turns of the loop before it closes as are asked for."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self.at: tuple[str, int] = ("", 0)
        self.caller: socket.socket | None = None

    async def then_no_more(self, *servers: asyncio.Server) -> None:
        await self.call()
        await no_more(*servers)

    async def call(self) -> None:
        self.caller = socket.create_connection(self.at)
        for _ in range(self._turns):
            await asyncio.sleep(0)

    async def is_let_go(self) -> bool:
        assert self.caller is not None
        with self.caller, contextlib.suppress(ConnectionError):
            self.caller.setblocking(False)
            async with asyncio.timeout(60):
                return await asyncio.get_running_loop().sock_recv(self.caller, 1) == b""
        return True


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("name", OPEN)
async def test_who_calls_as_it_ends(name: str, turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calling = Calling(turns)
    for module in (server, tcp_door):
        monkeypatch.setattr(module, "no_more", calling.then_no_more)
    with warnings.catch_warnings(record=True) as told, contextlib.closing(listen("127.0.0.1", 0)) as listener:
        warnings.simplefilter("always")
        calling.at = listener.getsockname()
        async with OPEN[name](listener):
            if name == "bare":
                await calling.call()
            began = time.monotonic()
        assert time.monotonic() - began < 20
        gc.collect()
        assert await calling.is_let_go()
    assert [str(each.message) for each in told] == []
