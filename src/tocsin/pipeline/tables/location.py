"""Where the tables of a data directory are: as told, else where the streaming job has them, else in the directory."""

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox
from tocsin.store.places import Places

_NOTED = "tables"
_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_")


def located(data: Path, place: str | None = None, options: Mapping[str, str] | None = None) -> Storage:
    """Object stores' options come from the environment too, as delta-rs reads it; here, so that tasks on other machines
    have them."""
    storage = Storage.at(place or _noted(data) or Places(data).tables, options)
    if storage.is_local:
        return storage
    here = {name: value for name, value in os.environ.items() if name.startswith(_CLOUDS)}
    return Storage.at(storage.uri, here | dict(options or {}))


def note(data: Path, storage: Storage, outbox: Outbox) -> None:
    """For those who read. What waits to be committed has its files where the tables were: it is not taken elsewhere."""
    here = str(Places(data).tables.absolute())
    before, now = outbox.named(_NOTED) or here, storage.uri
    if before != now and outbox.staged_since()[0]:
        raise PipelineError(
            f"rows of published batches wait for the tables in {before}, not {now}: let `tocsin pipeline run --once`"
            f" finish with --tables {before} first, then go on with --tables {now}"
        )
    if before != now:
        outbox.name(_NOTED, "" if now == here else now)


def _noted(data: Path) -> str | None:
    if not Places(data).outbox.exists():
        return None
    with closing(Outbox.open(Places(data).outbox, read_only=True)) as outbox:
        return outbox.named(_NOTED)
