"""How far the data pipeline is, from the files that it leaves in the data directory: without Spark, for any process."""

import json
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tocsin.model.identity import Instant
from tocsin.store.codec import Undecodable, decode
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox, Totals
from tocsin.store.places import LOG, OUTCOMES, Places


class PipelineFigures(Struct, frozen=True, kw_only=True):
    """`lag` is what is durable and in no published batch yet, `lag_seconds` how long the first of it waits; `last` when
    the last batch was published. `state`, the milliseconds by stage of the last batch and the last error are what the
    job tells; after a kill that may be old."""

    batches: int
    rows: int
    deliveries: int
    replays: int
    end: dict[str, int]
    lag: dict[str, int]
    last: Instant | None
    lag_seconds: float
    state: str | None = None
    stages: dict[str, int] = field(default_factory=dict)
    error: str | None = None


def pipeline_figures(data: Path) -> PipelineFigures:
    totals, end = _published(data)
    told = _told(Places(data).progress)
    return PipelineFigures(
        batches=totals.batches,
        rows=totals.rows,
        deliveries=totals.deliveries,
        replays=totals.replays,
        end=end,
        lag={name: max(0, durable(data, name) - end.get(name, 0)) for name in (LOG, OUTCOMES)},
        last=totals.last,
        lag_seconds=waits(data, end.get(LOG, 0)),
        state=told.get("state"),
        stages=told.get("stages", {}),
        error=told.get("error"),
    )


def _published(data: Path) -> tuple[Totals, dict[str, int]]:
    nothing = {LOG: 0, OUTCOMES: 0}
    if not Places(data).outbox.exists():
        return Totals(0, 0, 0, 0, None), nothing
    with closing(Outbox.open(Places(data).outbox, read_only=True)) as outbox:
        last = outbox.last()
        return outbox.totals(), nothing if last is None else json.loads(last.end)


def _told(path: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return told


def waits(data: Path, offset: int) -> float:
    """Since when the first record waits that is in no batch yet."""
    with closing(LogReader(Places(data).log(LOG))) as reader:
        for _, payload in reader.kept_frames(offset, min(reader.end(), offset + 1)):
            with suppress(Undecodable):
                return max(0.0, round((time.time_ns() - decode(payload).when) / 1e9, 3))
    return 0.0


def durable(data: Path, name: str) -> int:
    """How many records of one of a node's logs can be read."""
    with closing(LogReader(Places(data).log(name))) as reader:
        return reader.end()
