"""The log as the node sees it: append, and be told when the record is on disk.

The loop collects records while one thread writes and syncs those before them: a group commit. The loop hands over a
whole commit at a time and the thread answers with one callback, so no lock is taken for a record.

A commit costs as much as accepting several records. So the loop hands over when it has nothing else to do, which is at
once when it is idle; while it is busy it collects a little longer.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Self

from tocsin.store.errors import CannotAppend, LogFull, LogRefuses
from tocsin.store.log.appender import Appender, BeforeMark
from tocsin.store.log.segment import MAX_PAYLOAD, Segment, expendable

_COMMIT_BYTES = 4 << 20
MOST_WAITING = 100_000  # records, however small: each is a request that waits for its answer
_LONGEST_GATHERING = 0.002
_IDLE_TURN = 0.0001  # a turn of the loop that is shorter did nothing else
_Item = tuple[Sequence[bytes], int, asyncio.Future[int], Sequence[object]]


class Stored(asyncio.Future[int]):
    """Whoever waits for it and is cancelled learns so when the record is on disk: others go by the outcome as well.

    That is what `asyncio.shield` would do, which costs each record twice as much as its future does.
    """

    def cancel(self, msg: object = None) -> bool:
        del msg
        return False


class Log:
    """The single writer. All of it but the writing thread lives in the loop of the first append.

    `on_durable` is called in the loop once for each commit, with the new durable end. The futures of the commit are
    resolved just before: whoever waits for them runs after it returns, but before anything it schedules. `on_failed` is
    called likewise when all that waited has failed, before any of its offsets is given to another record.
    """

    def __init__(self, appender: Appender, before_mark: BeforeMark | None, max_waiting: int) -> None:
        self.next_offset = self.durable = appender.next_offset
        self.waiting = 0  # bytes accepted, but not yet durable
        self.on_durable: Callable[[int], None] | None = None
        self.on_failed: Callable[[], None] | None = None
        self._appender, self._before_mark, self._max_waiting = appender, before_mark, max_waiting
        self._closed = False
        self._refusal: CannotAppend | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._drained: asyncio.Future[None] | None = None
        self._queue: deque[_Item] = deque()
        self._busy = False  # gathering for a commit, or committing
        self._begun = self._looked = 0.0
        self._work: SimpleQueue[list[_Item] | None] = SimpleQueue()  # None: end

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        segment_bytes: int = 64 << 20,
        max_waiting: int = 64 << 20,
        before_mark: BeforeMark | None = None,
    ) -> Self:
        """Takes the directory's lock, repairs a torn tail, and raises CorruptLog for damage to what was durable.

        `before_mark` gets a commit's companions in the writing thread, when the commit is on disk and before any reader
        can see it; if it raises, the commit fails. More than `max_waiting` bytes that wait for the disk are refused.
        """
        return cls(Appender.open(directory, segment_bytes=segment_bytes), before_mark, max_waiting)

    @property
    def repaired(self) -> str | None:
        """What was cut off when the log was opened."""
        return self._appender.repaired

    @property
    def refusal(self) -> str | None:
        """Why every append is refused until the log is opened again."""
        return None if self._refusal is None else str(self._refusal)

    def append(self, payload: bytes, companion: object = None) -> asyncio.Future[int]:
        """The record has the offset `next_offset` from now on; the future, which nobody can cancel, has it once the
        record is on disk.

        Or CannotAppend: then all appends that wait fail, and `next_offset` is `durable` again.
        """
        return self.append_all((payload,), () if companion is None else (companion,))

    def append_all(self, payloads: Sequence[bytes], companions: Sequence[object] = ()) -> asyncio.Future[int]:
        """Consecutive records in one commit, all or none; the future has the offset of the first."""
        size, loop = 0, self._loop or self._start()
        for payload in payloads:
            if not 0 < len(payload) <= MAX_PAYLOAD:
                raise ValueError(f"a record has between 1 and {MAX_PAYLOAD} bytes, not {len(payload)}")
            size += len(payload)
        if not payloads:
            raise ValueError(f"at least one record, each between 1 and {MAX_PAYLOAD} bytes")
        future = Stored(loop=loop)
        refusal, waiting = self._refusal, self.waiting + size
        if refusal is None and self.waiting and waiting > self._max_waiting:
            refusal = LogFull(f"the disk does not keep up: {self.waiting} bytes wait for it")
        elif refusal is None and len(self._queue) >= MOST_WAITING:
            refusal = LogFull(f"the disk does not keep up: {len(self._queue)} records wait for it")
        if refusal is not None:
            future.set_exception(_again(refusal))
            return future
        self._queue.append((payloads, size, future, companions))
        self.next_offset += len(payloads)
        self.waiting = waiting
        if not self._busy:
            self._gather(loop)
        return future

    def segments(self) -> list[Segment]:
        """Oldest first; the last is the one being written."""
        return self._appender.segments()

    def retain(self, *, max_bytes: int | None, max_age: float | None, now: float) -> list[Segment]:
        """Which of the oldest whole segments may go; `now` and the age are in seconds."""
        return expendable(self.segments(), max_bytes=max_bytes, max_age=max_age, now=now)

    def drop(self, segments: Sequence[Segment]) -> None:
        self._appender.drop(segments)

    async def close(self) -> None:
        """Waits for what was appended. Appending afterwards fails."""
        if self._closed:
            return
        self._closed = True
        self._refusal = self._refusal or CannotAppend("the log is closed")
        if self._loop is not None and self.waiting:
            self._drained = self._loop.create_future()
            await self._drained
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
        self._appender.close()

    def _gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Not at once: what else this turn of the loop appends belongs in the same commit."""
        self._busy = True
        self._begun = self._looked = monotonic()
        loop.call_soon(self._hand_over, loop)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        now = monotonic()
        if now - self._looked > _IDLE_TURN and now - self._begun < _LONGEST_GATHERING:
            self._looked = now
            loop.call_soon(self._hand_over, loop)
            return
        items, size = [self._queue.popleft()], 0
        while self._queue and size < _COMMIT_BYTES:
            items.append(self._queue.popleft())
            size += items[-1][1]
        self._work.put(items)

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._write, args=(self._loop,), name="log", daemon=True)
        self._thread.start()
        return self._loop

    def _settled(self, items: Sequence[_Item]) -> None:
        for payloads, size, future, _ in items:
            future.set_result(self.durable)
            self.durable += len(payloads)
            self.waiting -= size
        self._busy = False
        if self._queue and self._loop is not None:
            self._gather(self._loop)
        if self._drained is not None:
            self._tell_if_drained(self._drained)
        if self.on_durable is not None:
            self.on_durable(self.durable)

    def _failed(self, items: Sequence[_Item], problem: CannotAppend) -> None:
        """The offsets of all that waits are wrong now, so all of it fails."""
        waiting, self._queue = [*items, *self._queue], deque()
        self.next_offset, self.waiting, self._busy = self.durable, 0, False
        if isinstance(problem, LogRefuses):
            self._refusal = problem
        for _, _, future, _ in waiting:
            future.set_exception(_again(problem))
        if self._drained is not None:
            self._tell_if_drained(self._drained)
        if self.on_failed is not None:
            self.on_failed()

    def _tell_if_drained(self, drained: asyncio.Future[None]) -> None:
        if not self.waiting and not drained.done():
            drained.set_result(None)

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        """The writing thread: it has one commit at a time, so the loop sees a failure before there is another."""
        while (items := self._work.get()) is not None:
            payloads = [payload for item in items for payload in item[0]]
            companions = [companion for item in items for companion in item[3]]
            try:
                self._appender.commit(payloads, companions, self._before_mark)
            except Exception as problem:
                known = problem if isinstance(problem, CannotAppend) else LogRefuses(f"the log failed: {problem!r}")
                loop.call_soon_threadsafe(self._failed, items, known)
            else:
                loop.call_soon_threadsafe(self._settled, items)


def _again(problem: CannotAppend) -> CannotAppend:
    """One exception for each future: a traceback is added to wherever one is raised."""
    copy = type(problem)(*problem.args)
    copy.__cause__ = problem.__cause__
    return copy
