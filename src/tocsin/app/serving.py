"""A node behind its doors, in this process: uvicorn around the ASGI function."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable

import uvicorn

from tocsin.app.lifecycle import open_node
from tocsin.app.node import Node
from tocsin.app.settings import Settings
from tocsin.wire.doors import doors


class CannotListen(Exception):
    """The address is taken or not ours."""


@contextlib.asynccontextmanager
async def serving(settings: Settings, report: Callable[[str], None]) -> AsyncIterator[Node]:
    """Doors open when the node stands, and shut before it drains."""
    listener = _listen(settings.listen.host, settings.listen.port)
    port = listener.getsockname()[1]
    base_url = settings.advertise or f"http://{_shown(settings.listen.host)}:{port}"
    try:
        async with open_node(settings, base_url, report) as node, _open_doors(node, listener):
            yield node
    finally:
        listener.close()


@contextlib.asynccontextmanager
async def _open_doors(node: Node, listener: socket.socket) -> AsyncIterator[None]:
    server = _Server(
        uvicorn.Config(
            doors(node),
            http="httptools",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
        )
    )
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """Signals belong to the command that runs us."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from None
    listener.setblocking(False)
    return listener


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared with, not bound to
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
