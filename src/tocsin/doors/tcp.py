"""SOAP over TCP before a node: the same handling as behind the HTTP doors."""

import contextlib
import socket
from collections.abc import AsyncIterator
from urllib.parse import unquote

from tocsin.broker.settings import Settings
from tocsin.doors.gate import Gate
from tocsin.doors.notifiers import PATH as NOTIFIERS
from tocsin.doors.notifiers import NotifierDoor
from tocsin.doors.soap import SoapDoor
from tocsin.mediation import dialects
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.soap import soap
from tocsin.mediation.ws import wsn_1_3
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Receive
from tocsin.wire.server import listen
from tocsin.wire.tcp_server import Client, TcpDoor, tcp_served


def tcp_listener(settings: Settings, *, shared: bool = False) -> socket.socket | None:
    """At the host that HTTP is served at, so that who may connect is decided once; none without a port."""
    return None if settings.tcp.port is None else listen(settings.listen.host, settings.tcp.port, shared=shared)


@contextlib.asynccontextmanager
async def tcp_doors(gate: Gate, listener: socket.socket | None) -> AsyncIterator[None]:
    if listener is None:
        yield
        return
    node, door, notifiers = gate.node, SoapDoor(gate), NotifierDoor(gate)

    async def handle(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
        headers = [(b"content-type", content_type.encode("latin-1", "replace"))]
        scope = {"type": "tcp", "path": path, "headers": headers, "client": client}
        if path.startswith(NOTIFIERS):
            return await notifiers.handle(scope | {"path": unquote(path)}, body)
        return await door.handle(scope, body, receive)

    def refuse(content_type: str, refusal: Refusal) -> Reply:
        context = Context(wsn_1_3.NAME, soap.guess_soap(content_type), None)
        return dialects.fault(context, refusal, node.now())

    async with tcp_served(TcpDoor(handle, refuse, node.body_limit), listener):
        yield
