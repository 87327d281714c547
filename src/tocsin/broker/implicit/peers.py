"""What leaves for other nodes and for notifiers of others: a lane for each and for each kind, each with its own
patience, so that what fails costs the others nothing."""

import asyncio

from tocsin.broker.implicit.lane import Lane, Means
from tocsin.store.implicit_outbox import Kind

Name = tuple[str, Kind]


class Peers:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._more: set[Name] = set()
        self._tasks: dict[Name, asyncio.Task[None]] = {}

    async def start(self) -> None:
        for peer, kind in await asyncio.to_thread(self._means.outbox.lanes):
            self.send(peer, kind)

    def send(self, peer: str, kind: Kind) -> None:
        """There is something for it. A sender lives only while there is."""
        name = (peer, kind)
        self._more.add(name)
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(self._empty(name))

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _empty(self, name: Name) -> None:
        try:
            while name in self._more:
                self._more.discard(name)
                await Lane(*name, self._means).empty()
        finally:
            del self._tasks[name]
