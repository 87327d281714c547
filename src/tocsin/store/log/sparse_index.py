"""A sparse index beside each segment: where some sync frames stand. A hint only; whoever uses an entry checks it."""

import struct
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from tocsin.store.log.segment import HEADER_SIZE, Entry

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
