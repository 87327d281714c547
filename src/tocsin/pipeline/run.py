"""The streaming job: from the log to tables and the outbox, until it is told to stop."""

import fcntl
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tocsin.pipeline.batch import Batches, PublishedBatch, warm_up
from tocsin.pipeline.errors import OutOfStep, PipelineError, is_lasting, sentence
from tocsin.pipeline.frames import stream_log
from tocsin.pipeline.nodes import Others
from tocsin.pipeline.session import HERE, SparkSettings, session
from tocsin.pipeline.source import Offsets
from tocsin.pipeline.state.publisher import LEAST, StatePublisher, open_store
from tocsin.pipeline.tables.commits import COMMIT_SECONDS, Committer
from tocsin.pipeline.tables.location import located, note
from tocsin.pipeline.tables.schemas import DELIVERIES, KEPT, STREAMED, SUBSCRIPTIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places
from tocsin.store.shared.address import SharedLog

_LOOK_SECONDS = 0.2
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # in seconds, before a query is started again
TRIES = 4  # without a batch between them, where the job is to end


@dataclass(frozen=True)
class RunSettings:
    """`deliver` None does what the data directory's engine asks for. `parent` is a process to end with.

    `rows` is how many records a batch may have; `interval` how often, in seconds, the log is looked at. With `once`
    the job ends when it has read what is there. A row
    is in its table after `commit_seconds`. A snapshot is made of so many changes of subscriptions. With `shared` the
    records are those of a log that nodes share, and `data` is the job's own. `others` are the data directories of nodes
    that are read besides; the tables of all are those of `data`.
    """

    data: Path
    spark: SparkSettings = HERE
    deliver: bool | None = None
    rows: int = 5_000
    interval: float = 0.1
    parent: int | None = None
    once: bool = False
    storage: Storage | None = None
    commit_seconds: float = COMMIT_SECONDS
    snapshot_changes: int = LEAST
    shared: SharedLog | None = None
    others: tuple[Path, ...] = ()

    @property
    def cores(self) -> Path:
        return Places(self.data).scratch / "cores"

    @property
    def tables(self) -> Storage:
        return self.storage or located(self.data)


class Progress:
    """Tells what the job does, a JSON line each; with a file it is also kept there, for who asks."""

    def __init__(self, out: TextIO, kept: Path | None = None) -> None:
        self._out, self._kept = out, kept
        self._shown: dict[str, object] = {}

    @classmethod
    def on_stdout(cls, kept: Path) -> "Progress":
        """Keeps standard output to itself: whatever else writes there from now on goes to standard error."""
        sys.stdout.flush()
        out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        return cls(out, kept)

    def say(self, event: str, **values: object) -> None:
        try:
            print(json.dumps({"event": event, **values}), file=self._out, flush=True)
        except BrokenPipeError:  # whoever listened is gone; the work goes on until it is told to stop
            self._out = open(os.devnull, "w")  # noqa: SIM115, PTH123

    def state(self, state: str, **values: object) -> None:
        """`ready`, `restarting`, `stopped`, `failed`; the last reason of trouble stays on record."""
        self.say(state, **values)
        self._keep(state=state, **({"error": values["reason"], "failed": time.time()} if "reason" in values else {}))

    def wait(self, reason: str) -> None:
        self.say("waiting", reason=reason)

    def batch(self, done: PublishedBatch) -> None:
        told = {name: done.counted[name] for name in (*KEPT, DELIVERIES)}
        rest = {"seconds": round(done.seconds, 3), "repeated": done.repeated}
        self.say("batch", id=done.id, rows=done.counted["records"], **told, **rest)

    def stages(self, last: Mapping[str, Any] | None) -> None:
        """What the last batch took in milliseconds, by Spark's own account; None before the first."""
        if last is not None and last["batchId"] != self._shown.get("batch"):
            self._keep(batch=last["batchId"], stages=dict(last["durationMs"]))

    def _keep(self, **values: object) -> None:
        self._shown |= values
        if self._kept is not None and self._kept.parent.exists():
            partial = self._kept.with_suffix(".new")
            partial.write_text(json.dumps(self._shown), "utf-8")
            partial.replace(self._kept)


