"""How far a pipeline has read this node's logs that keeps its tables in another node's directory: in a file, for this
node's retention to wait for it."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.store.places import Places


class ReadElsewhere(Struct, frozen=True):
    """Up to which record of each log, by its name."""

    when: Instant
    end: dict[str, int]


def note(data: Path, end: dict[str, int], when: Instant) -> None:
    """Where nobody may write there retention knows nothing of it, and the job says so when something is gone."""
    path = Places(data).read_elsewhere
    partial = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        partial.write_bytes(msgspec.json.encode(ReadElsewhere(when, end)))
        partial.replace(path)


def noted(data: Path) -> ReadElsewhere | None:
    try:
        return msgspec.json.decode(Places(data).read_elsewhere.read_bytes(), type=ReadElsewhere)
    except (OSError, msgspec.MsgspecError):
        return None
