"""Simulates implicit notification over a world in tables: each publication by each protocol is a row of a DataFrame,
counted in the Python workers by `tocsin.sim.counting`, and a row of the table `simulations`.

The world goes to the tasks as they are sent: services are numbers there, four bytes each. A worker makes the graph of a
topic once.
"""

import hashlib
import os
import random
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.model.refusal import Refusal
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.progress import Progress, job_session, watched
from tocsin.pipeline.session import HERE, SparkSettings
from tocsin.pipeline.sources import parallelism
from tocsin.pipeline.tables.schemas import DAY, SCHEMAS, SIMULATIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.world_tables import WorldTables, read_publications, read_world
from tocsin.routing.implicit.messages import MOST_PASSES
from tocsin.routing.implicit.protocols import PROTOCOLS, protocol
from tocsin.semantics.interest.changes import Change, PutRules, PutService
from tocsin.semantics.interest.world import World
from tocsin.sim.counting import Population, TopicGraph

TASKS_PER_CORE = 4
MOST_GRAPHS = 8  # of topics, that a worker keeps
_ASKED = "number long, root string, topic string, protocol string"
_COUNTED = pa.schema([each for each in SCHEMAS[SIMULATIONS] if each.name not in ("simulation", "time")])


@dataclass(frozen=True)
class SimulateSettings:
    """What is published is each of `topics` by each of `roots` and of a `sample` of services, and what the table
    `publications` says; without any of it what the scenario says."""

    world: str
    roots: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    publications: str | None = None
    sample: int = 0
    seed: int = 1
    protocols: tuple[str, ...] = tuple(PROTOCOLS)
    limit: int = MOST_PASSES
    inherit_topics: bool = False
    inherit_categories: bool = False
    tables: str | None = None
    spark: SparkSettings = HERE
    tables_options: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Simulated:
    """`withheld` may be longer than 64 bits. What could not be counted is None, and the note says why."""

    root: str
    topic: str
    protocol: str
    notifications: int | None
    repetitions: int | None
    receivers: int | None
    dropped: int | None
    withheld: int | None
    hops: int | None
    largest_header: int | None
    classes: int
    seconds: float
    note: str | None = None


@dataclass(frozen=True)
class Simulation:
    id: str
    services: int
    categories: int
    profiles: int
    edges: int
    results: list[Simulated]


def simulate(settings: SimulateSettings, progress: Progress | None = None) -> Simulation:
    asked = _asked(settings)  # what is wrong with it need not wait for Spark
    log = Path(tempfile.gettempdir(), f"tocsin-simulate-{os.getpid()}.log")
    try:
        with job_session(log, settings.spark) as spark:
            found = _simulate(spark, settings, asked, progress)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem
    log.unlink(missing_ok=True)
    return found


def simulate_on(spark: SparkSession, settings: SimulateSettings, progress: Progress | None = None) -> Simulation:
    return _simulate(spark, settings, _asked(settings), progress)


@dataclass(frozen=True)
class _Asked:
    tables: WorldTables
    rows: list[tuple[int, str, str, str]]


def _asked(settings: SimulateSettings) -> _Asked:
    try:
        for name in settings.protocols:
            protocol(name)
        tables = read_world(settings.world, PutRules(settings.inherit_topics, settings.inherit_categories))
        published = _publications(settings, tables)
        for topic in {topic for _, topic in published}:
            tables.world.topics.check(topic)
    except Refusal as refusal:
        raise PipelineError(refusal.text) from None
    numbers = {root: tables.number(root) for root, _ in published}
    rows = [(numbers[root], root, topic, name) for root, topic in published for name in settings.protocols]
    return _Asked(tables, rows)


