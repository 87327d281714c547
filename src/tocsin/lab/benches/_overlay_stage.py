"""The brokers of the overlay's benchmark: rings of processes, workers behind one port, the cores on which they run."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from tocsin.documents.ring import RING, RingDocument
from tocsin.lab.benches._overlay_load import Broker, topic_of
from tocsin.lab.benches._stage import Lost, Process, started
from tocsin.routing.ring.identifiers import distance
from tocsin.routing.ring.topic_keys import key_of_topic

TOPICS = 64
_PATIENCE = 120.0


class Cores(Struct, frozen=True):
    """Where the brokers may run, who publishes, and who consumes."""

    brokers: list[int]
    load: list[int]
    sink: list[int]

    @property
    def shared(self) -> bool:
        return bool(set(self.brokers) & {*self.load, *self.sink})

    def __str__(self) -> str:
        others = f"publisher on {_listed(self.load)}, sink on {_listed(self.sink)}"
        said = f"brokers on cores {_listed(self.brokers)}, {others}"
        return f"{said}, which they share with brokers" if self.shared else said


def _listed(cores: Sequence[int]) -> str:
    return " and ".join(map(str, cores))


def cores(have: Sequence[int], brokers: int) -> Cores:
    """As many as they may use for the brokers; the last two for the others, which share where there are too few."""
    sink = have[-1]
    load = have[-2] if len(have) >= brokers + 2 else sink
    free = [each for each in have if each not in (load, sink)]
    return Cores(list(free[:brokers] if len(free) >= brokers else have[:brokers]), [load], [sink])


@contextlib.contextmanager
def on(cores: Sequence[int]) -> Iterator[None]:
    """What is started in here runs on these, with all its threads and processes."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Sink(Struct, frozen=True):
    """A consumer; `progress` is the file in which it counts."""

    process: Process
    progress: str

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + _PATIENCE
        while (came := sum(self.process.get("/counts").values())) < count:
            if time.monotonic() > until:
                raise Lost(f"{count - came} of {count} deliveries are missing")
            time.sleep(0.05)


@contextlib.contextmanager
def sink(folder: Path, cores: Sequence[int]) -> Iterator[Sink]:
    file = str(folder / "progress")
    with contextlib.ExitStack() as stack:
        with on(cores):
            pid, told = stack.enter_context(started([file], "tocsin.lab.benches._sink"))
        yield Sink(Process(pid, told["port"]), file)


def served(folder: Path, cores: Sequence[int], *words: str) -> "contextlib.AbstractContextManager[Process]":
    return _served(["serve", "--port", "0", "--data", str(folder), "--json", *words], cores)


@contextlib.contextmanager
def _served(command: Sequence[str], cores: Sequence[int]) -> Iterator[Process]:
    with contextlib.ExitStack() as stack:
        with on(cores):
            pid, told = stack.enter_context(started(command))
        yield Process(pid, int(told["url"].rpartition(":")[2]))


@contextlib.contextmanager
def ring(folder: Path, many: int, replicas: int, cores: Sequence[int]) -> Iterator[list[Process]]:
    """Nodes that have come to terms; a copy of each log at so many of them."""
    words = ("--set", f"ring-replicas={replicas}")
    with contextlib.ExitStack() as stack:
        nodes: list[Process] = []
        for number in range(many):
            join = ("--join", f"127.0.0.1:{nodes[0].port}") if nodes else ()
            nodes.append(stack.enter_context(served(folder / f"ring{replicas}-{number}", cores, *words, *join)))
        for node in nodes:
            _settled(node, many, min(replicas, many) - 1)
        yield nodes


def _settled(node: Process, many: int, keepers: int) -> None:
    """Until it sees all of them, each with all of its part and its copies."""
    until = time.monotonic() + _PATIENCE
    while True:
        seen = seen_by(node).members
        whole = [each.ready and len(each.keepers or ()) == keepers for each in seen]
        if len(whole) == many and all(whole):
            return
        if time.monotonic() > until:
            raise Lost(f"the ring did not come to terms: {seen}")
        time.sleep(0.1)


def seen_by(node: Process) -> RingDocument:
    found: RingDocument = node.ask("GET", RING, kind=RingDocument)
    return found


def topics_by_node(nodes: Sequence[Process], each: int) -> list[list[str]]:
    """Names of topics whose keys that node has, so many of each node."""
    names = [seen_by(node).node for node in nodes]
    ids = {member.node: int(member.id, 16) for member in seen_by(nodes[0]).members}
    found: dict[str, list[str]] = {name: [] for name in names}
    number = 0
    while any(len(topics) < each for topics in found.values()):
        topic, number = f"hazards{number}", number + 1
        key = key_of_topic(topic_of(topic))
        owner = min(ids, key=lambda name: distance(key, ids[name]))
        if len(found[owner]) < each:
            found[owner].append(topic)
    return [found[name] for name in names]


def any_topics(many: int = TOPICS) -> list[str]:
    return [f"hazards{number}" for number in range(many)]


def broker_at(nodes: Sequence[Process], topics: Sequence[str], ports: Sequence[int] | None = None) -> Broker:
    """All the processes of these nodes count, also where only some of the ports are published to."""
    pids = [pid for node in nodes for pid in family(node.pid)]
    return Broker(list(ports or [node.port for node in nodes]), pids, list(topics))


def family(pid: int) -> list[int]:
    """A process and all that it started, and so on."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(word) for file in files for word in file.read_text().split()]
    return [pid, *(each for child in children for each in family(child))]


def has_workers() -> bool:
    """Whether `tocsin serve` can have several."""
    command = [sys.executable, "-m", "tocsin", "serve", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"}, check=True)
    return "--workers" in said.stdout
