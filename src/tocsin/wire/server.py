"""An ASGI application behind a socket of ours, in the running loop."""

import asyncio
import contextlib
import re
import resource
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tocsin.wire.asgi import Application
from tocsin.wire.errors import WireError


class CannotListen(WireError):
    """The address is taken, or not ours."""


def listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from None
    listener.setblocking(False)
    return listener


@contextlib.asynccontextmanager
async def served(application: Application, listener: socket.socket) -> AsyncIterator[None]:
    """Requests are taken from when it begins; on the way out those under way may finish."""
    server = _Server(application)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    started = asyncio.create_task(server.ready.wait())
    try:
        await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        started.cancel()
        server.should_exit = True
        await task


MOST_DESCRIPTORS = 65_536
_UPGRADE = re.compile(rb"\r\nupgrade(?=:[ \t]*h2c[ \t]*\r\n)", re.IGNORECASE)


class _Protocol(HttpToolsProtocol):
    """Java's client offers HTTP/2 with its first request, body and all, and the parser would take that body for HTTP/2.

    The offer need not be heard (RFC 9110 s7.8), so it is not.
    """

    def data_received(self, data: bytes) -> None:
        if b"h2c" in data and (self.cycle is None or self.cycle.response_complete):
            head, blank, body = data.partition(b"\r\n\r\n")
            data = _UPGRADE.sub(b"\r\nx-offer", head + blank) + body
        super().data_received(data)


def _most_connections() -> int:
    """Half of the descriptors there are: the other half is for the log, the store and the consumers."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed < most:
        allowed = min(most, MOST_DESCRIPTORS) if most != resource.RLIM_INFINITY else MOST_DESCRIPTORS
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return allowed // 2


class _Server(uvicorn.Server):
    """Signals belong to the command that runs us."""

    def __init__(self, application: Application) -> None:
        config = uvicorn.Config(
            application,
            interface="asgi3",
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            limit_concurrency=_most_connections(),
        )
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
