"""One connection at the side that asks."""

import asyncio
from collections.abc import Callable

from tocsin.model.refusal import Refusal
from tocsin.wire.addresses import WireError
from tocsin.wire.peers.connection import CLOSED_BY_PEER, Connection, Limits
from tocsin.wire.peers.frames import (
    ANSWER,
    BYE,
    CONNECTION,
    KINDS,
    LAST_STREAM,
    NOTE,
    PING,
    PONG,
    REFUSAL,
    REQUEST,
    BadFrame,
)
from tocsin.wire.peers.handshake import Handshake, Member, refusal_of, shown
from tocsin.wire.peers.room import Room


class PeerUnreachable(WireError):
    """A node did not answer. If what it was asked was not even `sent`, it was surely not done there."""

    def __init__(self, address: str, text: str, *, sent: bool = False) -> None:
        super().__init__(f"{address}: {text}")
        self.address, self.text, self.sent = address, text, sent


class Calling(Connection):
    """`opened` is done when the handshake is, with the other node or with why not. `left` is called once, when nothing
    more may be asked here; `heard` with each answer."""

    def __init__(
        self,
        address: str,
        handshake: Handshake,
        limits: Limits,
        left: Callable[["Calling"], None],
        heard: Callable[[], None],
    ) -> None:
        super().__init__(handshake, limits)
        self._address, self._left, self._heard = address, left, heard
        self._pending: dict[int, asyncio.Future[bytes] | None] = {}  # None: nobody waits for it any more
        self._last = CONNECTION
        self._is_leaving = False
        self.room = Room(limits.most_open)
        self.opened: asyncio.Future[Member | PeerUnreachable] = self._loop.create_future()

    @property
    def is_usable(self) -> bool:
        return not self._is_over and not self._is_leaving

    async def request(self, body: bytes, seconds: float) -> bytes:
        """Of who has taken the room for it."""
        if self._is_over:
            self.room.give()
            raise PeerUnreachable(self._address, self.why)
        stream = self._last = self._next_stream()
        answered: asyncio.Future[bytes] = self._loop.create_future()
        self._pending[stream] = answered
        self.send(REQUEST, stream, body)
        late = self._loop.call_later(seconds, self._late, answered, seconds)
        try:
            return await answered
        finally:
            late.cancel()
            if stream in self._pending:
                self._pending[stream] = None

    def note(self, body: bytes) -> bool:
        """Not while others wait for room."""
        if not self.room.is_free:
            return False
        self.send(NOTE, CONNECTION, body)
        return True

    # What a connection says

    def take(self, kind: int, stream: int, body: bytes) -> None:
        if kind == ANSWER:
            answered = self._answered(stream, "answer")
            if answered is not None and not answered.done():
                answered.set_result(body)
        elif kind == REFUSAL and stream != CONNECTION:
            answered = self._answered(stream, "refusal")
            if answered is not None and not answered.done():
                answered.set_exception(refusal_of(body))
        elif kind == REFUSAL:
            self._declined(shown(refusal_of(body).text))
        elif kind == BYE:
            self._leave()
        elif kind == PING:
            if not self._is_paused:
                self.send(PONG, stream)
        elif kind != PONG:
            raise Refusal("malformed", f"a {KINDS[kind]} came where an answer must come")

    def refuse(self, refusal: Refusal) -> None:
        if isinstance(refusal, BadFrame) and not self._handshake.proven:
            refusal = Refusal(refusal.reason, f"that is not a node of a ring, or it uses TLS and we do not: {refusal}")
        super().refuse(refusal)

    def on_proven(self, peer: Member) -> None:
        if not self.opened.done():
            self.opened.set_result(peer)

    def on_refused(self, reason: str, text: str) -> None:
        """Who asks is told."""

    def on_over(self) -> None:
        """All that was asked fails at once."""
        self._left(self)
        if not self.opened.done():
            hint = " in the handshake; do both nodes use TLS, or both not?" if self.why == CLOSED_BY_PEER else ""
            self.opened.set_result(PeerUnreachable(self._address, self.why + hint))
        self.room.end(lambda: PeerUnreachable(self._address, self.why))
        for answered in self._pending.values():
            if answered is not None and not answered.done():
                answered.set_exception(PeerUnreachable(self._address, self.why, sent=True))
        self._pending.clear()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.room.pause()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.room.resume()

    # Answers

    def _answered(self, stream: int, what: str) -> asyncio.Future[bytes] | None:
        if stream not in self._pending:
            raise Refusal("malformed", f"stream {stream} has an {what} and was never asked anything")
        answered = self._pending.pop(stream)
        self.room.give()
        self._heard()
        if self._is_leaving and not self._pending:
            self.close("it was stopped")
        return answered

    def _late(self, answered: "asyncio.Future[bytes]", seconds: float) -> None:
        if not answered.done():
            text = f"it did not answer within {seconds:.3g} seconds"
            answered.set_exception(PeerUnreachable(self._address, text, sent=True))

    def _next_stream(self) -> int:
        stream = self._last
        while True:
            stream = stream + 1 if stream < LAST_STREAM else CONNECTION + 1
            if stream not in self._pending:
                return stream

    def _leave(self) -> None:
        """It will be gone soon; what it was asked before it answers first."""
        self._is_leaving = True
        self._left(self)
        self.room.end(lambda: PeerUnreachable(self._address, "it is being stopped"))
        if not self._pending:
            self.close("it was stopped")
