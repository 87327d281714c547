"""How far the pipeline is, read from its files without starting Spark."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from tocsin.pipeline.nodes import name_in, nodes_in, noted
from tocsin.pipeline.source import Offsets, log_name
from tocsin.pipeline.state.publisher import open_store
from tocsin.pipeline.tables import parts, reading
from tocsin.pipeline.tables.location import located
from tocsin.pipeline.tables.schemas import STREAMED, SUBSCRIPTIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox
from tocsin.store.pipeline_figures import PipelineFigures, durable, pipeline_figures, waits
from tocsin.store.places import LOG, OUTCOMES, Places
from tocsin.store.shared.address import SharedLog


class NodeStatus(Struct, frozen=True, kw_only=True):
    """How far one node of several is read. `data` is None for one that is named no more, or not there."""

    data: str | None
    end: dict[str, int]
    lag: dict[str, int]
    lag_seconds: float


class Status(PipelineFigures, frozen=True, kw_only=True):
    """With the rows of each table, those too that wait to be committed. Where several nodes are read `lag` is that of
    all, and `nodes` has each."""

    tables: dict[str, int]
    nodes: dict[str, NodeStatus] = field(default_factory=dict)


def status(data: Path, storage: Storage | None = None, shared: SharedLog | None = None) -> Status:
    """`shared` is for its options; that a job reads one, its directory says."""
    store, _ = open_store(data)
    known = store.meta("shared")
    store.close()
    shared = shared or (None if known is None else SharedLog.parse(known))
    storage, waiting = storage or located(data), _staged(data)
    tables = {name: reading.count(storage, name) + waiting[name] for name in STREAMED}
    figures = pipeline_figures(data) if shared is None else _in_shared(data, pipeline_figures(data), shared)
    found = Status(**asdict(figures), tables=tables)
    return found if shared is not None else _with_nodes(data, storage, found)


def _with_nodes(data: Path, storage: Storage, found: Status) -> Status:
    """Those that are read besides, and those that were."""
    read = noted(data).read
    names = (*read, *sorted(nodes_in(found.end) - read.keys()))
    if not names:
        return found
    others = {name: _node(read.get(name), name, found.end) for name in names}
    own = NodeStatus(data=str(data), end=_of(found.end, ""), lag=found.lag, lag_seconds=found.lag_seconds)
    nodes = {name_in(data) or LOG: own} | others
    return replace(
        found,
        lag={log: sum(each.lag[log] for each in nodes.values()) for log in (LOG, OUTCOMES)},
        lag_seconds=max(each.lag_seconds for each in nodes.values()),
        tables=found.tables | {SUBSCRIPTIONS: reading.count(storage, SUBSCRIPTIONS)},
        nodes=nodes,
    )


def _node(data: str | None, name: str, end: Offsets) -> NodeStatus:
    read = _of(end, name)
    if data is None or not Path(data).is_dir():
        return NodeStatus(data=None, end=read, lag={LOG: 0, OUTCOMES: 0}, lag_seconds=0.0)
    lag = {log: max(0, durable(Path(data), log) - read[log]) for log in (LOG, OUTCOMES)}
    return NodeStatus(data=data, end=read, lag=lag, lag_seconds=waits(Path(data), read[LOG]))


def _of(end: Offsets, node: str) -> Offsets:
    return {log: end.get(log_name(log, node), 0) for log in (LOG, OUTCOMES)}


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
