"""An ASGI application behind a socket of ours, in the running loop."""

import asyncio
import contextlib
import functools
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import uvicorn

from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire._protocol import BoundedHttp
from tocsin.wire.addresses import WireError
from tocsin.wire.asgi import Application, Receive, Scope, Send, send_reply
from tocsin.wire.tls import tls_extensions


class CannotListen(WireError):
    """The address is taken, or not ours."""


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """One that is `shared` has its port with others that are so too, and takes nothing before it is served: what the
    system gave it until then would wait for it, though the others have time."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
        if not shared:
            listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from None
    listener.setblocking(False)
    return listener


@contextlib.asynccontextmanager
async def served(
    application: Application, listener: socket.socket, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Requests are taken from when it begins; on the way out those under way may finish."""
    server = _Server(application, tls)
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
MOST_SAID = 1 << 16  # bytes in one message of a WebSocket's client


@functools.cache
def _socket_protocol() -> Any:
    """Imported for the first WebSocket, for most nodes have none."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
    from websockets.http11 import Request as Handshake

    class Socket(WebSocketsSansIOProtocol):
        """Says of its caller what `BoundedHttp` says."""

        def handle_connect(self, event: Handshake) -> None:
            super().handle_connect(event)
            if self.response.status_code == 101 and (peer := tls_extensions(self.transport)) is not None:
                self.scope["extensions"] = {**(self.scope.get("extensions") or {}), **peer}

    return Socket


def _most_connections() -> int:
    """Half of the descriptors there are: the other half is for the log, the store and the consumers."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed < most:
        allowed = min(most, MOST_DESCRIPTORS) if most != resource.RLIM_INFINITY else MOST_DESCRIPTORS
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return allowed // 2


def _full() -> Reply:
    reply = problem(Refusal("overloaded", "there are too many connections; try again a little later"))
    return Reply(reply.status, (*reply.headers, ("Connection", "close")), reply.body)


_FULL = _full()


class _Server(uvicorn.Server):
    """Signals belong to the command that runs us."""

    def __init__(self, application: Application, tls: ssl.SSLContext | None = None) -> None:
        self._application, self._most = application, _most_connections()
        config = uvicorn.Config(
            self._admit,
            interface="asgi3",
            http=cast(Any, functools.partial(BoundedHttp, application, self._most)),
            ws=cast(Any, lambda **told: _socket_protocol()(**told)),
            ws_max_size=MOST_SAID,
            ws_per_message_deflate=False,
            lifespan="off",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )
        super().__init__(config)
        self.ready = asyncio.Event()

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Near the limit; uvicorn's own says neither when to come again nor why."""
        if len(self.server_state.connections) <= self._most:
            await self._application(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await send_reply(send, _FULL)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn would wait for those it does not know yet, and then leave open who is still there."""
        await no_more(*self.servers)
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


_TURNS = 3


async def no_more(*servers: asyncio.Server) -> None:
    """Nothing is accepted any more, and whatever was accepted is being handled."""
    loop = asyncio.get_running_loop()
    for listener in (each for server in servers for each in server.sockets):
        loop.remove_reader(listener.fileno())
    await _turns()
    for server in servers:
        server.close()
    await _turns()  # uvloop accepts until it is closed


async def _turns() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)
