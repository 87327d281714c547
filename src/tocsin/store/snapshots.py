"""Compiled subscriptions on disk, for processes of one machine to map: a folder for each, named by what is in it."""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from tocsin.matching.index.compiled import VERSION, Snapshot
from tocsin.store.errors import StoreError

_HEAD = "head.msgpack"
_MADE = "made.msgpack"
KEPT = 2  # whoever maps an older one keeps it open


class Made(Struct, frozen=True):
    """As of which offset of the log, by which layout, and the digest of all that is in it."""

    offset: int
    version: int
    digest: str


def save(folder: Path, snapshot: Snapshot, offset: int) -> Path:
    """Whole or not at all: it gets its name when everything is on disk."""
    digest = _digest(snapshot)
    final = folder / f"{offset:020}-{digest[:16]}"
    if final.exists():
        return final
    partial = folder / f".{final.name}.{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, array in snapshot.arrays.items():
        np.save(partial / f"{name}.npy", array, allow_pickle=False)
    (partial / _HEAD).write_bytes(snapshot.head)
    (partial / _MADE).write_bytes(msgspec.msgpack.encode(Made(offset, VERSION, digest)))
    for each in (*partial.iterdir(), partial):
        sync(each)
    with contextlib.suppress(FileExistsError, OSError):  # somebody else made the same
        partial.rename(final)
    shutil.rmtree(partial, ignore_errors=True)
    sync(folder)
    for old in sorted(folder.glob("[0-9]*-*"))[:-KEPT]:
        if old != final:
            shutil.rmtree(old, ignore_errors=True)
    return final


def load(path: Path) -> Snapshot:
    """Its arrays stay on disk until they are looked at, and are shared with all others who look.

    Copy-on-write, though nobody writes: to a kernel, arrays that cannot be written are of another type.
    """
    try:
        arrays = {each.stem: np.load(each, mmap_mode="c", allow_pickle=False) for each in path.glob("*.npy")}
        return Snapshot((path / _HEAD).read_bytes(), arrays)
    except (OSError, ValueError) as problem:
        raise StoreError(f"the snapshot {path.name} cannot be read: {problem}") from problem


def newest(folder: Path, before: int) -> tuple[int, Path] | None:
    """The last one made at or below an offset in the layout of today."""
    for path in sorted(folder.glob("[0-9]*-*"), reverse=True):
        made = _made(path)
        if made is not None and made.offset <= before and made.version == VERSION:
            return made.offset, path
    return None


def _made(path: Path) -> Made | None:
    try:
        return msgspec.msgpack.decode((path / _MADE).read_bytes(), type=Made)
    except (OSError, msgspec.MsgspecError):
        return None


def _digest(snapshot: Snapshot) -> str:
    found = hashlib.sha256(snapshot.head)
    for name, array in sorted(snapshot.arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
