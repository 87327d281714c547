"""One connection at the side that answers. Requests are handled side by side; what has no room waits in the socket of
who asks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from tocsin.model.refusal import Reason, Refusal
from tocsin.wire.peers.connection import Connection, Limits
from tocsin.wire.peers.frames import ANSWER, BYE, CONNECTION, KINDS, NOTE, PING, PONG, REFUSAL, REQUEST, BadFrame
from tocsin.wire.peers.handshake import Handshake, Member, declined, refusal_of, shown

Handler = Callable[[str, bytes], Awaitable[bytes]]  # the name of who asks, and what; a Refusal is told to it

CANNOT_HANDLE: Reason = "cannot-store"  # of those that are our fault the one that does not blame much work
_UNHANDLED = Refusal(CANNOT_HANDLE, "the node could not handle it; its own log says why")
_STOPPING = Refusal("overloaded", "the node is being stopped; this was not begun")
_ENDED = Refusal(CANNOT_HANDLE, "the node is being stopped; this was begun and may not be done")
_NOT_HTTP = b"This is the port at which the nodes of a ring talk to each other; HTTP is served at another.\n"
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_NOT_HTTP), _NOT_HTTP)
)


class Host(Protocol):
    """The server, as its connections see it."""

    handler: Handler

    def on_proven(self, connection: "Answering", peer: Member) -> None: ...

    def on_refused(self, at: str, reason: str, text: str) -> None: ...

    def on_ended(self, connection: "Answering") -> None:
        """Neither the connection nor anything that it asked for is there any more."""


class Answering(Connection):
    def __init__(self, server: Host, at: str, handshake: Handshake, limits: Limits) -> None:
        super().__init__(handshake, limits)
        self._server, self._at = server, at
        self._handled: dict[int, asyncio.Task[None]] = {}  # requests by their streams, notes by numbers below zero
        self._waiting: dict[int, bytes] = {}  # what came in one piece with the last that had room
        self._held = self._notes = 0  # bytes of what is being handled; notes so far
        self._is_leaving = False
        self.peer: Member | None = None

    @property
    def handled(self) -> list[asyncio.Task[None]]:
        return list(self._handled.values())

    def leave(self) -> None:
        """What is handled now is answered, nothing else."""
        self._is_leaving = True
        if self.peer is None:
            self.close("the node is being stopped")
            return
        for number in self._waiting:
            self._decline(number, _STOPPING)
        self._waiting.clear()
        self._resume_reading()
        self.send(BYE, CONNECTION)

    # What a connection says

    def take(self, kind: int, stream: int, body: bytes) -> None:
        if kind == REQUEST:
            self._asked(stream, body)
        elif kind == NOTE:
            self._notes += 1
            self._asked(-self._notes, body)
        elif kind == PING:
            if not self._is_paused:  # who reads no answers needs none to this
                self.send(PONG, stream)
        elif kind == REFUSAL:
            self._declined(shown(refusal_of(body).text))
        elif kind not in (PONG, BYE):  # who says bye closes the connection itself
            raise Refusal("malformed", f"a {KINDS[kind]} came where a request must come")

    def refuse(self, refusal: Refusal) -> None:
        if self.peer is None and isinstance(refusal, BadFrame):
            if refusal.is_http:
                self.end_with(_BAD_REQUEST, "it speaks HTTP")
                return
            if refusal.is_tls:
                refusal = Refusal("malformed", "TLS is spoken to a node whose ring is set up without it")
        super().refuse(refusal)

    def on_proven(self, peer: Member) -> None:
        self.peer = peer
        self._server.on_proven(self, peer)

    def on_refused(self, reason: str, text: str) -> None:
        self._server.on_refused(self._at, reason, text)

    def on_over(self) -> None:
        self._waiting.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self._handled:
            self._server.on_ended(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._next()

    # Requests

    def _asked(self, number: int, body: bytes) -> None:
        if number == CONNECTION or number in self._handled or number in self._waiting:
            raise Refusal("malformed", f"stream {number} is not free for a request")
        if self._is_leaving:
            self._decline(number, _STOPPING)
        elif self._waiting or not self._has_room(len(body)):
            self._waiting[number] = body
            self._pause_reading()
        else:
            self._start(number, body)

    def _has_room(self, length: int) -> bool:
        """One that is large is taken alone; none as long as answers are not read."""
        if len(self._handled) >= self.limits.most_open or self._is_paused:
            return False
        return not self._handled or self._held + length <= self.limits.most_held

    def _start(self, number: int, body: bytes) -> None:
        self._held += len(body)
        self._handled[number] = self._loop.create_task(self._handle(number, body))

    async def _handle(self, number: int, body: bytes) -> None:
        assert self.peer is not None
        try:
            answer = await self._server.handler(self.peer.name, body)
            self._answer(number, answer)
        except Refusal as refusal:
            self._decline(number, refusal)
        except asyncio.CancelledError:
            self._decline(number, _ENDED)
        except Exception as problem:
            self._loop.call_exception_handler(
                {"message": "what a peer asks could not be handled", "exception": problem}
            )
            self._decline(number, _UNHANDLED)
        finally:
            self._done(number, len(body))

    def _answer(self, number: int, answer: bytes) -> None:
        if len(answer) > self.limits.most_bytes:
            text = f"the answer has {len(answer)} bytes; {self.limits.most_bytes} are the most that are sent"
            raise Refusal("too-large", text)
        if number > CONNECTION:
            self.send(ANSWER, number, answer)

    def _decline(self, number: int, refusal: Refusal) -> None:
        if number > CONNECTION:
            self.send(REFUSAL, number, declined(refusal))

    def _done(self, number: int, length: int) -> None:
        del self._handled[number]
        self._held -= length
        if self._waiting:
            self._next()
        if not self._handled and self.ended.done():
            self._server.on_ended(self)

    def _next(self) -> None:
        while self._waiting:
            number = next(iter(self._waiting))
            if not self._has_room(len(self._waiting[number])):
                return
            self._start(number, self._waiting.pop(number))
        self._resume_reading()
