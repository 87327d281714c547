"""A node behind its doors, in this process."""

import contextlib
import socket
from collections.abc import AsyncIterator, Callable

from tocsin.app.collector import patient_collector
from tocsin.app.lifecycle import LOOPBACK, open_node
from tocsin.app.node import Node
from tocsin.app.settings import Settings
from tocsin.wire.addresses import place
from tocsin.wire.doors import doors
from tocsin.wire.server import listen, served


@contextlib.asynccontextmanager
async def serving(settings: Settings, report: Callable[[str], None]) -> AsyncIterator[Node]:
    """Doors open when the node stands, and shut before it drains."""
    listener = listen(settings.listen.host, settings.listen.port)
    host, port = settings.listen.host, listener.getsockname()[1]
    base_url = settings.advertise or f"http://{_shown(host)}:{port}"
    own = {place(base_url), *((each, port) for each in (host, *LOOPBACK))}
    try:
        async with open_node(settings, base_url, report, own) as node, served(doors(node), listener):
            with patient_collector():
                yield node
    finally:
        listener.close()


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared with, not bound to
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
