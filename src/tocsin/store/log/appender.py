"""The single writer of a log directory, without any thread: one call, one group commit; and its active segment."""

import fcntl
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Self

from tocsin.store.errors import CannotAppend, CorruptLog, LogInUse, LogRefuses
from tocsin.store.log.recovery import Found, Recovered, recover
from tocsin.store.log.segment import (
    EVERY,
    FRAME,
    HEADER_SIZE,
    SYNC,
    Header,
    Segment,
    index_path,
    pack_entries,
    segment_path,
)


def pack_commit(header: Header, offset: int, payloads: Iterable[bytes]) -> bytes:
    """The bytes of one group commit whose first record has that offset."""
    seed, pack, checksum = header.seed, FRAME.pack, zlib.crc32
    sync = SYNC.pack(header.salt, offset)
    parts = [pack(0, checksum(sync, seed)), sync]
    for payload in payloads:
        length = len(payload)
        parts += (pack(length, checksum(payload, seed ^ length)), payload)
    return b"".join(parts)


_AHEAD = 1 << 20
_LARGE = 64 << 10  # a commit that is larger pays for its growth by itself, and zeros would write all of it twice


class ActiveSegment:
    """Written at its end only, where zeros stand up to `_room`: a commit that fits there changes data and no metadata,
    so that its sync need not wait for the file system's journal. When a commit fails the file is cut back to where it
    was.
    """

    def __init__(self, path: Path, header: Header, offset: int, size: int, indexed: int) -> None:
        self.path, self.header, self.offset, self.size = path, header, offset, size
        self._room = size
        self.indexed = indexed
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._index = os.open(index_path(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    @classmethod
    def create(cls, directory: Path, first: int) -> Self:
        """The header is on disk before the file has its name: a segment without one is damage, never a crash."""
        path, header = segment_path(directory, first), Header(first, os.urandom(8))
        fresh = path.with_suffix(".new")
        try:
            _write_file(fresh, header.pack())
            fresh.rename(path)
            sync_directory(directory)
        except OSError as problem:
            fresh.unlink(missing_ok=True)
            raise CannotAppend(f"cannot begin the segment {path}: {problem.strerror}") from problem
        return cls(path, header, first, HEADER_SIZE, HEADER_SIZE)

    @classmethod
    def reopen(cls, found: Found) -> Self:
        """What a killed process wrote may be in memory only, hence the sync. The zeros it left go."""
        segment = found.segment
        indexed = found.entries[-1][1] if found.entries else HEADER_SIZE
        active = cls(segment.path, found.header, segment.stop, segment.size, indexed)
        active._room = found.length
        active.trim()
        os.fsync(active._file)
        return active

    def commit(self, payloads: Sequence[bytes], full: int) -> None:
        """Write and sync; on failure the segment is as before. Zeros are put up to where it is `full`, so that a
        segment has none left when the next one is begun.
        """
        data = pack_commit(self.header, self.offset, payloads)
        stop, written = self.size + len(data), 0
        try:
            if stop > self._room and stop < full and len(data) <= _LARGE:
                with suppress(OSError):  # there may be room for the records alone
                    written = os.pwrite(self._file, data + bytes(min(_AHEAD, full - stop)), self.size)
                    self._room = self.size + written
            while written < len(data):
                written += os.pwrite(self._file, memoryview(data)[written:], self.size + written)
        except OSError as problem:
            self.cut_back(self.offset, self.size)
            raise CannotAppend(f"cannot write to {self.path}: {problem.strerror}") from problem
        try:
            os.fdatasync(self._file)
        except OSError as problem:
            # The kernel may have thrown the pages away and call the next sync a success, so nothing here is believed.
            with suppress(CannotAppend):
                self.cut_back(self.offset, self.size)
            raise LogRefuses(f"cannot sync {self.path}: {problem.strerror}; the log must be opened again") from problem
        self.offset += len(payloads)
        self.size += len(data)

    def cut_back(self, offset: int, size: int) -> None:
        self._room = size  # also when it fails: what stands there then is no longer zeros alone
        try:
            os.ftruncate(self._file, size)
        except OSError as problem:
            raise LogRefuses(f"cannot cut {self.path} back to {size} bytes: {problem.strerror}") from problem
        self.offset, self.size = offset, size

    def note(self, offset: int, byte: int) -> None:
        """In the index: a commit that began there is durable."""
        self.indexed = byte
        with suppress(OSError):  # only a hint
            os.write(self._index, pack_entries([(offset, byte)]))

    def as_segment(self) -> Segment:
        return Segment(self.path, self.header.first, self.offset, self.size, os.fstat(self._file).st_mtime)

    def trim(self) -> None:
        """Takes the zeros away."""
        if self._room <= self.size:
            return
        written = os.fstat(self._file)
        self.cut_back(self.offset, self.size)
        try:
            os.utime(self._file, ns=(written.st_atime_ns, written.st_mtime_ns))  # retention goes by the last record
            os.fsync(self._file)
        except OSError as problem:
            raise LogRefuses(f"cannot sync {self.path}: {problem.strerror}; the log must be opened again") from problem

    def close(self) -> None:
        with suppress(CannotAppend):  # whoever opens it next takes them away
            self.trim()
        os.close(self._file)
        os.close(self._index)


def sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _write_file(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


_MARK = struct.Struct("=QQ")  # the mark and its complement, so that half a write is seen as such
_ALL = (1 << 64) - 1
_TRIES = 1000


def mark_path(directory: Path) -> Path:
    return directory / "durable"


class Mark:
    """Up to which record the log is durable: the appender moves it, readers in any process map it."""

    def __init__(self, path: Path, page: mmap.mmap) -> None:
        self._path, self._page = path, page

    @classmethod
    def create(cls, directory: Path) -> Self:
        """For the writer. The bytes are written before they are mapped: a full disk must fail here, not as SIGBUS."""
        path = mark_path(directory)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.fstat(file).st_size < _MARK.size:
                os.pwrite(file, _MARK.pack(0, _ALL), 0)
                os.fsync(file)
            return cls(path, mmap.mmap(file, _MARK.size))
        finally:
            os.close(file)

    @classmethod
    def map(cls, directory: Path) -> Self | None:
        """For readers; None while there is no log yet."""
        path = mark_path(directory)
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < _MARK.size:
                    return None
                return cls(path, mmap.mmap(file.fileno(), _MARK.size, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            return None

    def read(self) -> int:
        for _ in range(_TRIES):
            mark, complement = _MARK.unpack_from(self._page)
            if mark ^ complement == _ALL:
                return int(mark)
        raise CorruptLog(
            self._path, 0, 0, "the durable mark is unreadable; with no node running, the file may be removed"
        )

    def move(self, offset: int) -> None:
        _MARK.pack_into(self._page, 0, offset, offset ^ _ALL)

    def close(self) -> None:
        self._page.close()


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
        active.commit(payloads, self._segment_bytes)
        if before_mark is not None and companions:
            try:
                before_mark(companions)
            except Exception as problem:
                active.cut_back(offset, byte)
                raise CannotAppend(f"the record could not be applied: {problem}") from problem
        self._mark.move(active.offset)
        if byte >= active.indexed + EVERY:
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
