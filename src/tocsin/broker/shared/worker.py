"""A thread of the node that goes on until it is told to stop, and speaks to the loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class Worker:
    """Made in the loop. `run` looks at `stopped` again and again, and tells of trouble that lasts once."""

    def __init__(self, name: str, run: Callable[[], None], report: Callable[[str], None]) -> None:
        self.stopped = threading.Event()
        self.loop = asyncio.get_running_loop()
        self._report, self._told = report, ""
        self._thread = threading.Thread(target=run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def close(self) -> None:
        self.stopped.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    def call(self, function: Callable[..., object], *values: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(function, *values)

    def trouble(self, text: str) -> None:
        """Nothing, when it is over."""
        if text != self._told and text:
            self.call(self._report, text)
        self._told = text
