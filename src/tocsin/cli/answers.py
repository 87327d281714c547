"""How this terminal replies to notifications that ask for it: a person types each reply, or all are alike."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from tocsin.cli.output import say
from tocsin.cli.replies import allowed, problem_of

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.model.notification import Notification


class Lines:
    """Of standard input, read by a thread that does not hold the command up when it ends."""

    def __init__(self) -> None:
        self._loop, self._found = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        self._over = False
        threading.Thread(target=self._read, daemon=True).start()

    async def next(self) -> str | None:
        """None when there are no more."""
        line = None if self._over else await self._found.get()
        self._over = line is None
        return line

    def _read(self) -> None:
        """Not through `sys.stdin`, whose lock would be waited for at the end."""
        rest, number = b"", sys.stdin.fileno()
        with contextlib.suppress(OSError, RuntimeError):  # the loop may be gone
            while piece := os.read(number, 65_536):
                *lines, rest = (rest + piece).split(b"\n")
                for each in lines:
                    self._tell(each.decode(errors="replace"))
            if rest:
                self._tell(rest.decode(errors="replace"))
            self._tell(None)

    def _tell(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._found.put_nowait, line)


class Answers:
    """`alike` is the reply to all; None: a person is asked. What comes while she thinks waits for its turn."""

    def __init__(self, client: "Client", alike: str | None) -> None:
        self._client, self._alike = client, alike
        self._asking: asyncio.Queue[Notification] = asyncio.Queue()
        self._known: set[str] = set()

    def hear(self, notifications: "Iterable[Notification]") -> None:
        """A delivery that is repeated is not asked about again."""
        for each in notifications:
            name = each.attribute("replyto") or ""
            if each.reply_type and name not in self._known:
                self._known.add(name)
                self._asking.put_nowait(each)

    @contextlib.asynccontextmanager
    async def given(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self._give())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _give(self) -> None:
        lines = Lines() if self._alike is None else None
        while True:
            asked = await self._asking.get()
            value = self._alike if lines is None else await _typed(asked, lines)
            if value is not None:
                await self._reply(asked, value)

    async def _reply(self, asked: "Notification", value: str) -> None:
        from tocsin.client.errors import ClientError

        try:
            await self._client.reply(asked, value)
            say(f"replied {value} to {asked.id}")
        except ClientError as error:
            say(f"the reply to {asked.id} does not count: {error}")


async def _typed(asked: "Notification", lines: Lines) -> str | None:
    """A value of the type that is asked for; None for no reply."""
    while True:
        prompt(asked.reply_type)
        line = await lines.next()
        if line is None or not line.strip():
            say("no reply")
            return None
        problem = problem_of(asked.reply_type, line.strip())
        if not problem:
            return line.strip()
        say(problem)


def prompt(type_: str) -> None:
    sys.stderr.write(f"reply ({allowed(type_)}; empty for none): ")
    sys.stderr.flush()
