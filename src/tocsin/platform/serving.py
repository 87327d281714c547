"""A node behind its doors, in this process."""

import contextlib
import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator

from tocsin.broker.lifecycle import open_node
from tocsin.broker.node import Node
from tocsin.broker.settings import Settings
from tocsin.doors.access import gate_of, require_users, tls_context
from tocsin.doors.application import doors
from tocsin.doors.tcp import tcp_doors, tcp_listener
from tocsin.wire.addresses import LOOPBACK, place
from tocsin.wire.server import listen, served

Prepare = Callable[[Node], Awaitable[None]]


async def _at_once(node: Node) -> None:
    del node


@contextlib.asynccontextmanager
async def serving(
    settings: Settings, report: Callable[[str], None], prepare: Prepare = _at_once
) -> AsyncIterator[Node]:
    """Doors open when the node stands and is prepared, and shut before it drains."""
    require_users(settings)
    tls, is_shared = tls_context(settings), settings.worker is not None
    listener = listen(settings.listen.host, settings.listen.port, shared=is_shared)
    port, tcp = listener.getsockname()[1], tcp_listener(settings, shared=is_shared)
    base_url = settings.advertise or base_url_at(settings, port)
    own = own_addresses(settings, base_url, {port, *([] if tcp is None else [tcp.getsockname()[1]])})
    try:
        async with open_node(settings, base_url, report, own) as node, gate_of(node) as gate:
            application = doors(gate)
            await prepare(node)
            async with served(application, listener, tls), tcp_doors(gate, tcp):
                with patient_collector(), contextlib.ExitStack() as stack:
                    stack.callback(node.stop_waiting)
                    yield node
    finally:
        listener.close()
        if tcp is not None:
            tcp.close()


def base_url_at(settings: Settings, port: int) -> str:
    return f"{'http' if settings.tls.certificate is None else 'https'}://{_shown(settings.listen.host)}:{port}"


def own_addresses(settings: Settings, base_url: str, ports: Collection[int]) -> set[tuple[str, int]]:
    """At which a node is reached itself."""
    return {place(base_url), *((each, port) for each in (settings.listen.host, *LOOPBACK) for port in ports)}


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared with, not bound to
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


# Deliveries make no cycles but many objects: by default each 70 of them are paid for by a look at what is young, and a
# window of message ids by a look at everything. That was a sixth of the work.
_THRESHOLDS = (50_000, 20, 100)


@contextlib.contextmanager
def patient_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
