"""HTTP as uvicorn speaks it, with bounds: how long a head may take to come, and how large it may be."""

import asyncio
import re
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire.tls import tls_extensions

HEAD_SECONDS = 30.0
LONGEST_HEAD = 64 << 10
MOST_FRAMING = 16 << 20  # bytes beside the body, once the head is there: sizes of chunks, and trailers
LINGER_SECONDS = 1.0
WHOLE = "tocsin.whole"  # in a scope whose body has come: it is received at once, without a timer
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
_UPGRADE = re.compile(rb"\r\nupgrade(?=:[ \t]*h2c[ \t]*\r\n)", re.IGNORECASE)


class BoundedHttp(HttpToolsProtocol):
    """A head that came at once, as nearly all do, costs two assignments; only for others a timer is set.

    Every request passes here: uvicorn's own methods are called by name, which takes a third of the time of `super()`.
    """

    _heading = False  # a head has come in part
    _over = False  # what still comes is thrown away
    _rested = 0.0  # when the last answer was complete
    _framing = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = tls_extensions(transport)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_deadline()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
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

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._heading:  # else it is a trailer, which nobody here reads
            HttpToolsProtocol.on_header(self, name, value)

    def on_headers_complete(self) -> None:
        self._heading = False
        self._unset_deadline()
        HttpToolsProtocol.on_headers_complete(self)

    def on_body(self, body: bytes) -> None:
        self._framing -= len(body)
        HttpToolsProtocol.on_body(self, body)

    def on_message_complete(self) -> None:
        self._framing = 0
        self.scope[WHOLE] = True  # type: ignore[literal-required]
        HttpToolsProtocol.on_message_complete(self)

    def on_response_complete(self) -> None:
        """uvicorn sets a timer after each answer, and unsets it with the next request; ours looks when it is due."""
        if self.pipeline or self.transport.is_closing():
            HttpToolsProtocol.on_response_complete(self)
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._rested = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._close_later(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._over or self._heading or not self.cycle.response_complete:
            return
        left = self._rested + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._close_later(left)
        else:
            self.transport.close()

    def _close_later(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        """What uvicorn asks for with each request: nothing has to be done."""

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


def accepts_at_once(send: object) -> bool:
    """Says 202 to the request that is answered by `send`, where there is nothing more to be said than that.

    In ASGI's two messages, which are for any answer, it takes three times as long.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle) is not RequestResponseCycle or cycle.response_started or cycle.disconnected:
        return False
    if not cycle.keep_alive or cycle.default_headers or cycle.flow.write_paused:
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.transport.write(_ACCEPTED)
    cycle.message_event.set()
    cycle.on_response()
    return True


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
