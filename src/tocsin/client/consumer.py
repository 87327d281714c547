"""A consumer: a small HTTP server that takes notifications in any dialect."""

import contextlib
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from tocsin.mediation import wse_2004_08
from tocsin.mediation.dialects import DIALECTS, normalise
from tocsin.mediation.operations import Reply
from tocsin.model.identity import Instant, Node, Pairs
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position
from tocsin.wire.asgi import Receive, Scope, Send, read_body, send_accepted, send_reply
from tocsin.wire.server import listen, served

LARGEST = 64 << 20
# The wrapped ones first: whatever is no notification of theirs is an event of WS-Eventing.
SOAP_DIALECTS = (*(each.name for each in DIALECTS if each.wrapped is not None), wse_2004_08.NAME)


class Received(Struct, frozen=True):
    path: str
    headers: Pairs
    body: bytes

    def notifications(self) -> tuple[Notification, ...]:
        """What was received, normalised; empty when it is no notification."""
        for dialect in self._dialects():
            record = Accepted(
                Position(Node(""), 0), Instant(0), "/broker/publish", dialect, self.headers, None, "", self.body
            )
            with contextlib.suppress(Refusal):
                return normalise(record)
        return ()

    def _dialects(self) -> tuple[str, ...]:
        """A CloudEvent in binary mode has the content type of its data, which may be that of SOAP 1.1."""
        headers = dict(self.headers)
        kind = headers.get("content-type", "")
        soap = "ce-id" not in headers and ("soap" in kind or "text/xml" in kind)
        return SOAP_DIALECTS if soap else ("cloudevents",)


class Consumer:
    """`url` with any path behind it takes notifications; `heard` is called with each, and answered with 202."""

    def __init__(self, heard: Callable[[Received], None]) -> None:
        self._heard = heard
        self.url = ""

    @contextlib.asynccontextmanager
    async def listening(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator["Consumer"]:
        listener = listen(host, port)
        self.url = f"http://{host}:{listener.getsockname()[1]}"
        try:
            async with served(self._application, listener):
                yield self
        finally:
            listener.close()

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await send_reply(send, Reply(405, (("Allow", "POST"),), b""))
            return
        try:
            body = await read_body(scope, receive, LARGEST)
        except Refusal:
            await send_reply(send, Reply(413, (), b""))
            return
        headers = tuple((str(name, "latin-1"), str(value, "latin-1")) for name, value in scope["headers"])
        self._heard(Received(scope["path"], headers, body))
        await send_accepted(send)
