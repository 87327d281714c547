"""One job of a kind for a data directory."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tocsin.pipeline.errors import PipelineError


@contextmanager
def owned(data: Path, job: str) -> Iterator[None]:
    """Two of them would each undo what the other does."""
    with (data / f"{job}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PipelineError(f"another {job} job is at work on {data}") from None
        yield
