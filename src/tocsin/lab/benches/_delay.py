"""A way to a port of this machine that takes longer than it has to, as long as is asked for."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from tocsin.wire.ending import no_more

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
