"""A consumer: a small HTTP server that takes notifications in any dialect."""

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from tocsin.client import calls, notifications
from tocsin.client.connection import Connection, now
from tocsin.client.errors import BadSignature, ClientError
from tocsin.client.replies import reply
from tocsin.client.reply_messages import speaks_soap, spelled
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
_JSON: Pairs = (("Content-Type", "application/json"),)


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

    @property
    def reply_type(self) -> str:
        """What its receiver may reply; empty where it asks for no reply."""
        return next((each.reply_type for each in self.notifications() if each.reply_type), "")

    def end(self) -> Ended | None:
        """Not None when it tells that a subscription ended."""
        return notifications.end_of(self.headers, self.body)


# What is raised is answered with 500, so that the broker sends it again. What a handler of notifications returns is the
# reply, where one is asked for.
Handler = calls.Handler[Notification]
RequestHandler = calls.Handler[Received]
EndHandler = calls.Handler[Ended]


class Consumer:
    """`url` with any path behind it takes notifications, and `handler` is called with each.

    An answer of success is given when the handler has returned: what it raised on comes again, and so may what it
    had; `Notification.id` is the same then. What the handler returns to a notification that asks for a reply, other
    than None, is the reply: in the answer to CloudEvents and plain JSON, by a message of its own in SOAP. `ended` is
    called when a subscription ends that nobody ended here, and `received` with every request as it came. With
    `signed_with`, a secret, only what is signed with it is taken. Requests for consent from `origins` are given it
    (CloudEvents web hooks 1.0 s4).
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
        self._own = self._connection = Connection("", {})

    def replying_by(self, connection: Connection) -> "Consumer":
        """Replies that are messages of their own go by it, to whom it trusts."""
        self._connection = connection
        return self

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
            await self._own.close()

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
            return await self._hear(Received(scope["path"], headers, body))
        except BadSignature as problem:
            return Reply(401, _TEXT, str(problem).encode())
        except Refusal as refusal:
            return Reply(413 if refusal.reason == "too-large" else 400, _TEXT, refusal.text.encode())
        except Exception:
            _LOG.exception("a notification could not be handled; it is answered with 500")
            return Reply(500, _TEXT, b"it could not be handled")

    async def _hear(self, received: Received) -> Reply | None:
        await _handled(self._received, received)
        if self._handler is None and self._ended is None:
            return None
        if (end := received.end()) is not None:
            await _handled(self._ended, end)
            return None
        if self._handler is None:
            return None
        found = notifications.received(received.headers, received.body, now())
        said = [(each, await _handled(self._handler, each)) for each in found]
        asked = [(each, value) for each, value in said if value is not None and each.reply_type]
        if len(found) == 1 and asked and not speaks_soap(found[0]):
            return _answered(*asked[0])
        for each, value in asked:
            await self._send(each, value)
        return None

    async def _send(self, asked: Notification, value: object) -> None:
        """It is heard all the same: another delivery would make it no better."""
        try:
            await reply(self._connection, asked, value)
        except ClientError as problem:
            _LOG.warning("the reply to %s does not count: %s", asked.id, problem)


def _answered(asked: Notification, value: object) -> Reply | None:
    try:
        spelled(asked.reply_type, value)
        return Reply(200, _JSON, msgspec.json.encode({"reply": value}))
    except (Refusal, TypeError) as problem:
        _LOG.warning("the reply to %s does not count: %s", asked.id, problem)
        return None


async def _handled(handler: calls.Handler[Given] | None, given: Given) -> object:
    return None if handler is None else await calls.result_of(handler, given)