def _publications(settings: SimulateSettings, tables: WorldTables) -> list[tuple[str, str]]:
    names, roots = tables.names, list(settings.roots)
    drawn = random.Random(settings.seed).sample(range(len(names)), min(settings.sample, len(names)))
    roots += [names[each].as_py() for each in drawn]
    published = [(root, topic) for root in roots for topic in settings.topics]
    if bool(roots) != bool(settings.topics):
        raise PipelineError("say both who publishes (--root, --sample) and on what (--topic)")
    if settings.publications is not None:
        published += read_publications(settings.publications)
    if not published and tables.publish is not None:
        published = [tables.publish]
    if not published:
        raise PipelineError("nothing is published; say --root and --topic, or --publications with a table of them")
    return list(dict.fromkeys(published))


def _simulate(spark: SparkSession, settings: SimulateSettings, asked: _Asked, progress: Progress | None) -> Simulation:
    rows, tables = asked.rows, asked.tables
    tasks = min(len(rows), TASKS_PER_CORE * parallelism(spark))
    frame = spark.createDataFrame(rows, _ASKED).repartition(tasks)
    task = Task.of(tables, settings.limit)
    with watched(spark, progress):
        found = frame.mapInArrow(task.run, from_arrow_schema(_COUNTED)).toArrow().to_pylist()
    order = {row[1:]: at for at, row in enumerate(rows)}
    found.sort(key=lambda row: order[row["root"], row["topic"], row["protocol"]])
    results = [Simulated(**row | {"withheld": None if row["note"] else int(row["withheld"])}) for row in found]
    population, name = tables.population, str(uuid.uuid4())
    if settings.tables is not None:
        _write(Storage.at(settings.tables, dict(settings.tables_options)), name, found)
    world = tables.world
    return Simulation(name, len(population), len(world.categories), len(population.profiles), len(world.edges), results)


def _write(storage: Storage, name: str, found: Sequence[dict[str, Any]]) -> None:
    now = datetime.now(UTC)
    rows = [{**row, "simulation": name, "time": now, DAY: now.date()} for row in found]
    delta = storage.opened(SIMULATIONS)
    schema = SCHEMAS[SIMULATIONS].append(pa.field(DAY, pa.date32()))
    write_deltalake(delta, pa.Table.from_pylist(rows, schema), mode="append")


@dataclass(frozen=True)
class Task:
    """What the tasks are sent: the world as the changes that make it, and its services by profile."""

    changes: bytes = field(repr=False)
    population: Population = field(repr=False)
    digest: str
    limit: int

    @classmethod
    def of(cls, tables: WorldTables, limit: int) -> "Task":
        changes = msgspec.msgpack.encode([each for each in tables.world.changes() if not isinstance(each, PutService)])
        population = tables.population
        digest = hashlib.blake2b(changes, digest_size=16)
        digest.update(msgspec.msgpack.encode(population.profiles))
        digest.update(population.profile_of.tobytes())
        return cls(changes, population, digest.hexdigest(), limit)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                begun = time.perf_counter()
                graph = self._graph(row["topic"])
                row |= _counted(graph, row.pop("number"), row["protocol"], self.limit)
                row |= {"classes": len(graph.tells), "seconds": time.perf_counter() - begun}
                yield pa.RecordBatch.from_pylist([row], schema=_COUNTED)

    def _graph(self, topic: str) -> TopicGraph:
        if _worker.digest != self.digest:
            _worker.take(self)
        return _worker.graph(topic)


class _Worker:
    """What a worker's process keeps of the world it last worked on."""

    digest = ""

    def take(self, task: Task) -> None:
        self.world = World.of(msgspec.msgpack.decode(task.changes, type=tuple[Change, ...]))
        self.population, self.digest = task.population, task.digest
        self._graphs: dict[str, TopicGraph] = {}

    def graph(self, topic: str) -> TopicGraph:
        found = self._graphs.pop(topic, None)
        if found is None:
            found = TopicGraph(self.world.interests, self.world.categories, self.population, topic)
        self._graphs[topic] = found
        while len(self._graphs) > MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        return found


_worker = _Worker()


def _counted(graph: TopicGraph, root: int, protocol: str, limit: int) -> dict[str, Any]:
    try:
        count = graph.count(root, protocol, limit)
    except Refusal as refusal:
        return {"note": refusal.text}
    return msgspec.structs.asdict(count) | {"withheld": Decimal(count.withheld)}
