"""The end of a server of asyncio.

A connection is made in the turn of the loop after it was accepted, and handled from the turn after that. A server that
was closed meanwhile drops it without closing it (python/cpython#109564), and who ends what is being handled misses it.
"""

import asyncio

_TURNS = 3


async def no_more(*servers: asyncio.Server) -> None:
    """Nothing is accepted any more, and whatever was accepted is being handled."""
    loop = asyncio.get_running_loop()
    for listener in (each for server in servers for each in server.sockets):
        loop.remove_reader(listener.fileno())
    await _turns()
    for server in servers:
        server.close()
    await _turns()  # uvloop accepts until it is closed


async def _turns() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)
