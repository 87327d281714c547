"""The side that asks: a link to one node, and the links to all of them.

A link is opened when it is first needed, kept, and opened again when it is lost. A node that cannot be reached is left
alone for a while, longer each time, unless it is heard of: who waits out that while is then woken at once. What was
asked is never asked again by itself: whether it was done there nobody knows, and only who asked knows if that matters.
"""

import asyncio
import random
import secrets
import ssl
from collections.abc import Callable

from msgspec import Struct

from tocsin.model.refusal import Refusal
from tocsin.wire.addresses import BadAddress, place
from tocsin.wire.peers.calling import Calling, PeerUnreachable
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.frames import BYE, CONNECTION
from tocsin.wire.peers.handshake import NONCE_BYTES, Handshake, Member, checked

MOST_NOTES = 64  # that wait for a connection
CLOSED = "the links of this node were closed"


class Patience(Struct, frozen=True):
    """After a failure a link waits from half of `first` seconds up to `last`, doubling; a connection that was lost
    sooner than `brief` after it was opened is a failure too. In a pool one that is `idle` for long is closed."""

    connect: float = 5.0
    first: float = 0.1
    last: float = 5.0
    brief: float = 1.0
    idle: float = 60.0


class PeerLink:
    """Made inside the running loop. `report` hears in words why it cannot be opened, once until it can."""

    def __init__(
        self,
        address: str,
        key: bytes,
        me: Member,
        *,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        patience: Patience | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.address, self._key, self._me = address, checked(key, me), me
        self._tls, self._limits, self._patience = tls, limits or Limits(), patience or Patience()
        self._report = report
        self._connection: Calling | None = None
        self._connections: set[Calling] = set()  # with those that are being left
        self._opening: asyncio.Task[Calling | PeerUnreachable] | None = None
        self._notes: list[bytes] = []
        self._listening: set[asyncio.Future[None]] = set()
        self._failures, self._again_at, self._opened_at = 0, 0.0, 0.0
        self._is_closed = False
        self.used_at = self._loop.time()
        self.peer: Member | None = None  # who answered last
        self.trouble: PeerUnreachable | None = None  # why there is no connection

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    @property
    def is_idle(self) -> bool:
        """Nobody waits for anything here."""
        busy = any(each.room.is_used for each in self._connections)
        return not busy and self._opening is None and not self._listening

    async def request(self, body: bytes, seconds: float, *, patient: bool = True) -> bytes:
        """The answer; PeerUnreachable, or the Refusal of the other node. All of it takes so many seconds at most.

        Who is not patient does not wait for a node that just could not be reached.
        """
        self._check(body)
        began = self.used_at = self._loop.time()
        connection = self._connection
        if connection is not None and connection.room.is_free:
            connection.room.take()
        else:
            connection = await self._ready(seconds, patient)
            seconds = max(0.0, seconds - (self._loop.time() - began))
        return await connection.request(body, seconds)

    def note(self, body: bytes) -> bool:
        """To be handled without an answer, or lost; False if it certainly is."""
        self._check(body)
        self.used_at = self._loop.time()
        if self._connection is not None:
            return self._connection.note(body)
        if self._is_closed or len(self._notes) >= MOST_NOTES:
            return False
        self._notes.append(body)
        self._open_soon()
        return True

    def heard(self) -> None:
        """The node is there: whoever waits for it need not wait longer."""
        self._failures = 0
        self._wake()

    def _wake(self) -> None:
        self._again_at = 0.0
        for each in self._listening:
            if not each.done():
                each.set_result(None)
        self._listening.clear()

    async def until_heard(self, seconds: float) -> bool:
        """At most so long; whether the node was heard of."""
        heard: asyncio.Future[None] = self._loop.create_future()
        self._listening.add(heard)
        try:
            async with asyncio.timeout(seconds):
                await heard
        except TimeoutError:
            return False
        finally:
            self._listening.discard(heard)
        return not self._is_closed

    async def close(self) -> None:
        """What is under way fails."""
        self._is_closed = True
        self.heard()
        await asyncio.sleep(0)  # one that was cancelled before it began would say nothing to who waits for it
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        await self.let_go(CLOSED)

    async def let_go(self, why: str) -> None:
        """The connection; the next request opens another."""
        connections = list(self._connections)
        for each in connections:
            each.send(BYE, CONNECTION)
            each.close(why)
        if connections:
            await asyncio.wait([each.ended for each in connections], timeout=2 * self._limits.closing_seconds)

    # The connection

    def _check(self, body: bytes) -> None:
        if len(body) > self._limits.most_bytes:
            text = (
                f"a request has {len(body)} bytes; {self._limits.most_bytes} are the most that a node of a ring sends"
            )
            raise Refusal("too-large", text)

    async def _ready(self, seconds: float, patient: bool) -> Calling:
        """A connection of which room is taken."""
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connected(patient)
                await connection.room.taken()
                return connection
        except TimeoutError:
            text = f"there was no connection with room within {seconds:.3g} seconds"
            raise PeerUnreachable(self.address, self.trouble.text if self.trouble else text) from None

    async def _connected(self, patient: bool) -> Calling:
        if self._connection is not None:
            return self._connection
        if self._is_closed:
            raise PeerUnreachable(self.address, CLOSED)
        if not patient and self._again_at > self._loop.time():
            raise PeerUnreachable(self.address, self.trouble.text if self.trouble else "it is waited for")
        found = await asyncio.shield(self._open_soon())
        if isinstance(found, PeerUnreachable):
            raise PeerUnreachable(self.address, found.text)
        return found

    def _open_soon(self) -> "asyncio.Task[Calling | PeerUnreachable]":
        if self._opening is None:
            self._opening = self._loop.create_task(self._open())
        return self._opening

    async def _open(self) -> Calling | PeerUnreachable:
        try:
            if (pause := self._again_at - self._loop.time()) > 0:
                await self.until_heard(pause)
            connection = await self._connect()
            found = await connection.opened
            if isinstance(found, PeerUnreachable):
                raise found
        except PeerUnreachable as problem:
            return self._failed(problem)
        except asyncio.CancelledError:
            return PeerUnreachable(self.address, CLOSED)
        finally:
            self._opening = None
        return self._succeeded(connection, found)

    async def _connect(self) -> Calling:
        seconds = self._patience.connect
        try:
            host, port = place(f"tcp://{self.address}", soap=True)
            async with asyncio.timeout(seconds):
                _, connection = await self._loop.create_connection(self._made, host, port, ssl=self._tls)
        except TimeoutError:
            raise PeerUnreachable(self.address, f"it did not connect within {seconds:g} seconds") from None
        except BadAddress as problem:
            raise PeerUnreachable(self.address, f"{problem}; a node of a ring is at host:port") from None
        except ssl.SSLError as problem:
            raise PeerUnreachable(self.address, f"TLS was not agreed on: {problem}") from None
        except OSError as problem:
            raise PeerUnreachable(self.address, f"it cannot be connected to: {problem.strerror or problem}") from None
        self._connections.add(connection)
        connection.ended.add_done_callback(lambda _: self._connections.discard(connection))
        return connection

    def _made(self) -> Calling:
        handshake = Handshake("caller", self._key, self._me, secrets.token_bytes(NONCE_BYTES))
        return Calling(self.address, handshake, self._limits, self._left, self._answered)

    def _succeeded(self, connection: Calling, peer: Member) -> Calling | PeerUnreachable:
        if not connection.is_usable:  # it left in one breath with its proof
            return self._failed(PeerUnreachable(self.address, connection.why or "it is being stopped"))
        self._connection, self.peer, self.trouble = connection, peer, None
        self._opened_at = self._loop.time()
        self._wake()
        for body in self._notes:
            connection.note(body)
        self._notes.clear()
        return connection

    def _failed(self, problem: PeerUnreachable) -> PeerUnreachable:
        if self.trouble is None or self.trouble.text != problem.text:
            self._report(f"a node of the ring is not reached, it is tried again: {problem}")
        self.trouble = problem
        self._notes.clear()
        self._wait_longer()
        return problem

    def _wait_longer(self) -> None:
        longest = min(self._patience.last, self._patience.first * 2.0 ** min(self._failures, 32))
        self._failures += 1
        self._again_at = self._loop.time() + random.uniform(longest / 2, longest)

    def _left(self, connection: Calling) -> None:
        if self._connection is not connection:
            return
        self._connection, self.trouble = None, PeerUnreachable(self.address, connection.why or "it is being stopped")
        if self._loop.time() - self._opened_at < self._patience.brief:
            self._wait_longer()
        else:
            self._failures = 0

    def _answered(self) -> None:
        if self._listening:
            self.heard()
