"""Nodes of one world as processes: a keeper with the central history behind a delayed link, and runners."""

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from tocsin.lab.benches._stage import Lost, Process, started
from tocsin.wire.server import no_more

PIECE = 1 << 16


class Way:
    """`seconds` there and back; it may be changed at any time."""

    def __init__(self, port: int, seconds: float = 0.0) -> None:
        self.seconds, self.port = seconds, 0
        self._to = port

    async def open(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
            ends.append(back)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, back))
                both.create_task(self._pass_on(there, writer))
            await asyncio.sleep(self.seconds)  # the last piece is still on its way
        finally:
            for each in ends:
                each.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(PIECE):
                loop.call_later(self.seconds / 2, writer.write, piece)
        if writer.can_write_eof():
            loop.call_later(self.seconds / 2, writer.write_eof)


@contextlib.contextmanager
def delayed(port: int) -> Iterator[Way]:
    """In a thread of its own, so that whoever measures may wait."""
    loop, way = asyncio.new_event_loop(), Way(port)
    server = loop.run_until_complete(way.open())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield way
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    await no_more(server)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0.05)  # what was cut is closed in the next turns of the loop


PATIENCE = 30  # seconds


class Became(Struct, frozen=True):
    """What the root's node tells of a message."""

    notifications: int
    repetitions: int
    receivers: tuple[str, ...]
    ms: float
    complete: bool
    stopped: str | None = None


class Nodes(Struct, frozen=True):
    """`way` is between the nodes with notifiers and the central history."""

    keeper: Process
    runners: tuple[Process, ...]
    way: Way

    def learn(self, world: Mapping[str, object]) -> None:
        self.keeper.ask("PUT", "/api/world", world)

    def create(self, number: int, name: str, categories: Sequence[str], address: str = "") -> None:
        """By turns on the nodes."""
        asked = {"name": name, "categories": list(categories), "address": address}
        self.runner(number).ask("POST", "/api/notifiers", asked)

    def runner(self, number: int) -> Process:
        return self.runners[number % len(self.runners)]

    def publish(self, number: int, root: str, topic: str, protocol: str) -> str:
        asked = {"topic": topic, "data": "lab", "protocol": protocol}
        told = self.runner(number).ask("POST", f"/api/notifiers/{quote(root, safe='')}/publish", asked)
        return str(told["id"])

    def became(self, number: int, message: str) -> Became:
        """Lost when it has no end."""
        path = f"/api/disseminations/{quote(message, safe='')}?wait={PATIENCE}"
        found: Became = self.runner(number).ask("GET", path, kind=Became)
        if not found.complete:
            raise Lost(f"{message} has not reached all in {PATIENCE} s")
        return found


@contextlib.contextmanager
def nodes(folder: Path, runners: int) -> Iterator[Nodes]:
    """With none to run the notifiers, the keeper does."""
    key = folder / "key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    with contextlib.ExitStack() as stack:
        keeper = stack.enter_context(_node(folder / "keeper", key))
        way = stack.enter_context(delayed(keeper.port))
        others = [f"implicit.registry={keeper.url}", f"implicit.history=http://127.0.0.1:{way.port}"]
        made = [stack.enter_context(_node(folder / f"runner-{each}", key, *others)) for each in range(runners)]
        yield Nodes(keeper, tuple(made) or (keeper,), way)


@contextlib.contextmanager
def _node(data: Path, key: Path, *settings: str) -> Iterator[Process]:
    command = ["serve", "--workers", "1", "--port", "0", "--data", str(data), "--json"]
    command += [word for each in (f"implicit.key_file={key}", *settings) for word in ("--set", each)]
    with started(command) as (pid, told):
        yield Process(pid, int(told["url"].rpartition(":")[2]))
