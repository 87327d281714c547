"""Links to other nodes, one for each address."""

import asyncio
import ssl
from collections.abc import Callable

from tocsin.wire.peers.calling import PeerUnreachable
from tocsin.wire.peers.client import CLOSED, Patience, PeerLink
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.handshake import Member, checked


class PeerLinks:
    """Made inside the running loop. A link is kept as long as it is used, and a while longer."""

    def __init__(
        self,
        key: bytes,
        me: Member,
        *,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        patience: Patience | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._key, self._me, self._tls, self._limits = checked(key, me), me, tls, limits
        self._patience, self._report = patience or Patience(), report
        self._links: dict[str, PeerLink] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._sweeper = self._loop.call_later(self._patience.idle / 4, self._sweep)

    def __len__(self) -> int:
        return len(self._links)

    async def request(self, address: str, body: bytes, seconds: float, *, patient: bool = True) -> bytes:
        return await self._link(address).request(body, seconds, patient=patient)

    def note(self, address: str, body: bytes) -> bool:
        return self._link(address).note(body)

    def heard(self, address: str) -> None:
        """The node at this address is there: it connected to us, or somebody tells."""
        if (link := self._links.get(address)) is not None:
            link.heard()

    async def until_heard(self, address: str, seconds: float) -> bool:
        """For who waits before it tries again: at most so long; whether the node was heard of."""
        return await self._link(address).until_heard(seconds)

    def link(self, address: str) -> PeerLink | None:
        """As it is now: for who shows it."""
        return self._links.get(address)

    async def close(self) -> None:
        self._is_closed = True
        self._sweeper.cancel()
        closing = [link.close() for link in self._links.values()]
        await asyncio.gather(*closing, *self._ending)
        self._links.clear()

    def _link(self, address: str) -> PeerLink:
        if (link := self._links.get(address)) is None:
            if self._is_closed:
                raise PeerUnreachable(address, CLOSED)
            link = self._links[address] = PeerLink(
                address,
                self._key,
                self._me,
                tls=self._tls,
                limits=self._limits,
                patience=self._patience,
                report=self._report,
            )
        return link

    def _sweep(self) -> None:
        before = self._loop.time() - self._patience.idle
        for address, link in list(self._links.items()):
            if link.used_at <= before and link.is_idle:
                del self._links[address]
                task = self._loop.create_task(link.close())
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
        self._sweeper = self._loop.call_later(self._patience.idle / 4, self._sweep)
