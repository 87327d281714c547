"""One file of the log: a header, then frames; and its sparse index.

A frame is a length, a checksum over length and payload, and the payload. A frame of length zero is a *sync frame*: it
opens each group commit and says which record comes next. A commit is only written when the one before it is on disk,
so a sync frame proves that all that stands before it was durable once. That tells a torn tail, which nobody was
promised, from damage, and lets an index entry be checked.
"""

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tocsin.store.errors import CorruptLog, NewerFormat

MAGIC = b"TOCSINLG"
VERSION = 1
MAX_PAYLOAD = 1 << 28

_HEADER = struct.Struct("<8sHHQ8s")
_CHECKSUM = struct.Struct("<I")
FRAME = struct.Struct("<II")
SYNC = struct.Struct("<8sQ")
HEADER_SIZE = _HEADER.size + _CHECKSUM.size
FRAME_SIZE = FRAME.size
SYNC_SIZE = FRAME.size + SYNC.size

Entry = tuple[int, int]  # a record, and the byte of the sync frame before it


@dataclass(frozen=True, slots=True)
class Header:
    """Checksums start from the `seed`, so that what a stranger sends never reads as a frame of ours."""

    first: int
    salt: bytes
    seed: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", int.from_bytes(self.salt[:4], "little"))

    def pack(self) -> bytes:
        body = _HEADER.pack(MAGIC, VERSION, 0, self.first, self.salt)
        return body + _CHECKSUM.pack(zlib.crc32(body))


@dataclass(frozen=True, slots=True)
class Segment:
    """A file that holds the records from `first` up to, not including, `stop`."""

    path: Path
    first: int
    stop: int
    size: int
    written: float  # seconds since 1970


def segment_path(directory: Path, first: int) -> Path:
    return directory / f"{first:020d}.log"


def segment_firsts(directory: Path) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob("*.log") if path.stem.isdecimal())


def read_header(path: Path, start: bytes) -> Header:
    first = int(path.stem)
    if len(start) < HEADER_SIZE or not start.startswith(MAGIC):
        raise CorruptLog(path, 0, first, "it does not begin with the header of a log")
    _, version, _, named, salt = _HEADER.unpack_from(start)
    if version > VERSION:
        raise NewerFormat(f"{path} is a log of format {version}; this version reads formats up to {VERSION}")
    if zlib.crc32(start[: _HEADER.size]) != _CHECKSUM.unpack_from(start, _HEADER.size)[0] or named != first:
        raise CorruptLog(path, 0, first, "its header does not match its checksum or its name")
    return Header(first, salt)


def read_sync(header: Header, data: bytes | memoryview, byte: int = 0) -> int | None:
    """What the sync frame at that byte says; None when there is none."""
    if byte < 0 or byte + SYNC_SIZE > len(data):
        return None
    length, checksum = FRAME.unpack_from(data, byte)
    body = bytes(data[byte + FRAME_SIZE : byte + SYNC_SIZE])
    salt, offset = SYNC.unpack(body)
    whole = length == 0 and salt == header.salt and zlib.crc32(body, header.seed) == checksum
    return int(offset) if whole else None


def later_sync(header: Header, data: bytes, byte: int, offset: int) -> int | None:
    """A sync frame after that byte which proves that the record of that offset was durable once."""
    while (byte := data.find(header.salt, byte)) >= 0:
        said = read_sync(header, data, byte - FRAME_SIZE)
        if said is not None and said > offset:
            return said
        byte += 1
    return None


class Walk:
    """Steps over the frames of a buffer, and stops before the first that is not whole."""

    def __init__(self, header: Header, data: bytes, byte: int, offset: int) -> None:
        self.header, self.byte, self.offset = header, byte, offset
        self.problem: str | None = None  # what is wrong with the frame it stopped at
        self.syncs: list[Entry] = []
        self._data = memoryview(data)

    def __iter__(self) -> Iterator[memoryview]:
        """The payloads; a buffer that ends inside a frame is no problem by itself."""
        data, seed, size = self._data, self.header.seed, len(self._data)
        unpack, checksum = FRAME.unpack_from, zlib.crc32
        while self.byte + FRAME_SIZE <= size:
            length, expected = unpack(data, self.byte)
            start = self.byte + FRAME_SIZE
            stop = start + length if length else self.byte + SYNC_SIZE
            if stop > size:
                break
            if not length:
                if not self._pass_sync(stop):
                    return
                continue
            payload = data[start:stop]
            if checksum(payload, seed ^ length) != expected:
                self.problem = "the checksum does not match"
                return
            self.byte = stop
            self.offset += 1
            yield payload
        self._check_length()

    def needed(self) -> int:
        """How many bytes the frame it stopped at takes; as far as the buffer tells."""
        if self.byte + FRAME_SIZE > len(self._data):
            return FRAME_SIZE
        length, _ = FRAME.unpack_from(self._data, self.byte)
        return FRAME_SIZE + length if length else SYNC_SIZE

    def _pass_sync(self, stop: int) -> bool:
        said = read_sync(self.header, self._data, self.byte)
        if said != self.offset:
            self.problem = "neither a record nor a sync frame" if said is None else f"a sync frame of record {said}"
            return False
        self.syncs.append((self.offset, self.byte))
        self.byte = stop
        return True

    def _check_length(self) -> None:
        if self.needed() > MAX_PAYLOAD + FRAME_SIZE:
            self.problem = "no record is that long"


def expendable(
    segments: Sequence[Segment], *, max_bytes: int | None, max_age: float | None, now: float
) -> list[Segment]:
    """The oldest whole segments beyond the size, or last written to longer ago than the age; never the active one."""
    going: list[Segment] = []
    size = sum(segment.size for segment in segments)
    for segment in segments[:-1]:
        too_big = max_bytes is not None and size > max_bytes
        too_old = max_age is not None and now - segment.written > max_age
        if not (too_big or too_old):
            break
        going.append(segment)
        size -= segment.size
    return going


# The sparse index beside each segment: where some sync frames stand. A hint only; whoever uses an entry checks it.
EVERY = 1 << 16
_ENTRY = struct.Struct("<QQ")


def index_path(segment: Path) -> Path:
    return segment.with_suffix(".idx")


def sparse(entries: Iterable[Entry], *, after: int = HEADER_SIZE) -> list[Entry]:
    """Those that lie at least so many bytes apart."""
    kept: list[Entry] = []
    for entry in entries:
        if entry[1] >= after + EVERY:
            kept.append(entry)
            after = entry[1]
    return kept


def pack_entries(entries: Iterable[Entry]) -> bytes:
    return b"".join(_ENTRY.pack(*entry) for entry in entries)


def entry_before(segment: Path, offset: int) -> Entry | None:
    """The last entry at or before that record, unchecked."""
    try:
        data = index_path(segment).read_bytes()
    except FileNotFoundError:
        return None
    whole = data[: len(data) - len(data) % _ENTRY.size]
    entries = list(_ENTRY.iter_unpack(whole))
    place = bisect_right(entries, offset, key=lambda entry: entry[0])
    return entries[place - 1] if place else None
