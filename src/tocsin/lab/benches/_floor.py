"""The least that can accept a message, in a process of its own: uvicorn as the broker has it, lxml, and 202."""

import socket
import sys

import uvicorn
from lxml import etree
from msgspec import json

from tocsin.markup.xml import SAFE_PARSER
from tocsin.wire.asgi import Receive, Scope, Send


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    del scope
    message = await receive()
    body: bytes = message["body"]
    while message["more_body"]:
        message = await receive()
        body += message["body"]
    etree.fromstring(body, SAFE_PARSER)
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        application,
        interface="asgi3",
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    sys.stdout.write(json.encode({"port": listener.getsockname()[1]}).decode() + "\n")
    sys.stdout.flush()
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    serve()
