"""A consumer: a small HTTP server that takes notifications in any dialect."""

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from msgspec import Struct

from tocsin.client import calls, notifications
from tocsin.client.connection import now
from tocsin.client.errors import BadSignature
from tocsin.client.signatures import key_of, verify
from tocsin.client.values import Ended
from tocsin.mediation.operations import Reply
from tocsin.model.identity import Instant, Pairs
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Disconnected, Receive, Scope, Send, only, options, read_body, send_accepted, send_reply
from tocsin.wire.server import listen, served

LARGEST = 64 << 20
_LOG = logging.getLogger("tocsin.client")
Given = TypeVar("Given")
_TEXT: Pairs = (("Content-Type", "text/plain; charset=utf-8"),)


class Received(Struct, frozen=True):
    """A request as it came."""

    path: str
    headers: Pairs
    body: bytes

    def notifications(self, when: Instant = Instant(0)) -> tuple[Notification, ...]:  # noqa: B008 - an int
        """What was received, normalised; empty when it is no notification."""
        try:
            return notifications.received(self.headers, self.body, when)
        except Refusal:
            return ()

    def end(self) -> Ended | None:
        """Not None when it tells that a subscription ended."""
        return notifications.end_of(self.headers, self.body)


# What is raised is answered with 500, so that the broker sends it again.
Handler = calls.Handler[Notification]
RequestHandler = calls.Handler[Received]
EndHandler = calls.Handler[Ended]


class Consumer:
    """`url` with any path behind it takes notifications, and `handler` is called with each.

    An answer of success is given when the handler has returned: what it raised on comes again, and so may what it
    had; `Notification.id` is the same then. `ended` is called when a subscription ends that nobody ended here, and
    `received` with every request as it came. With `signed_with`, a secret, only what is signed with it is taken.
    Requests for consent from `origins` are given it (CloudEvents web hooks 1.0 s4).
    """

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        received: RequestHandler | None = None,
        ended: EndHandler | None = None,
        signed_with: str = "",
        origins: Sequence[str] = ("*",),
    ) -> None:
        self._handler, self._received, self._ended = handler, received, ended
        self._secret, self._origins = signed_with, tuple(each.lower() for each in origins)
        if signed_with:
            key_of(signed_with)
        self.url = ""

    @contextlib.asynccontextmanager
    async def listening(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator["Consumer"]:
        listener = listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{listener.getsockname()[1]}"
        try:
            async with served(self._application, listener):
                yield self
        finally:
            listener.close()

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        with contextlib.suppress(Disconnected):
            reply = await self._reply(scope, receive)
            await (send_accepted(send) if reply is None else send_reply(send, reply))

    async def _reply(self, scope: Scope, receive: Receive) -> Reply | None:
        """None is the answer of success."""
        if scope["method"] == "OPTIONS":
            return options(scope, self._origins)
        if scope["method"] != "POST":
            return only("POST", "OPTIONS")
        try:
            body = await read_body(scope, receive, LARGEST)
            headers = tuple((str(name, "latin-1"), str(value, "latin-1")) for name, value in scope["headers"])
            if self._secret:
                verify(self._secret, headers, body, time.time())
            await self._hear(Received(scope["path"], headers, body))
        except BadSignature as problem:
            return Reply(401, _TEXT, str(problem).encode())
        except Refusal as refusal:
            return Reply(413 if refusal.reason == "too-large" else 400, _TEXT, refusal.text.encode())
        except Exception:
            _LOG.exception("a notification could not be handled; it is answered with 500")
            return Reply(500, _TEXT, b"it could not be handled")
        return None

    async def _hear(self, received: Received) -> None:
        await _handled(self._received, received)
        if self._handler is None and self._ended is None:
            return
        if (end := received.end()) is not None:
            await _handled(self._ended, end)
            return
        if self._handler is not None:
            for each in notifications.received(received.headers, received.body, now()):
                await _handled(self._handler, each)


async def _handled(handler: calls.Handler[Given] | None, given: Given) -> None:
    if handler is not None and (answer := handler(given)) is not None:
        await answer
