"""Spark's checkpoint and our outbox must tell of the same batches."""

from pathlib import Path

from tocsin.pipeline.errors import OutOfStep
from tocsin.store.outbox import Outbox
from tocsin.store.places import Places


def check_in_step(data: Path, outbox: Outbox) -> None:
    """A batch is planned, published, finished, in that order. Anything else would lose batches without a word."""
    places = Places(data)
    published = max(outbox.committed() | {-1})
    planned, finished = (_last(places.checkpoint / name) for name in ("offsets", "commits"))
    if not finished <= published <= planned:
        raise OutOfStep(
            f"{places.checkpoint} has planned batch {planned} and finished {finished}, but the last in {places.outbox}"
            f" is {published}: they do not belong together; restore both from one backup"
        )


def _last(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("[0-9]*") if path.name.isdecimal()), default=-1)
