"""The single writer of a log directory, without any thread: one call, one group commit."""

import fcntl
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Self

from tocsin.store.errors import CannotAppend, LogInUse
from tocsin.store.log.active import ActiveSegment, sync_directory
from tocsin.store.log.mark import Mark
from tocsin.store.log.recovery import Recovered, recover
from tocsin.store.log.segment import Segment
from tocsin.store.log.sparse_index import index_path

BeforeMark = Callable[[Sequence[object]], None]


class Appender:
    """Owns the directory's lock from `open` to `close`."""

    def __init__(self, directory: Path, lock: int, mark: Mark, found: Recovered, segment_bytes: int) -> None:
        self.repaired = found.repaired
        self._directory, self._lock, self._mark, self._segment_bytes = directory, lock, mark, segment_bytes
        self._sealed = list(found.sealed)
        self._sealed_guard = Lock()  # the writer's thread seals, whoever cares for retention drops
        self._active = ActiveSegment.reopen(found.active) if found.active else ActiveSegment.create(directory, 0)
        sync_directory(directory)
        mark.move(self._active.offset)

    @classmethod
    def open(cls, directory: Path, *, segment_bytes: int) -> Self:
        directory.mkdir(parents=True, exist_ok=True)
        lock = _lock(directory)
        try:
            mark = Mark.create(directory)
            return cls(directory, lock, mark, recover(directory, mark.read()), segment_bytes)
        except BaseException:
            os.close(lock)
            raise

    @property
    def next_offset(self) -> int:
        return self._active.offset

    def commit(self, payloads: Sequence[bytes], companions: Sequence[object], before_mark: BeforeMark | None) -> None:
        """All of it becomes durable and visible, or CannotAppend and none of it does."""
        if self._active.size >= self._segment_bytes:
            self._roll()
        active = self._active
        offset, byte = active.offset, active.size
        active.commit(payloads)
        if before_mark is not None and companions:
            try:
                before_mark(companions)
            except Exception as problem:
                active.cut_back(offset, byte)
                raise CannotAppend(f"the record could not be applied: {problem}") from problem
        self._mark.move(active.offset)
        active.note(offset, byte)

    def segments(self) -> list[Segment]:
        """Oldest first; the last is the one being written."""
        with self._sealed_guard:
            return [*self._sealed, self._active.as_segment()]

    def drop(self, segments: Sequence[Segment]) -> None:
        """Only the oldest can go: the log has no holes."""
        with self._sealed_guard:
            if list(segments) != self._sealed[: len(segments)]:
                raise ValueError("only the oldest segments can be dropped, and never the active one")
            for segment in segments:
                index_path(segment.path).unlink(missing_ok=True)
                segment.path.unlink()
                self._sealed.pop(0)
        sync_directory(self._directory)

    def close(self) -> None:
        self._active.close()
        self._mark.close()
        os.close(self._lock)

    def _roll(self) -> None:
        fresh = ActiveSegment.create(self._directory, self._active.offset)
        with self._sealed_guard:
            full, self._active = self._active, fresh
            self._sealed.append(full.as_segment())
        full.close()


def _lock(directory: Path) -> int:
    file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        os.close(file)
        raise LogInUse(f"{directory} is written by another process") from problem
    return file
