"""A node behind its doors, in this process."""

import contextlib
import socket
from collections.abc import AsyncIterator, Callable

from tocsin.app.lifecycle import open_node
from tocsin.app.node import Node
from tocsin.app.settings import Settings
from tocsin.wire.doors import doors
from tocsin.wire.server import listen, served


@contextlib.asynccontextmanager
async def serving(settings: Settings, report: Callable[[str], None]) -> AsyncIterator[Node]:
    """Doors open when the node stands, and shut before it drains."""
    listener = listen(settings.listen.host, settings.listen.port)
    base_url = settings.advertise or f"http://{_shown(settings.listen.host)}:{listener.getsockname()[1]}"
    try:
        async with open_node(settings, base_url, report) as node, served(doors(node), listener):
            yield node
    finally:
        listener.close()


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared with, not bound to
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
