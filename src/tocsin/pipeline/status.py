"""How far the pipeline is, read from its files without starting Spark."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tocsin.pipeline import tables
from tocsin.pipeline.as_of import open_store
from tocsin.pipeline.source import Offsets
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Batch, Outbox
from tocsin.store.places import LOG, OUTCOMES, Places


@dataclass(frozen=True)
class Status:
    """`lag` is what is durable and in no published batch yet; `last` when the last batch was published, in ns."""

    batches: int
    rows: int
    deliveries: int
    replays: int
    end: Offsets
    lag: Offsets
    tables: dict[str, int]
    last: int | None


def status(data: Path) -> Status:
    store, _ = open_store(data)
    store.close()
    published = _published(data)
    streamed = [each for each in published if each.id >= 0]
    end: Offsets = json.loads(streamed[-1].end) if streamed else {LOG: 0, OUTCOMES: 0}
    committed = {each.id for each in streamed}
    return Status(
        batches=len(streamed),
        rows=sum(each.rows for each in streamed),
        deliveries=sum(each.deliveries for each in published),
        replays=len(published) - len(streamed),
        end=end,
        lag={name: max(0, _durable(data, name) - stop) for name, stop in end.items()},
        tables={name: tables.count(data, name, committed) for name in tables.KEPT},
        last=max((each.when for each in published), default=None),
    )


def _published(data: Path) -> list[Batch]:
    if not Places(data).outbox.exists():
        return []
    with closing(Outbox.open(Places(data).outbox, read_only=True)) as outbox:
        return outbox.batches()


def _durable(data: Path, name: str) -> int:
    with closing(LogReader(Places(data).log(name))) as reader:
        return reader.end()
