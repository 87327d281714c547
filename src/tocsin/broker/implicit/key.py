"""The key that the nodes of one world share."""

import secrets
from pathlib import Path

from tocsin.store.database import Store
from tocsin.wire.peer_messages import SHORTEST_KEY, BadKey

_META = "implicit_key"


def world_key(file: Path | None, store: Store) -> bytes:
    """Without a file one of its own, kept in the store, which is fit for a world of one node."""
    if file is not None:
        return _read(file)
    if (kept := store.meta(_META)) is None:
        kept = secrets.token_hex(32)
        store.set_meta(_META, kept)
    return kept.encode()


def _read(file: Path) -> bytes:
    try:
        key = file.read_bytes().strip()
    except OSError as problem:
        raise BadKey(f"implicit.key_file {file} cannot be read: {problem.strerror}") from problem
    if len(key) < SHORTEST_KEY:
        raise BadKey(
            f"implicit.key_file {file} has {len(key)} bytes; {SHORTEST_KEY} are the least:"
            f" `openssl rand -hex 32 > {file}` makes a good one"
        )
    return key
