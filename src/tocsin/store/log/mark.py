"""The durable mark: how far the log is on disk, in a page that every reader maps.

It is never synced. What it says was true when it was written, so after a power cut it can only be too low; opening the
log finds the end again.
"""

import mmap
import os
import struct
from pathlib import Path
from typing import Self

from tocsin.store.errors import CorruptLog

_MARK = struct.Struct("=QQ")  # the mark and its complement, so that half a write is seen as such
_ALL = (1 << 64) - 1
_TRIES = 1000


def mark_path(directory: Path) -> Path:
    return directory / "durable"


class Mark:
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
