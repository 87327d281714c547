"""The world of a node that does not keep it: the part that its own notifiers need, as the registry last said it.

It stays in the store, so that notifiers go on while the registry cannot be reached.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from random import Random
from urllib.parse import urlencode

from msgspec.structs import replace

from tocsin.app.implicit.peers import Link
from tocsin.delivery.retry import delay, describe
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.refusal import Refusal
from tocsin.semantics.part import Entry, Part
from tocsin.semantics.service import Service
from tocsin.semantics.taxonomy import Taxonomy
from tocsin.store.errors import StoreError
from tocsin.store.implicit import ImplicitTables
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import (
    ENTRIES,
    PART,
    SERVICES,
    UNREADABLE,
    Registering,
    decode_declined,
    decode_entries,
    decode_part,
    encode,
)


class RemoteRegistry:
    def __init__(
        self,
        address: str,
        node: str,
        link: Link,
        tables: ImplicitTables,
        patience: DeliverySettings,
        report: Callable[[str], None],
    ) -> None:
        self._address, self._node, self._link, self._tables, self._patience = address, node, link, tables, patience
        self._random, self._report = Random(), report
        self._part, self._topics = Part(), Taxonomy("topic")
        self._found: dict[str, Entry] = {}  # of those whom services named by themselves
        if (kept := tables.part()) is not None:
            self._use(decode_part(kept))

    def start(self) -> None:
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    @property
    def topics(self) -> Taxonomy:
        return self._topics

    @property
    def version(self) -> int:
        return self._part.version

    def neighbours(self, service: str, topic: str) -> Sequence[str]:
        return self._part.neighbours(service, topic)

    def current(self, service: Service) -> Service:
        return replace(service, categories=self._part.own.get(service.name, service.categories))

    def entry(self, name: str) -> Entry | None:
        return self._part.entries.get(name) or self._found.get(name)

    async def find(self, names: Iterable[str]) -> None:
        if missing := tuple(name for name in names if self.entry(name) is None):
            self._found |= decode_entries(await self._asked(ENTRIES, missing))

    async def register(self, asked: Registering) -> None:
        """The answer is the part as it is with that: who has registered can be told, and can tell, at once."""
        await self._keep(await self._asked(SERVICES, asked))

    async def _asked(self, target: str, what: object) -> bytes:
        answer = await self._link.ask("POST", self._address, target, encode(what))
        if answer.status == 200:
            return answer.body
        try:
            raise decode_declined(answer.body).refusal()
        except UNREADABLE:
            text = f"{self._address}, which keeps the world, does not answer: {describe(answer)}; try again later"
            raise Refusal("overloaded", text) from None

    async def _follow(self) -> None:
        failed = 0
        while True:
            target = f"{PART}?{urlencode({'node': self._node, 'after': self._part.version})}"
            answer = await self._link.ask("GET", self._address, target)
            failed = 0 if await self._followed(answer) else failed + 1
            if failed == 1:
                self._report(f"the world at {self._address} cannot be followed: {describe(answer)}")
            if failed:
                await asyncio.sleep(delay(answer, failed, self._patience, self._random))

    async def _followed(self, answer: Answer) -> bool:
        """204 says that nothing has changed for a while."""
        try:
            if answer.status == 200:
                await self._keep(answer.body)
        except (StoreError, *UNREADABLE, Refusal):
            return False
        return answer.status in (200, 204)

    async def _keep(self, body: bytes) -> None:
        """Whatever its version: a registry that was set up anew counts from the beginning again."""
        part = decode_part(body)
        if part != self._part:
            await asyncio.to_thread(self._tables.keep_part, body)
            self._use(part)

    def _use(self, part: Part) -> None:
        self._topics = Taxonomy("topic", part.topics)
        self._part, self._found = part, {}
