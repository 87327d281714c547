"""What became of the messages that were published here, from the reports that came back."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Sequence

import msgspec

from tocsin.model.identity import MessageId
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Handled, Publication
from tocsin.routing.implicit.result import Dissemination, dissemination
from tocsin.store.implicit import ImplicitTables

_decode: Callable[[bytes], Handled] = msgspec.msgpack.Decoder(Handled).decode


class Results:
    def __init__(self, tables: ImplicitTables) -> None:
        self._tables = tables
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._closing = False

    async def publication(self, message: str) -> Publication:
        found = await asyncio.to_thread(self._tables.publication, message)
        if found is None:
            text = f"no message {message[:200]!r} was published here, or it is no longer kept; ask its root's node"
            raise Refusal("unknown-name", text)
        return found

    async def latest(self, limit: int) -> Sequence[Publication]:
        return await asyncio.to_thread(self._tables.publications, limit)

    async def of(self, message: str, seconds: float) -> Dissemination:
        """Waits so long for its end."""
        begun, more = await self.publication(message), asyncio.Event()
        self._waiting[message].add(more)
        try:
            found = await self._read(begun)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while seconds and not found.complete and not self._closing:
                        await more.wait()
                        more.clear()
                        found = await self._read(begun)
        finally:
            self._waiting[message].discard(more)
            if not self._waiting[message]:
                del self._waiting[message]
        return found

    def heard(self, message: MessageId) -> None:
        if message in self._waiting:
            for each in self._waiting[message]:
                each.set()

    def stop_waiting(self) -> None:
        self._closing = True
        for message in list(self._waiting):
            self.heard(MessageId(message))

    async def _read(self, begun: Publication) -> Dissemination:
        return await asyncio.to_thread(self._made, begun)

    def _made(self, begun: Publication) -> Dissemination:
        reports = map(_decode, self._tables.reports(begun.id))
        return dissemination(begun.protocol, begun.root, begun.when, reports)
