"""How far the pipeline is, read from its files without starting Spark."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from msgspec.structs import asdict, replace

from tocsin.pipeline.state.publisher import open_store
from tocsin.pipeline.tables import parts, reading
from tocsin.pipeline.tables.location import located
from tocsin.pipeline.tables.schemas import STREAMED
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox
from tocsin.store.pipeline_figures import PipelineFigures, pipeline_figures
from tocsin.store.places import Places
from tocsin.store.shared.address import SharedLog


class Status(PipelineFigures, frozen=True, kw_only=True):
    """With the rows of each table, those too that wait to be committed."""

    tables: dict[str, int]


def status(data: Path, storage: Storage | None = None, shared: SharedLog | None = None) -> Status:
    """`shared` is for its options; that a job reads one, its directory says."""
    store, _ = open_store(data)
    known = store.meta("shared")
    store.close()
    shared = shared or (None if known is None else SharedLog.parse(known))
    storage, waiting = storage or located(data), _staged(data)
    tables = {name: reading.count(storage, name) + waiting[name] for name in STREAMED}
    figures = pipeline_figures(data) if shared is None else _in_shared(data, pipeline_figures(data), shared)
    return Status(**asdict(figures), tables=tables)


def _in_shared(data: Path, figures: PipelineFigures, shared: SharedLog) -> PipelineFigures:
    from tocsin.pipeline.shared import status as shared_status

    end = shared_status.planned(Places(data).checkpoint, figures.batches - 1)
    return replace(figures, lag=shared_status.lag(shared, end), lag_seconds=shared_status.waits(shared, end))


def _staged(data: Path) -> Counter[str]:
    """How many rows of published batches wait to be committed to their tables."""
    waiting: Counter[str] = Counter()
    if Places(data).outbox.exists():
        with closing(Outbox.open(Places(data).outbox)) as outbox:
            for part in map(parts.decode, (data for _, data in outbox.staged())):
                waiting[part.table] += part.rows
    return waiting
