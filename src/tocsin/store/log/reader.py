"""Reading the log, from any process, up to the durable mark."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import TypeVar

from tocsin.store.errors import CorruptLog, OffsetGone
from tocsin.store.log.appender import Mark
from tocsin.store.log.segment import (
    HEADER_SIZE,
    SYNC_SIZE,
    Header,
    Walk,
    entry_before,
    read_header,
    read_sync,
    segment_firsts,
    segment_path,
)

_CHUNK = 1 << 20
_Place = tuple[int, int, int]  # a record, the first record of its segment, its byte there


class LogReader:
    """Takes no lock and writes nothing. Before the log exists it is an empty one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mark: Mark | None = None
        self._firsts: list[int] = []
        self._next: _Place = (-1, 0, 0)  # where the last reading ended; the next one mostly goes on there

    def start(self) -> int:
        """The first record kept."""
        return self._look()[0] if self.end() else 0

    def end(self) -> int:
        """The durable mark: every record below it can be read."""
        if self._mark is None:
            self._mark = Mark.map(self._directory)
        return self._mark.read() if self._mark else 0

    def frames(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """The records from `start` up to `stop` or the durable mark, whichever comes first.

        CorruptLog where one of them cannot be read back, OffsetGone when retention removed it.
        """
        stop = min(stop, self.end())
        while start < stop:
            first, following = self._segment_of(start)
            until = stop if following is None else min(stop, following)
            yield from self._segment_frames(first, start, until)
            start = until

    def kept_frames(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """As `frames`, of what is still there: retention may take the oldest away before or while it is read."""
        start = max(start, self.start())
        while start < min(stop, self.end()):
            try:
                for offset, payload in self.frames(start, stop):
                    start = offset + 1
                    yield offset, payload
            except OffsetGone as gone:
                start = gone.start

    def close(self) -> None:
        if self._mark is not None:
            self._mark.close()
            self._mark = None

    def _look(self) -> list[int]:
        self._firsts = segment_firsts(self._directory)
        if not self._firsts:
            raise CorruptLog(segment_path(self._directory, 0), 0, 0, f"no segment, but durable up to {self.end()}")
        return self._firsts

    def _segment_of(self, offset: int) -> tuple[int, int | None]:
        """The segment that has the record, and the one after it. The directory is read again for the last one only."""
        firsts = self._firsts
        place = bisect_right(firsts, offset)
        if place in (0, len(firsts)):
            firsts = self._look()
            place = bisect_right(firsts, offset)
        if place == 0:
            raise OffsetGone(offset, firsts[0])
        return firsts[place - 1], firsts[place] if place < len(firsts) else None

    def _segment_frames(self, first: int, start: int, until: int) -> Iterator[tuple[int, bytes]]:
        path = segment_path(self._directory, first)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise OffsetGone(start, self._look()[0]) from None
        try:
            header = read_header(path, os.pread(file, HEADER_SIZE, 0))
            yield from self._walk(path, file, header, start, until)
        finally:
            os.close(file)

    def _walk(self, path: Path, file: int, header: Header, start: int, until: int) -> Iterator[tuple[int, bytes]]:
        offset, byte = self._find(path, file, header, start)
        size = _CHUNK
        while offset < until:
            data = os.pread(file, size, byte)
            walk = Walk(header, data, 0, offset)
            for payload in walk:
                if offset >= start:
                    yield offset, bytes(payload)
                offset += 1
                if offset == until:
                    break
            byte += walk.byte
            if offset < until and (walk.problem or len(data) < size):
                raise CorruptLog(path, byte, offset, walk.problem or "the file ends before the record does")
            size = max(_CHUNK, walk.needed())
        self._next = (until, header.first, byte)

    def _find(self, path: Path, file: int, header: Header, start: int) -> tuple[int, int]:
        """A record at or before `start`, and its byte."""
        offset, first, byte = self._next
        if (offset, first) == (start, header.first):
            return offset, byte
        entry = entry_before(path, start)
        if entry and read_sync(header, os.pread(file, SYNC_SIZE, entry[1])) == entry[0]:
            return entry
        return header.first, HEADER_SIZE


PAGE_BYTES = 4 << 20
PAGE_SECONDS = 5.0
T = TypeVar("T")


def until_bytes(each_of: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[T]:
    """The first of them, until they have so many bytes: one at least, and less than one more than that."""
    for each in each_of:
        yield each
        most -= size(each)
        if most <= 0:
            return


class Stretch:
    """Records of the log, as many as can be looked at in `PAGE_SECONDS`; `stop` is where that ended."""

    def __init__(self, stop: int) -> None:
        self.stop = stop

    def of(self, frames: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """The first of them, however late it is."""
        until = monotonic() + PAGE_SECONDS
        for count, frame in enumerate(frames):
            if count and monotonic() > until:
                self.stop = frame[0]
                return
            yield frame
