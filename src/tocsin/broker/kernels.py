"""The kernels of the matching engine, made ready beside the loop: a compiler would stop it for seconds."""

import asyncio
from collections.abc import Callable

from tocsin.matching.warming import compiled_text, warm

_ready: list[dict[str, float]] = []  # once in a process


async def warmed(report: Callable[[str], None]) -> None:
    """Returns when they are. Where none were kept from before, it is told of, before and after."""
    if not _ready:
        loop = asyncio.get_running_loop()

        def say(text: str) -> None:
            loop.call_soon_threadsafe(report, text)

        _ready.append(await asyncio.to_thread(warm, say))
        if _ready[0]:
            report(compiled_text(_ready[0]))