def run(settings: RunSettings) -> None:
    """Until SIGTERM, SIGINT or the end of the parent; PipelineError says in a sentence what else ended it.

    For a process of its own: it takes the signals and standard output.
    """
    progress = Progress.on_stdout(Places(settings.data).progress)
    progress.say("starting")
    try:
        _run(settings, progress)
    except Exception as problem:
        reason = sentence(problem, Places(settings.data).spark_log)
        progress.state("failed", reason=reason)
        raise PipelineError(reason) from problem
    progress.state("stopped")


def _run(settings: RunSettings, progress: Progress) -> None:
    if settings.spark.remote is not None:
        raise PipelineError(
            "`run` cannot go by Spark Connect: batches are published by the driver, which would be at the server and"
            " not at the data directory; start it where the data directory is, with --master for a cluster"
        )
    if settings.shared is not None and settings.others:
        raise PipelineError("a log in Kafka holds what all its nodes accept: name one data directory, the job's own")
    stop, places = threading.Event(), Places(settings.data)
    _stop_on_signals(stop)
    if settings.shared is not None:
        places.data.mkdir(parents=True, exist_ok=True)
    with (
        owned(places.data, "pipeline"),
        publishing(settings, progress) as batches,
        session(places.spark_log, places.scratch, settings.spark) as spark,
    ):
        _stop_on_signals(stop)  # Spark has put its own handler in place
        if (page := spark.sparkContext.uiWebUrl) is not None:
            progress.say("ui", url=page)
        # The workers start while Spark plans the query.
        warming = threading.Thread(target=warm_up, args=(spark,), daemon=True)
        warming.start()
        keep_running(spark, settings, batches, progress, stop)
        warming.join()


def keep_running(
    spark: SparkSession, settings: RunSettings, batches: Batches, progress: Progress, stop: threading.Event
) -> None:
    """Until told to stop. A query that fails by what may pass (an executor that is gone, a worker out of memory) is
    started again, a little later each time; what will not pass by itself is raised."""
    tries = 0
    while True:
        published = batches.last
        query = start(spark, settings, batches)
        progress.state("ready")
        problem = _follow(query, batches, progress, Cores(spark, settings.cores), stop, settings.parent)
        if problem is None:
            return
        tries = 1 if batches.last > published else tries + 1
        if is_lasting(problem) or (settings.once and tries == TRIES):
            raise problem
        pause = min(FIRST_PAUSE * 2 ** min(tries - 1, 10), LONGEST_PAUSE)
        progress.state("restarting", reason=sentence(problem, Places(settings.data).spark_log), seconds=pause)
        if stop.wait(pause):
            return


@contextmanager
def publishing(settings: RunSettings, progress: Progress) -> Iterator[Batches]:
    """Where batches go: the outbox, the tables and the state that tasks are told of."""
    data, storage, shared, least = settings.data, settings.tables, settings.shared, settings.snapshot_changes
    with shared_past(data, shared) as bring_up:
        deliver = delivers(data, settings.deliver)
        publisher = StatePublisher(data, storage, least=least, bring_up=bring_up)
        with publisher as state, closing(Outbox.open(Places(data).outbox)) as outbox:
            check_in_step(data, outbox, shared=shared is not None)
            for name in (*STREAMED, SUBSCRIPTIONS):
                storage.check(name)
            note(data, storage, outbox)
            others = Others(data, settings.others, storage, _end(outbox, shared), progress.wait, least=least)
            beside = others.table_of_subscriptions(outbox, state) if settings.others else None
            committer = Committer(storage, outbox, progress.wait, seconds=settings.commit_seconds, beside=beside)
            with others, committer:
                yield Batches(data, storage, outbox, state, others, deliver=deliver, shared=shared, done=progress.batch)


def _end(outbox: Outbox, shared: SharedLog | None) -> Offsets:
    """How far nodes were read. Of a log that they share, that is by partition and none of theirs."""
    last = outbox.last() if shared is None else None
    return {} if last is None else json.loads(last.end)


@contextmanager
def shared_past(data: Path, shared: SharedLog | None) -> Iterator[Callable[[], None] | None]:
    """What brings the job's database up to the changes that nodes share; None beside a node, whose database it is."""
    if shared is None:
        yield None
        return
    try:
        from tocsin.store.shared.changes import SharedPast
        from tocsin.store.shared.kafka import make_topics
    except ModuleNotFoundError as problem:
        raise PipelineError(f"a shared log needs {problem.name}: pip install 'tocsin[kafka]'") from problem

    make_topics(shared)
    with closing(SharedPast(data, shared)) as past:
        past.bring_up()
        yield past.bring_up


