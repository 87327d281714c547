"""Rings of real processes: started, killed, cut off and let back."""

import asyncio
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from tests.whole.acts import IMPATIENT, call, until
from tests.whole.shell import BrokerProcess, document

from tocsin.model.names import QName, Topic
from tocsin.routing.ring.topic_keys import key_of_topic
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peers.handshake import MAGIC

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

    async def begin_behind(self, lines: "Lines", **flags: str) -> BrokerProcess:
        """One that the others reach by lines that can be cut."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        at = await lines.listen(port)
        made = await self.begin(**flags, **{"ring-port": str(port), "ring-advertise": f"127.0.0.1:{at}"})
        lines.names[at] = await self.name_of(made)
        return made

    async def name_of(self, node: BrokerProcess) -> str:
        return str(document((await call(self.http, "GET", f"{node.url}/peer/ring")).body)["node"])

    async def topic_at(self, node: BrokerProcess) -> str:
        """One whose key that node has."""
        name, owner = await self.name_of(node), await self.owners()
        names = (f"topic{number}" for number in count())
        return next(each for each in names if owner(key_of_topic(Topic((QName("", each),)))) == name)

    async def owners(self) -> Callable[[int], str]:
        """Who has a key by now."""
        members = (await self.view(self.at(0)))["members"]
        places = sorted((int(each["id"], 16), str(each["node"])) for each in members)
        return lambda key: next((owner for place, owner in places if place >= key), places[0][1])

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


class Lines:
    """What nodes say to each other goes through here, so that some can be cut off from others.

    Who calls is read from the first frame of a connection: it is of no use to a node that does not have the key.
    """

    def __init__(self) -> None:
        self._sides: list[frozenset[str]] = []
        self._open: set[tuple[str, str, asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self.names: dict[int, str] = {}  # by the port that a node advertises
        self._servers: list[asyncio.Server] = []
        self._carrying: set[asyncio.Task[None]] = set()

    async def listen(self, port: int) -> int:
        """The port that leads to that one."""
        made: list[int] = []

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._carry(made[0], port, reader, writer))
            self._carrying.add(task)
            task.add_done_callback(self._carrying.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self._servers.append(server)
        made.append(server.sockets[0].getsockname()[1])
        return made[0]

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self, *sides: Iterable[str]) -> None:
        """Nodes of two sides do not reach each other; by their names. Without sides all reach all."""
        self._sides = [frozenset(each) for each in sides]
        for line in list(self._open):
            if not self._reaches(*line[:2]):
                for writer in line[2:]:
                    writer.transport.abort()

    def _reaches(self, one: str, other: str) -> bool:
        return not any((one in side) != (other in side) for side in self._sides)

    async def _carry(self, at: int, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far: asyncio.StreamWriter | None = None
        try:
            head = await reader.readexactly(9)
            hello = await reader.readexactly(int.from_bytes(head[:4]))
            caller = str(msgspec.msgpack.decode(hello[len(MAGIC) :])[2])
            if self._reaches(caller, self.names.get(at, "")):
                back, far = await asyncio.open_connection("127.0.0.1", port)
                line = (caller, self.names.get(at, ""), writer, far)
                self._open.add(line)
                far.write(head + hello)
                await asyncio.gather(_copy(reader, far), _copy(back, writer))
                self._open.discard(line)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in (writer, far):
                if each is not None:
                    each.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.transport.abort()


def _is_whole(seen: dict[str, Any], many: int) -> bool:
    return len(seen["members"]) == many and all(each["ready"] for each in seen["members"])
