"""What the driver tells a task of subscriptions and declarations: which files to read, and up to which record."""

import os
import shutil
import tempfile
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import pyarrow.fs as pafs
from msgspec import Struct

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.tables.storage import Storage

STATE = "_state"  # beside the tables; names that begin so are none to those who read tables


class Changes(Struct, frozen=True, array_like=True):
    """A file of the records that changed subscriptions from one offset up to another."""

    start: int
    stop: int
    name: str


class Published(Struct, frozen=True, array_like=True):
    """Travels to the tasks. A task may be as of any offset from that of the snapshot on: a change is in the node's
    database before a reader sees it, so all that a record can meet was there when this was published.

    With `frozen` all records meet what the snapshot holds.
    """

    base_url: str
    filter_seconds: float
    declared: str  # a file of all declarations
    snapshot: str | None = None
    made: int = 0  # as of which offset the snapshot is; without one all begins at 0
    changes: tuple[Changes, ...] = ()
    frozen: bool = False
    node: str = ""  # whose they are; empty where no node has a name

    @property
    def digest(self) -> str | None:
        """Of the snapshot: which one decided."""
        return None if self.snapshot is None else self.snapshot.rpartition("-")[2]


class StateFiles:
    """The files of the state. What has a name there is whole, and is never changed."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._root = Path(storage.table(STATE)) if storage.is_local else None
        self._files: pafs.FileSystem = storage.files(STATE)

    def folder(self, name: str) -> Path | None:
        """A local folder to write into; None where the store is elsewhere."""
        if self._root is not None:
            (self._root / name).mkdir(parents=True, exist_ok=True)
        return self._root and self._root / name

    def put(self, name: str, data: bytes) -> None:
        if self._root is None:
            self._storage.put(STATE, name, data)
            return
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)

    def put_folder(self, name: str, source: Path) -> None:
        """What was written into a local folder of the state is there already."""
        if self._root is None:
            for each in source.iterdir():
                self._storage.put(STATE, f"{name}/{each.name}", each.read_bytes())

    def get(self, name: str) -> bytes:
        try:
            with self._files.open_input_stream(name) as file:
                return bytes(file.read())
        except FileNotFoundError as problem:
            raise PipelineError(
                f"{self._storage.table(STATE)}/{name} is gone: it was removed while a batch needed it; start the"
                " pipeline again, which publishes it anew"
            ) from problem

    def local(self, name: str) -> Path:
        """A folder of the state on this machine's disk, to be mapped into memory; fetched once if it is elsewhere."""
        return self._root / name if self._root is not None else _fetched(self._storage, name)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._files.delete_file(name)

    def remove_folder(self, name: str) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            self._files.delete_dir(name)


@lru_cache(maxsize=4)
def _fetched(storage: Storage, name: str) -> Path:
    digest = blake2b(f"{storage.uri} {name}".encode(), digest_size=20).hexdigest()
    final = Path(tempfile.gettempdir(), f"tocsin-state-{os.getuid()}", digest)
    final.parent.mkdir(mode=0o700, exist_ok=True)
    if final.parent.stat().st_uid != os.getuid():
        raise PipelineError(f"{final.parent} is another user's, who could put anything into it; remove it")
    if not final.exists():
        partial = final.with_suffix(f".{os.getpid()}")
        partial.mkdir(parents=True, mode=0o700)
        pafs.copy_files(
            name, str(partial), source_filesystem=storage.files(STATE), destination_filesystem=pafs.LocalFileSystem()
        )
        try:
            partial.rename(final)
        except OSError:  # another worker was first
            shutil.rmtree(partial, ignore_errors=True)
    return final
