"""The world of a node that does not keep it: the part that its own notifiers need, as the registry last said it.

It stays in the store, so that notifiers go on while the registry cannot be reached.
"""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import TypeVar
from urllib.parse import urlencode

from msgspec.structs import replace

from tocsin.delivery.retry import delay, describe
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.refusal import Refusal
from tocsin.runtime.peers import Link
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.partition import Entry, Partition
from tocsin.semantics.interest.taxonomy import Taxonomy
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

Said = TypeVar("Said")


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
        self._part, self._topics = Partition(), Taxonomy("topic")
        self._keeping = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self._found: dict[str, Entry] = {}  # what was asked for since the part came, or is in none
        if (kept := tables.part()) is not None:
            self._part = decode_part(kept)
            self._topics = Taxonomy("topic", self._part.topics)

    def start(self) -> None:
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    @property
    def topics(self) -> Taxonomy:
        return self._topics

    def neighbours(self, service: str, topic: str) -> Sequence[str]:
        return self._part.neighbours(service, topic)

    def current(self, service: Service) -> Service:
        return replace(service, categories=self._part.own.get(service.name, service.categories))

    def entry(self, name: str) -> Entry | None:
        return self._found.get(name) or self._part.entries.get(name)

    async def find(self, names: Iterable[str]) -> None:
        missing = [name for name in names if self.entry(name) is None]
        found = await self.look_up(missing)
        if nobody := [name for name in missing if name not in found]:
            raise Refusal("unknown-name", f"there is no service {nobody[0]!r} in the world that {self._address} keeps")

    async def look_up(self, names: Iterable[str]) -> Mapping[str, Entry]:
        if not (asked := tuple(names)):
            return {}
        found = await self._asked(ENTRIES, asked, decode_entries)
        for name in asked:
            self._found.pop(name, None)
        self._found |= found
        return found

    async def register(self, asked: Registering) -> None:
        """The answer is the part as it is with that: who has registered can be told, and can tell, at once."""
        once = replace(asked, when=self._link.now(), nonce=uuid.uuid4().hex)
        await self._keep(await self._asked(SERVICES, once, decode_part))

    async def _asked(self, target: str, what: object, decode: Callable[[bytes], Said]) -> Said:
        answer = await self._link.ask("POST", self._address, target, encode(what))
        try:
            if answer.status == 200:
                return decode(answer.body)
            raise decode_declined(answer.body).refusal()
        except UNREADABLE:
            text = f"{self._address}, which keeps the world, does not answer: {describe(answer)}; try again later"
            raise Refusal("overloaded", text) from None

    async def _follow(self) -> None:
        failed = 0
        while True:
            after = self._part.version
            target = f"{PART}?{urlencode({'node': self._node, 'after': after})}"
            answer = await self._link.ask("GET", self._address, target)
            failed = 0 if await self._followed(answer, after) else failed + 1
            if failed == 1:
                self._report(f"the world at {self._address} cannot be followed: {describe(answer)}")
            if failed:
                await asyncio.sleep(delay(answer, failed, self._patience, self._random))

    async def _followed(self, answer: Answer, after: int) -> bool:
        """204 says that nothing has changed for a while."""
        try:
            if answer.status == 200:
                await self._keep(decode_part(answer.body), after)
        except (StoreError, *UNREADABLE, Refusal):
            return False
        return answer.status in (200, 204)

    async def _keep(self, part: Partition, after: int | None = None) -> None:
        """An answer that was overtaken by a later one is passed over. What follows on the version that is known here
        counts whatever its own is: a registry that was set up anew begins from the first again."""
        async with self._keeping:
            if part.version > self._part.version or after == self._part.version:
                topics = Taxonomy("topic", part.topics)
                await asyncio.to_thread(self._tables.keep_part, encode(part))
                self._topics, self._part = topics, part
                self._found = {name: entry for name, entry in self._found.items() if name not in part.entries}
