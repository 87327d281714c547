"""What both ends of a connection between nodes have in common: the handshake, frames in and out, and what is waited for
how long.

Frames that are written in one turn of the loop leave together: many small ones cost one call of the system.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import cast

from msgspec import Struct

from tocsin.model.refusal import Refusal
from tocsin.wire.peers.frames import CONNECTION, MOST_BYTES, PING, REFUSAL, FrameReader, frame, head
from tocsin.wire.peers.handshake import LONGEST, Declines, Handshake, Member, declined

CLOSED_BY_PEER = "it closed the connection"
_LINGER_SECONDS = 1.0
_WRITE_BUFFER = 256 << 10
_JOINED = 64 << 10  # bytes of a body that is copied to leave with others


class Limits(Struct, frozen=True):
    """Of one connection: `most_open` requests are handled at once, of `most_held` bytes in all, and as many bytes of
    answers wait to be read. `most_unproven` and `most_connections` are those of a server."""

    most_bytes: int = MOST_BYTES
    most_open: int = 256
    most_held: int = 64 << 20
    most_unproven: int = 64
    most_connections: int = 1024
    handshake_seconds: float = 5.0
    frame_seconds: float = 30.0
    unread_seconds: float = 30.0
    ping_seconds: float = 15.0
    closing_seconds: float = 5.0


class Connection(asyncio.Protocol):
    """Who inherits from it says what frames mean (`take`), and what it means to be proven, refused or lost."""

    _transport: asyncio.Transport

    def __init__(self, handshake: Handshake, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._handshake, self.limits = handshake, limits
        self._reader = FrameReader(min(LONGEST, limits.most_bytes))
        self._take: Callable[[int, int, bytes], None] = self._shake
        self._out: list[bytes] = []
        self._written = self._gone = 0
        self._is_over = self._is_paused = self._is_reading_paused = False
        self._is_silent = self._is_pinged = False
        self._since = 0.0  # when the frame began that has come in part
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.why = ""

    # What they say who inherit

    def take(self, kind: int, stream: int, body: bytes) -> None:
        """Of a node that is proven; raises Refusal for what must not come."""
        raise NotImplementedError

    def on_proven(self, peer: Member) -> None:
        raise NotImplementedError

    def on_refused(self, reason: str, text: str) -> None:
        """One of the two does not want the other any more."""
        raise NotImplementedError

    def on_over(self) -> None:
        """Nothing is heard or said any more, for the reason `why`; `ended` is done when the transport is gone too."""
        raise NotImplementedError

    # What the loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        opened: socket.socket | None = transport.get_extra_info("socket")
        with contextlib.suppress(OSError):  # one that is closed already
            if opened is not None:
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport.set_write_buffer_limits(high=_WRITE_BUFFER)
        self._set("handshake", self.limits.handshake_seconds, self._unproven)
        self._write(self._handshake.begin())

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._is_silent, begins = False, not self._reader.is_amid
        try:
            for kind, stream, body in self._reader.frames(data):
                self._take(kind, stream, body)
                begins = True
                if self._is_over:
                    return
        except Refusal as refusal:
            self.refuse(refusal)
            return
        if begins and self._reader.is_amid:
            self._begun()

    def pause_writing(self) -> None:
        self._is_paused = True
        self._gone = self._read_by_peer()
        self._set("unread", self.limits.unread_seconds, self._unread)

    def resume_writing(self) -> None:
        self._is_paused = False
        self._unset("unread")

    def connection_lost(self, exc: Exception | None) -> None:
        self._over(f"the connection was lost: {exc}" if exc else CLOSED_BY_PEER)
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._out.clear()
        self.ended.set_result(None)

    # What is said to the other

    def send(self, kind: int, stream: int, body: bytes = b"") -> None:
        out = self._out
        if not out:
            self._loop.call_soon(self._flush)
        out.append(head(kind, stream, len(body)))
        if len(body) <= _JOINED:
            out.append(body)
        else:
            self._flush()
            self._write(body)

    def refuse(self, refusal: Refusal) -> None:
        """The last word: what still comes is thrown away."""
        self.on_refused(refusal.reason, refusal.text)
        self.end_with(frame(REFUSAL, CONNECTION, declined(refusal)), refusal.text)

    def end_with(self, octets: bytes, why: str) -> None:
        """Closed at once, what comes meanwhile would reset the connection, and the last word be lost."""
        if self._is_over:
            return
        self._flush()
        self._write(octets)
        self._over(why)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._set("linger", _LINGER_SECONDS, self._transport.abort)

    def close(self, why: str) -> None:
        """After all that is written has gone."""
        self._flush()
        self._over(why)
        self._transport.close()
        if not self.ended.done():
            self._set("linger", self.limits.closing_seconds, self._transport.abort)

    def lose(self, why: str) -> None:
        self._over(why)
        self._transport.abort()

    def _over(self, why: str) -> None:
        if not self._is_over:
            self._is_over, self.why = True, why
            self.on_over()

    # Of frames

    def _shake(self, kind: int, stream: int, body: bytes) -> None:
        del stream
        try:
            self._write(self._handshake.take(kind, body))
        except Declines as refused:
            self._declined(str(refused))
            return
        if self._handshake.proven and self._handshake.peer is not None:
            self._proven(self._handshake.peer)

    def _proven(self, peer: Member) -> None:
        self._unset("handshake")
        self._take, self._reader.most = self.take, self.limits.most_bytes
        self._set("ping", self.limits.ping_seconds, self._tick)
        self.on_proven(peer)

    def _declined(self, text: str) -> None:
        """By the other side."""
        self.on_refused("declined", f"it says: {text}")
        self.close(f"it says: {text}")

    def _begun(self) -> None:
        """A frame has come in part, as at the end of nearly all that is read: so the timer is set once, and looks when
        it is due."""
        self._since = self._loop.time()
        if "frame" not in self._timers:
            self._set("frame", self.limits.frame_seconds, self._unfinished)

    def _pause_reading(self) -> None:
        if not self._is_reading_paused and not self._is_over:
            self._is_reading_paused = True
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        """What did not come meanwhile is not the other's fault."""
        if self._is_reading_paused and not self._is_over:
            self._is_reading_paused = self._is_silent = False
            self._since = self._loop.time()
            self._transport.resume_reading()

    def _flush(self) -> None:
        if self._out:
            octets = b"".join(self._out)
            self._out.clear()
            self._write(octets)

    def _write(self, octets: bytes) -> None:
        if not octets or self._is_over or self._transport.is_closing():
            return
        self._written += len(octets)
        self._transport.write(octets)
        if self._is_paused and self._transport.get_write_buffer_size() > self.limits.most_held:
            self.lose(f"more than {self.limits.most_held} bytes were not read")

    # Of time

    def _set(self, name: str, seconds: float, due: Callable[[], None]) -> None:
        self._unset(name)
        self._timers[name] = self._loop.call_later(seconds, due)

    def _unset(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()

    def _unproven(self) -> None:
        seconds = self.limits.handshake_seconds
        self.refuse(Refusal("too-slow", f"the handshake did not end within {seconds:g} seconds"))

    def _unfinished(self) -> None:
        del self._timers["frame"]
        left = self._since + self.limits.frame_seconds - self._loop.time()
        if not self._reader.is_amid or self._is_over:
            return
        if left > 0 or self._is_reading_paused:
            self._set("frame", max(left, self.limits.frame_seconds / 8), self._unfinished)
        else:
            seconds = self.limits.frame_seconds
            self.refuse(Refusal("too-slow", f"a frame did not come whole within {seconds:g} seconds"))

    def _unread(self) -> None:
        """As long as some of it is read it may be slow."""
        if (gone := self._read_by_peer()) <= self._gone:
            self.lose(f"nothing of what was sent was read within {self.limits.unread_seconds:g} seconds")
        else:
            self._gone = gone
            self._set("unread", self.limits.unread_seconds, self._unread)

    def _read_by_peer(self) -> int:
        return self._written - self._transport.get_write_buffer_size()

    def _tick(self) -> None:
        """Who says nothing is asked, and then given up; unless we do not listen."""
        if self._is_silent and not self._is_reading_paused:
            if self._is_pinged:
                self.lose(f"it was silent for {2 * self.limits.ping_seconds:g} seconds")
                return
            self._is_pinged = True
            self.send(PING, CONNECTION)
        else:
            self._is_pinged = False
        self._is_silent = True
        self._set("ping", self.limits.ping_seconds, self._tick)
