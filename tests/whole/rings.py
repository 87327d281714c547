"""Rings of real processes: started, killed, cut off and let back."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.whole.acts import IMPATIENT, call, until
from tests.whole.shell import BrokerProcess, document

from tocsin.wire.http_client import HttpClient

# Quick enough for a test, and slow enough for a machine that is busy with others.
QUICK = {"ring-beat": "300ms", "ring-lease": "2s", "ring-silence": "3s"}


@dataclass
class ProcessRing:
    """Nodes by their number, in the order in which they came; `gone` are those that were killed or stopped."""

    folder: Path
    http: HttpClient
    flags: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, BrokerProcess] = field(default_factory=dict)
    gone: dict[int, BrokerProcess] = field(default_factory=dict)
    count: int = 0

    async def grow(self, many: int, **flags: str) -> None:
        """The first alone, the others at once."""
        if not self.nodes:
            await self.begin(**flags)
            many -= 1
        await asyncio.gather(*(self.begin(**flags) for _ in range(many)))
        await self.settled()

    async def begin(self, **flags: str) -> BrokerProcess:
        number, self.count = self.count, self.count + 1
        join = {"ring-join": next(iter(self.nodes.values())).url} if self.nodes else {}
        settings = IMPATIENT | QUICK | self.flags | flags | join
        made = await asyncio.to_thread(BrokerProcess.start, self.folder / f"node{number}", settings)
        self.nodes[number] = made
        return made

    async def again(self, number: int) -> BrokerProcess:
        """On its own data, at the same place."""
        before = self.gone.pop(number)
        settings = IMPATIENT | QUICK | self.flags
        made = await asyncio.to_thread(BrokerProcess.start, before.data, settings, before.port)
        self.nodes[number] = made
        return made

    def kill(self, number: int) -> None:
        self.gone[number] = self.nodes.pop(number)
        self.gone[number].kill()

    @property
    def each(self) -> list[BrokerProcess]:
        return list(self.nodes.values())

    def at(self, number: int) -> BrokerProcess:
        """One of them, in turn."""
        return self.each[number % len(self.nodes)]

    async def settled(self, names: Iterable[int] | None = None) -> None:
        """Until those nodes, or all of them, see exactly themselves in the ring, each with all of its part."""
        those = self.each if names is None else [self.nodes[name] for name in names]
        for node in those:
            await until(lambda node=node: self.view(node), lambda seen: _is_whole(seen, len(those)))  # type: ignore[misc]

    async def view(self, node: BrokerProcess) -> dict[str, Any]:
        answer = await call(self.http, "GET", f"{node.url}/api/ring")
        return dict(document(answer.body)) if answer.status == 200 else {"members": []}

    def close(self) -> None:
        for each in self.nodes.values():
            each.kill()


def _is_whole(seen: dict[str, Any], many: int) -> bool:
    return len(seen["members"]) == many and all(each["ready"] for each in seen["members"])
