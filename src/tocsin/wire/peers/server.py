"""The server of a node of a ring: takes the connections of other nodes, and bounds how many."""

import asyncio
import contextlib
import secrets
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

from tocsin.model.refusal import Refusal
from tocsin.wire.peers.answering import Answering, Handler
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.frames import CONNECTION, REFUSAL, frame
from tocsin.wire.peers.handshake import NONCE_BYTES, Handshake, Member, checked, declined
from tocsin.wire.server import listen

_ACCEPT_AGAIN = 0.25  # seconds, when there are no descriptors left
_REPORT_AGAIN = 60.0  # seconds in which the same host is told of once
_MOST_REPORTED = 1024


class PeerServer:
    """`met` hears of each node that has proven itself; `report` in words of whom was not let in, and why.

    What the handler refuses is told to who asked. Of anything else that it raises no word leaves this node.
    """

    def __init__(
        self,
        handler: Handler,
        key: bytes,
        me: Member,
        *,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        report: Callable[[str], None] = lambda _: None,
        met: Callable[[Member], None] = lambda _: None,
    ) -> None:
        self.handler, self._key, self._me = handler, checked(key, me), me
        self._tls, self._limits = tls, limits or Limits()
        self._report, self._met = report, met
        self._connections: set[Answering] = set()
        self._unproven: set[Answering] = set()
        self._reported: dict[tuple[str, str], float] = {}
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def peers(self) -> list[Member]:
        """Who is connected."""
        return [each.peer for each in self._connections if each.peer is not None and not each.ended.done()]

    async def start(self, host: str, port: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listen(host, port)
        self.port = self._listener.getsockname()[1]
        self._accepting = self._loop.create_task(self._accept(self._listener))

    async def close(self) -> None:
        """What is being handled is answered, as long as that takes no longer than a bound."""
        await self._no_more()
        connections = [*self._connections, *self._unproven]
        for each in connections:
            each.leave()
        await self._drain([task for each in connections for task in each.handled])
        for each in connections:
            each.close("the node was stopped")
        await self._all_ended(connections)

    # What connections say

    def on_proven(self, connection: Answering, peer: Member) -> None:
        if len(self._connections) >= self._limits.most_connections:
            text = f"there are {len(self._connections)} connections already; try again a little later"
            raise Refusal("overloaded", text)
        self._unproven.discard(connection)
        self._connections.add(connection)
        self._met(peer)

    def on_refused(self, at: str, reason: str, text: str) -> None:
        """Who comes again and again is told of now and then."""
        now = self._loop.time()
        if now - self._reported.get((at, reason), -_REPORT_AGAIN) >= _REPORT_AGAIN:
            if len(self._reported) >= _MOST_REPORTED:
                self._reported.clear()
            self._reported[at, reason] = now
            self._report(f"the connection from {at} to the ring's port was ended: {text}")

    def on_ended(self, connection: Answering) -> None:
        self._unproven.discard(connection)
        self._connections.discard(connection)

    # Connections

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                opened, address = await self._loop.sock_accept(listener)
            except OSError as problem:
                self.on_refused("anywhere", "accept", f"none can be taken: {problem.strerror}")
                await asyncio.sleep(_ACCEPT_AGAIN)
                continue
            if len(self._unproven) < self._limits.most_unproven:
                self._own(self._admit(opened, str(address[0])))
            else:
                self._turn_away(opened, str(address[0]))

    async def _admit(self, opened: socket.socket, at: str) -> None:
        """With TLS, who does not finish its handshake counts as not proven too."""
        handshake = Handshake("answerer", self._key, self._me, secrets.token_bytes(NONCE_BYTES))
        connection = Answering(self, at, handshake, self._limits)
        self._unproven.add(connection)
        seconds = self._limits.handshake_seconds if self._tls else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, opened, ssl=self._tls, ssl_handshake_timeout=seconds
            )
        except OSError as problem:
            self._unproven.discard(connection)
            self.on_refused(at, "tls", f"{'TLS was not agreed on' if self._tls else 'it was lost'}: {problem}")
        except asyncio.CancelledError:
            self._unproven.discard(connection)
            raise

    def _turn_away(self, opened: socket.socket, at: str) -> None:
        text = f"{len(self._unproven)} connections have not proven themselves yet; try again a little later"
        self.on_refused(at, "overloaded", text)
        with contextlib.suppress(OSError):
            if self._tls is None:
                opened.send(frame(REFUSAL, CONNECTION, declined(Refusal("overloaded", text))))
        opened.close()

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The end

    async def _no_more(self) -> None:
        if self._listener is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
            self._listener.close()
        await asyncio.sleep(0)  # one that was cancelled before it began would not close its socket
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _drain(self, handled: list[asyncio.Task[None]]) -> None:
        if handled:
            _, late = await asyncio.wait(handled, timeout=self._limits.closing_seconds)
            for task in late:
                task.cancel()
            await asyncio.wait(handled, timeout=self._limits.closing_seconds)

    async def _all_ended(self, connections: list[Answering]) -> None:
        if connections:
            await asyncio.wait([each.ended for each in connections], timeout=self._limits.closing_seconds)
            for each in connections:
                if not each.ended.done():
                    each.lose("the node was stopped")
            await asyncio.wait([each.ended for each in connections], timeout=self._limits.closing_seconds)
