"""What is kept in memory and written a little later: one commit for all that changed, and for all who wait."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

What = TypeVar("What")
Result = TypeVar("Result")


class WriteBehind(Generic[What, Result]):
    """`collect` takes what has changed, in the loop; `write` writes it, in a thread; `written` hears of that;
    `put_back` gets back what could not be written, so that it is collected again."""

    def __init__(
        self,
        collect: Callable[[], What],
        write: Callable[[What], Result],
        put_back: Callable[[What], None] = lambda _: None,
        written: Callable[[What, Result], None] = lambda *_: None,
    ) -> None:
        self._collect, self._write, self._put_back, self._written = collect, write, put_back, written
        self._changes = self._saved = 0
        self._writing: asyncio.Task[None] | None = None

    @property
    def is_writing(self) -> bool:
        return self._writing is not None

    def changed(self) -> None:
        """There is something that is not on disk."""
        self._changes += 1

    async def save(self) -> None:
        """All that has changed until now is on disk when this returns; raises what the writing raised."""
        goal = self._changes
        while self._saved < goal:
            await asyncio.shield(self.begin())

    def begin(self) -> "asyncio.Task[None]":
        """The writing that is under way, or one that begins now and that nobody need wait for."""
        if self._writing is None:
            self._writing = asyncio.create_task(self._run())
            self._writing.add_done_callback(_heard)
        return self._writing

    async def _run(self) -> None:
        changes, what = self._changes, self._collect()
        try:
            result = await asyncio.to_thread(self._write, what)
        except BaseException:
            self._put_back(what)
            raise
        finally:
            self._writing = None
        self._saved = changes
        self._written(what, result)


def _heard(task: "asyncio.Task[None]") -> None:
    """By those who wait, if any; who saves next tries again."""
    if not task.cancelled():
        task.exception()
