"""HTTP as uvicorn speaks it, with bounds: how long a head may take to come, and how large it may be."""

import asyncio
import re
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire.tls import tls_extensions

HEAD_SECONDS = 30.0
LONGEST_HEAD = 64 << 10
MOST_FRAMING = 16 << 20  # bytes beside the body, once the head is there: sizes of chunks, and trailers
LINGER_SECONDS = 1.0
_UPGRADE = re.compile(rb"\r\nupgrade(?=:[ \t]*h2c[ \t]*\r\n)", re.IGNORECASE)


class _WholeHead(list[tuple[bytes, bytes]]):
    """The headers of a head that is complete: what comes after them are trailers, which nobody here reads."""

    def append(self, header: tuple[bytes, bytes]) -> None:
        del header


class BoundedHttp(HttpToolsProtocol):
    """A head that came at once, as nearly all do, costs two assignments; only for others a timer is set.

    Requests are for the `application`, but for those that come over more than `most` connections: what the
    configuration names decides about them. Every request passes here: uvicorn's own methods are called by name, which
    takes a third of the time of `super()`.
    """

    _heading = False  # a head has come in part
    _over = False  # what still comes is thrown away
    _rested = 0.0  # when the last answer was complete
    _framing = 0
    _deadline: asyncio.TimerHandle | None = None
    _idle: asyncio.TimerHandle | None = None

    def __init__(self, application: Any, most: int, **told: Any) -> None:
        super().__init__(**told)
        self._application, self._most = application, most

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = tls_extensions(transport)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_deadline()
        if self._idle is not None:
            self._idle.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        begins = self.cycle is None or self.cycle.response_complete
        if begins and data.find(b"h2c", 0, data.find(b"\r\n\r\n")) >= 0:
            data = _without_offer(data)
        self._framing += len(data)
        HttpToolsProtocol.data_received(self, data)
        if self._over:
            return
        if self._heading or self.cycle is None or self.cycle.response_complete:
            self._set_deadline()
        if self._heading and self._framing > LONGEST_HEAD:
            self._refuse(_too_large())
        elif self._framing > MOST_FRAMING:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._heading = True
        HttpToolsProtocol.on_message_begin(self)
        if self._peer is not None:
            self.scope["extensions"] = self._peer

    def on_headers_complete(self) -> None:
        self._heading = False
        if self._deadline is not None:
            self._unset_deadline()
        self.app = self._application if len(self.connections) <= self._most else self.config.loaded_app
        HttpToolsProtocol.on_headers_complete(self)
        self.headers = _WholeHead(self.headers)

    def on_body(self, body: bytes) -> None:
        self._framing -= len(body)
        HttpToolsProtocol.on_body(self, body)

    def on_message_complete(self) -> None:
        self._framing = 0
        HttpToolsProtocol.on_message_complete(self)

    def on_response_complete(self) -> None:
        """uvicorn sets a timer after each answer, and unsets it with the next request; ours looks when it is due."""
        if self.pipeline or self.transport.is_closing():
            HttpToolsProtocol.on_response_complete(self)
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._rested = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self._idle = None
        if self._over or self._heading or not self.cycle.response_complete:
            return
        left = self._rested + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._idle = self.loop.call_later(left, self._close_if_idle)
        else:
            self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """From here on another protocol hears what comes."""
        self._over = True
        super().handle_websocket_upgrade()

    def _set_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        """One that is still being answered is not interrupted; one that said nothing is not answered."""
        self._deadline = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._set_deadline()
        elif self._heading:
            self._refuse(problem(Refusal("too-slow", f"the head did not come within {HEAD_SECONDS:.0f} seconds")))
        else:
            self.transport.close()

    def _refuse(self, reply: Reply) -> None:
        """Closed at once, what comes meanwhile would reset the connection, and the answer be lost."""
        self._over = True
        self._unset_deadline()
        if self.transport.is_closing():
            return
        self.transport.write(_written(reply))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


def _without_offer(data: bytes) -> bytes:
    """Java's client offers HTTP/2 with its first request, body and all, and the parser would take that body for HTTP/2.

    The offer need not be heard (RFC 9110 s7.8), so it is not.
    """
    head, blank, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-offer", head + blank) + body


def _too_large() -> Reply:
    """RFC 6585 s5."""
    told = problem(Refusal("too-large", f"the head has more than the {LONGEST_HEAD} bytes that are accepted here"))
    return Reply(431, told.headers, told.body.replace(b'"status":413', b'"status":431'))


def _written(reply: Reply) -> bytes:
    """As it goes over the wire: there is no request yet that uvicorn could answer."""
    headers = (*reply.headers, ("Content-Length", str(len(reply.body))), ("Connection", "close"))
    lines = (
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *(f"{name}: {value}" for name, value in headers),
    )
    return "\r\n".join((*lines, "", "")).encode("latin-1") + reply.body
