"""Work that lasts, for a caller that may not stay so long."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from tocsin.wire.asgi import Disconnected, Receive

Found = TypeVar("Found")


async def while_connected(receive: Receive, work: Coroutine[Any, Any, Found]) -> Found:
    """What comes of the work; it is cancelled when the caller goes away before that. The body must have been read."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Disconnected
        return working.result()
    finally:
        await ended(working, leaving)


async def ended(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
