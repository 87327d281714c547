"""Opening a log: find its end, repair a torn tail, refuse anything worse."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tocsin.store.errors import CorruptLog
from tocsin.store.log.segment import (
    HEADER_SIZE,
    Entry,
    Header,
    Segment,
    Walk,
    index_path,
    later_sync,
    pack_entries,
    read_header,
    segment_firsts,
    segment_path,
    sparse,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A segment as it was found, and how much of it is whole: the last one may end with zeros that were put ahead."""

    segment: Segment
    header: Header
    length: int  # of the file, zeros and all
    torn: int  # bytes after the last whole record, without the zeros
    entries: tuple[Entry, ...]
    problem: str | None


@dataclass(frozen=True, slots=True)
class Recovered:
    sealed: tuple[Segment, ...]
    active: Found | None
    repaired: str | None


def recover(directory: Path, mark: int) -> Recovered:
    """Reads everything before it changes anything."""
    firsts = segment_firsts(directory)
    found: list[Found] = []
    for place, first in enumerate(firsts):
        found.append(_examine(segment_path(directory, first), mark, last=place == len(firsts) - 1))
        _check_follows(found)
    _check_reaches(directory, found, mark)
    for each in found:
        _write_index(each)
    _tidy(directory, firsts)
    repaired = _repair(found[-1]) if found and found[-1].problem else None
    return Recovered(tuple(each.segment for each in found[:-1]), found[-1] if found else None, repaired)


def _examine(path: Path, mark: int, *, last: bool) -> Found:
    data = path.read_bytes()
    header = read_header(path, data[:HEADER_SIZE])
    walk = Walk(header, data, HEADER_SIZE, header.first)
    for _ in walk:
        pass
    problem = walk.problem or ("the record is not complete" if walk.byte < len(data) else None)
    torn = len(data[walk.byte :].rstrip(b"\0"))
    if last and not torn:
        problem = None
    if problem and not (last and _is_torn(walk, data, mark)):
        raise CorruptLog(path, walk.byte, walk.offset, problem)
    segment = Segment(path, header.first, walk.offset, walk.byte, path.stat().st_mtime)
    return Found(segment, header, len(data), torn, tuple(sparse(walk.syncs)), problem)


def _is_torn(walk: Walk, data: bytes, mark: int) -> bool:
    """Whether nobody was ever told that the record at which the walk stopped is on disk."""
    return mark <= walk.offset and later_sync(walk.header, data, walk.byte, walk.offset) is None


def _check_follows(found: list[Found]) -> None:
    if len(found) < 2:
        return
    before, here = found[-2].segment, found[-1].segment
    if before.stop != here.first:
        raise CorruptLog(before.path, before.size, before.stop, f"the next segment starts at record {here.first}")


def _check_reaches(directory: Path, found: list[Found], mark: int) -> None:
    last = found[-1].segment if found else Segment(segment_path(directory, 0), 0, 0, 0, 0.0)
    if last.stop < mark:
        raise CorruptLog(last.path, last.size, last.stop, f"the log ends here, but was durable up to record {mark}")


def _repair(torn: Found) -> str:
    segment = torn.segment
    with segment.path.open("r+b") as file:
        file.truncate(segment.size)
        os.fsync(file.fileno())
    return f"{segment.path}: removed a torn tail of {torn.torn} bytes after record {segment.stop - 1} ({torn.problem})"


def _write_index(found: Found) -> None:
    path, data = index_path(found.segment.path), pack_entries(found.entries)
    with suppress(OSError):  # only a hint: a full disk must not keep the log from opening
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


def _tidy(directory: Path, firsts: list[int]) -> None:
    """Removes what a crash left between two steps: segments not yet named, indexes of segments dropped."""
    kept = {index_path(segment_path(directory, first)) for first in firsts}
    for leftover in [*directory.glob("*.new"), *(set(directory.glob("*.idx")) - kept)]:
        leftover.unlink()
