"""A node behind its doors, in this process."""

import contextlib
import gc
import socket
from collections.abc import AsyncIterator, Callable, Iterator

from tocsin.broker.lifecycle import open_node
from tocsin.broker.node import Node
from tocsin.broker.settings import Settings
from tocsin.doors.access import gate_of, require_users, tls_context
from tocsin.doors.application import doors
from tocsin.doors.tcp import tcp_doors, tcp_listener
from tocsin.wire.addresses import LOOPBACK, place
from tocsin.wire.server import listen, served


@contextlib.asynccontextmanager
async def serving(settings: Settings, report: Callable[[str], None]) -> AsyncIterator[Node]:
    """Doors open when the node stands, and shut before it drains."""
    require_users(settings)
    tls = tls_context(settings)
    listener = listen(settings.listen.host, settings.listen.port)
    host, port = settings.listen.host, listener.getsockname()[1]
    base_url = settings.advertise or f"{'http' if tls is None else 'https'}://{_shown(host)}:{port}"
    tcp = tcp_listener(settings)
    ports = {port, *([] if tcp is None else [tcp.getsockname()[1]])}
    own = {place(base_url), *((each, number) for each in (host, *LOOPBACK) for number in ports)}
    try:
        async with (
            open_node(settings, base_url, report, own) as node,
            gate_of(node) as gate,
            served(doors(gate), listener, tls),
            tcp_doors(gate, tcp),
        ):
            with patient_collector(), contextlib.ExitStack() as stack:
                stack.callback(node.stop_waiting)
                yield node
    finally:
        listener.close()
        if tcp is not None:
            tcp.close()


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