def start(spark: SparkSession, settings: RunSettings, batches: Batches) -> StreamingQuery:
    log = settings.data if settings.shared is None else settings.shared
    files = {"parts_file": str(settings.cores.absolute())}
    if settings.others:
        files["others_file"] = str(Places(settings.data).nodes.absolute())
    records = stream_log(spark, log, rows=settings.rows, **files)
    writer = records.writeStream.foreachBatch(batches)
    writer = writer.option("checkpointLocation", str(Places(settings.data).checkpoint.absolute()))
    pace = {"availableNow": True} if settings.once else {"processingTime": f"{settings.interval} seconds"}
    return writer.trigger(**pace).start()


def _follow(
    query: StreamingQuery,
    batches: Batches,
    progress: Progress,
    cores: "Cores",
    stop: threading.Event,
    parent: int | None,
) -> Exception | None:
    """Until told to stop, or to the end of the parent or of the query: what ended it, if it was trouble. A batch that
    has begun is finished."""
    problem: Exception | None
    try:
        while not stop.wait(_LOOK_SECONDS) and _is_parent(parent) and query.isActive:
            cores.keep_up()
            batches.look()
            progress.stages(query.lastProgress)
        progress.stages(query.lastProgress)
        with batches.busy:
            query.stop()
        problem = query.exception()
    except (Py4JError, OSError) as gone:
        problem = gone
    return None if stop.is_set() else problem  # a signal to all processes at once ends Spark as well


class Cores:
    """How many there are, in a file: who plans a batch is another process, and executors come and go."""

    def __init__(self, spark: SparkSession, file: Path) -> None:
        self._context, self._file, self._noted = spark.sparkContext, file, 0

    def keep_up(self) -> None:
        count = self._context.defaultParallelism
        if count != self._noted:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(str(count), "utf-8")
            self._noted = count


def delivers(data: Path, wanted: bool | None) -> bool:
    """Whether the outbox is filled. With the embedded engine the node delivers, and both would deliver twice."""
    store, _ = open_store(data)
    with closing(store):
        engine = store.meta("engine")
    if wanted and engine == "embedded":
        raise PipelineError(f"{data} belongs to the embedded engine, which delivers by itself")
    return engine == "spark" if wanted is None else wanted


def _stop_on_signals(stop: threading.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())


def _is_parent(process: int | None) -> bool:
    return process is None or os.getppid() == process


def check_in_step(data: Path, outbox: Outbox, *, shared: bool = False) -> None:
    """A batch is planned, published, finished, in that order. Anything else would lose batches without a word."""
    places = Places(data)
    published = max(outbox.committed() | {-1})
    planned, finished = (_last(places.checkpoint / name) for name in ("offsets", "commits"))
    if not finished <= published <= planned:
        raise OutOfStep(
            f"{places.checkpoint} has planned batch {planned} and finished {finished}, but the last in {places.outbox}"
            f" is {published}: they do not belong together; restore both from one backup"
        )
    last = None if shared else outbox.last()
    if last is not None and not _is_end(json.loads(last.end), places.checkpoint / "offsets" / str(last.id)):
        raise OutOfStep(
            f"{places.checkpoint} has batch {last.id} end elsewhere than {places.outbox} has it: the checkpoint is of"
            " another job or another layout; restore both from one backup"
        )


def _is_end(end: Offsets, plan: Path) -> bool:
    """A plan of Spark's has its version, its settings, and where each source ends; ours is the only one. A log of which
    nothing was read yet is at 0 with us, and with Spark where retention has it begin."""
    try:
        planned = json.loads(plan.read_text("utf-8").splitlines()[2])
        return all(planned[name] == (end[name] or planned[name]) for name in (LOG, OUTCOMES, *end))
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _last(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("[0-9]*") if path.name.isdecimal()), default=-1)


@contextmanager
def owned(data: Path, job: str) -> Iterator[None]:
    """Two of them would each undo what the other does."""
    if not data.is_dir():
        raise PipelineError(f"{data} is not a data directory: no node has used it yet")
    with Places(data).lock(job).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PipelineError(f"another {job} job is at work on {data}") from None
        yield
