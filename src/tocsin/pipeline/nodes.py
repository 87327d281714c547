"""The nodes that one job reads. The first data directory is the job's own, with tables, outbox and checkpoint; those of
other nodes are read beside it, each from when it is there."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from tocsin.model.identity import Instant
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.source import Offsets, log_name, log_named
from tocsin.pipeline.state.publisher import LEAST, RUN, StatePublisher, open_store
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.tables.subscriptions import Past, SubscriptionTable
from tocsin.pipeline.task import Met
from tocsin.store import read_elsewhere
from tocsin.store.errors import StoreError
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places

Wait = Callable[[str], None]


@dataclass(frozen=True)
class _Other:
    data: Path
    publisher: StatePublisher
    first: int  # the first record that was kept when it was opened


class Others:
    """Nodes that are read beside that of the job's own directory, `home`. `end` is how far all were read before. What
    is waited for, and what is read no longer, `wait` is told in a sentence."""

    def __init__(
        self,
        home: Path,
        directories: Sequence[Path],
        storage: Storage,
        end: Offsets,
        wait: Wait,
        *,
        least: int = LEAST,
    ) -> None:
        self._home, self._storage, self._end, self._wait, self._least = home, storage, end, wait, least
        self._closing = ExitStack()
        self._waiting = {each.absolute(): "" for each in directories}  # with what was said of each
        self._opened: dict[str, _Other] = {}
        self._own, self._known = node_at(home) if directories else "", NotedNodes()
        if len({each.resolve() for each in (home, *self._waiting)}) <= len(directories):
            raise PipelineError("a data directory is named twice: name that of each node once")

    def __enter__(self) -> Self:
        self._known = noted(self._home)
        if self._waiting:
            self.look()
            self._note()
        else:
            Places(self._home).nodes.unlink(missing_ok=True)
        for name in sorted(nodes_in(self._end) - self._opened.keys() - self._absent().keys()):
            self._wait(
                f"{name} was read up to record {self._end.get(log_name(LOG, name), 0)} and is named no more: its rows"
                " stay, what it accepts from now on is not read"
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def table_of_subscriptions(self, outbox: Outbox, own: StatePublisher) -> Callable[[], None]:
        """What keeps it up with the published batches, by the changes in all nodes' logs, `own` those of the first."""

        def pasts() -> dict[str, Past]:
            return {LOG: own, **{log_name(LOG, name): each.publisher for name, each in self._opened.items()}}

        return SubscriptionTable(self._storage, outbox, pasts).keep_up

    def look(self) -> None:
        """Opens those that are there by now."""
        for data in list(self._waiting):
            try:
                name = node_at(data)
            except (Absent, StoreError) as problem:
                self._say(data, str(problem))
            else:
                self._open(name, data)

    def met(self, end: Offsets) -> dict[str, Met]:
        """What the records meet of a batch that begins there."""
        return {
            name: Met(Places(each.data).log(), each.publisher.publish(end.get(log_name(LOG, name), each.first)))
            for name, each in self._opened.items()
        }

    def reached(self, end: Offsets) -> None:
        """So far they are read: their nodes are told, where that is news."""
        before, self._end = self._end, end
        for name, each in self._opened.items():
            if any(end.get(log_name(log, name)) != before.get(log_name(log, name)) for log in (LOG, OUTCOMES)):
                self._tell(name, each.data)

    def _open(self, name: str, data: Path) -> None:
        known = {self._own: self._home} | {other: each.data for other, each in self._opened.items()}
        if name in known:
            raise PipelineError(
                f"{known[name]} and {data} are both {name}'s: a copy of a data directory is no other node"
            )
        if Places(data).nodes.exists():
            raise PipelineError(
                f"{data} has the tables of several nodes already: name it first, to go on with these; or remove"
                f" {Places(data).nodes}, if they are given up"
            )
        job = f"{RUN}/nodes/{quote(name, safe='')}"
        publisher = StatePublisher(data, self._storage, job, least=self._least, home=self._home)
        self._closing.enter_context(publisher)
        with closing(LogReader(Places(data).log())) as log:
            self._opened = {**self._opened, name: _Other(data, publisher, log.start())}
        del self._waiting[data]
        self._tell(name, data)
        self._note()

    def _tell(self, name: str, data: Path) -> None:
        read = {log: self._end.get(log_name(log, name), 0) for log in (LOG, OUTCOMES)}
        read_elsewhere.note(data, read, Instant(time.time_ns()))

    def _note(self) -> None:
        """For the source, which is read by another process, and for who asks how far the job is."""
        found = NotedNodes({name: str(each.data) for name, each in self._opened.items()}, self._absent())
        path = Places(self._home).nodes
        partial = path.with_suffix(".new")
        partial.write_bytes(msgspec.json.encode(found))
        partial.replace(path)

    def _absent(self) -> dict[str, str]:
        """Those that were read before, and whose directories are not there now."""
        before = self._known.absent | self._known.read
        return {name: data for name, data in before.items() if Path(data) in self._waiting}

    def _say(self, data: Path, reason: str) -> None:
        """Once."""
        if self._waiting[data] != reason:
            self._waiting[data] = reason
            self._wait(f"{reason}; it is read from when it is there, and the others meanwhile")


class Absent(PipelineError):
    """There is no data directory, or no node has used it yet."""


def name_of(data: Path) -> str:
    """The node's whose directory it is."""
    if not data.is_dir():
        raise Absent(f"{data} is not there")
    try:
        name = name_in(data)
    except PipelineError as problem:
        raise Absent(str(problem)) from problem
    if name is None:
        raise Absent(f"{data} does not name its node: none has been started on it yet")
    return name


def name_in(data: Path) -> str | None:
    """None in a directory that belongs to none."""
    store, _ = open_store(data)
    with closing(store):
        return store.meta("node")


def node_at(data: Path) -> str:
    """The same, where its log may be read beside those of others."""
    name, (store, _) = name_of(data), open_store(data)
    with closing(store):
        engine, shared = store.meta("engine"), store.meta("shared")
    if shared is not None:
        raise PipelineError(
            f"{data} shares a log in Kafka, which holds what all its nodes accept: name that with --log"
        )
    if engine == "spark":
        raise PipelineError(
            f"{data} belongs to the Spark engine, which delivers for one node alone: run its pipeline by itself, with"
            " one --data, or have the node match by itself (--engine embedded) on a data directory of its own"
        )
    return name


def nodes_in(end: Offsets) -> set[str]:
    """Whose logs these are, without the first."""
    return {node for _, node in map(log_named, end) if node}


class NotedNodes(Struct, frozen=True):
    """The data directories of nodes that a job reads besides, by name; those `absent` were read, and are not there."""

    read: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def noted(data: Path) -> NotedNodes:
    """By the job in a data directory."""
    try:
        return msgspec.json.decode(Places(data).nodes.read_bytes(), type=NotedNodes)
    except (OSError, msgspec.MsgspecError):
        return NotedNodes()
