"""The data pipeline on Spark, on two cores of this machine, with mixed subscriptions and publications in all dialects.

- **Against two plain processes** that call the same functions with the same compiled snapshot: batches of normalise,
  match and customise, by turns, each over publications that neither has seen; before that both have had `warm` batches.
  By the clock on the wall, and by that of the processor: the sum over all processes, Spark's JVM and driver among them.
- **Processor time by stage**, of the whole job as a stream: of the JVM and the driver by the CPU clocks of their
  processes, from the end of the warm batches to the commit of the tables. What the workers took, by their clocks, is
  divided as the same functions divide it when called stage by stage in one process; so what workers do beside (Arrow,
  Spark's loop) is spread over their stages. The outbox has two sides: the tasks make blocks, the driver inserts them.
- **Growth** with the number of publications, of the same stream; bytes a row of each table after compaction.
- **Against plain PySpark** (`_pipeline_rival.py`): the whole of both jobs but the outbox, on the same publications.
  Both must find the same pairs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from msgspec import Struct
from pyspark.sql import SparkSession

from tocsin.lab.bench import Result, against_floor, against_rival, alone, benchmark
from tocsin.lab.benches import _pipeline_rival as rival
from tocsin.lab.benches._growth import exponent
from tocsin.lab.benches._matching import up_to
from tocsin.lab.benches._pipeline_job import CORES, Cpu, Hop, Mark, bytes_a_row, records, spark_session, stream
from tocsin.lab.benches._pipeline_plain import Plain, Turn, plain
from tocsin.lab.benches._pipeline_stages import IN_TASKS, LEFT, PUBLISHED, ROWS, staged
from tocsin.lab.benches._pipeline_workload import Laid, outcomes, standing
from tocsin.pipeline.state.published import Published
from tocsin.pipeline.state.publisher import StatePublisher
from tocsin.pipeline.tables import reading
from tocsin.pipeline.tables.schemas import DELIVERIES, HISTORY, KEPT, MATCHES, NOTIFICATIONS, QUARANTINE
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places

LEAST_RATIO = 0.7
MOST_WRITING, MOST_DRIVER, MOST_EXPONENT = 25.0, 5.0, 1.1
GROWTH = (1, 2, 4, 8)
WIDE = 100_000  # beyond so many subscriptions, publications are fewer: each goes to hundreds
PLAIN, RIVAL = "two plain processes", "plain PySpark"


class Sizes(Struct, frozen=True):
    """`largest` is reached from 10,000 by steps of ten times as many. With 1,000,000, which have batches of a tenth as
    many publications, all of it took 13 to 22 minutes on two busy cores, 6 of them for the million, and 7.4 GB."""

    subscriptions: int = 10_000
    largest: int = 100_000
    batch: int = 5_000  # publications, as the job takes them by default
    warm: int = 3  # batches
    rounds: int = 5
    growth: int = 5_000  # publications: then twice, four and eight times as many
    rival: int = 1_000  # publications

    def of(self, subscriptions: int) -> "Sizes":
        batch = max(1, self.batch * WIDE // max(WIDE, subscriptions))
        return Sizes(subscriptions, self.largest, batch, self.warm, self.rounds, self.growth, self.rival)

    @property
    def events(self) -> int:
        """Publications in the log, enough for all turns."""
        return self.batch * (self.warm + self.rounds)


class Bench(Struct, frozen=True):
    """One number of subscriptions: its data directory, and what was published of its state."""

    laid: Laid
    state: Published
    sizes: Sizes
    scratch: Path

    @property
    def data(self) -> Path:
        return self.laid.data

    @property
    def details(self) -> dict[str, int]:
        return {"subscriptions": self.sizes.subscriptions, "publications": self.sizes.batch}


@benchmark(
    "pipeline", "the job on Spark, against plain processes and plain PySpark; processor time by stage", choices=Sizes
)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    with spark_session() as spark:
        for number in up_to(sizes.largest, sizes.subscriptions):
            with bench(sizes.of(number), seed) as made:
                yield from against_plain(spark, made)
                if is_first := number == sizes.subscriptions:
                    yield from against_plain_pyspark(spark, made)
                yield from as_a_stream(spark, made, grow=is_first)


@contextmanager
def bench(sizes: Sizes, seed: int) -> Iterator[Bench]:
    with TemporaryDirectory(prefix="tocsin-bench-") as folder:
        data, scratch = Path(folder, "data"), Path(folder, "scratch")
        laid = Laid.at(data, sizes.subscriptions, seed)
        laid.publish(1, sizes.events)
        with StatePublisher(data, Storage.at(Places(data).tables)) as publisher:
            state = publisher.publish(laid.first)
        scratch.mkdir()
        yield Bench(laid, state, sizes, scratch)


def against_plain(spark: SparkSession, made: Bench) -> Iterator[Result]:
    with plain(made.laid, made.state, CORES) as others:
        hop = Hop(spark, made.laid, made.state, made.scratch)
        turns = list(_turns(hop, others, made.sizes))
    case, details = f"{made.sizes.subscriptions:,} subscriptions", made.details
    ours, theirs = _middle([(ours.rate, theirs.rate) for ours, theirs in turns])
    told = sum(each.deliveries for each, _ in turns) / sum(each.events for each, _ in turns)
    note = f"publications a second, in the round of the median ratio; {told:.1f} deliveries of each"
    yield against_rival(case, ours, "/s", PLAIN, theirs, target=LEAST_RATIO, sizes=details, note=note)
    theirs, ours = _middle([(theirs.cost, ours.cost) for ours, theirs in turns])
    yield against_floor(f"{case}, processor time", ours, "µs a publication", PLAIN, theirs, sizes=details)


def _turns(hop: Hop, others: Plain, sizes: Sizes) -> Iterator[tuple[Turn, Turn]]:
    for number in range(sizes.warm + sizes.rounds):
        span = (number * sizes.batch, (number + 1) * sizes.batch)
        both: tuple[Hop | Plain, ...] = (hop, others) if number % 2 else (others, hop)
        took = {type(each): each.turn(*span) for each in both}
        assert took[Hop].deliveries == took[Plain].deliveries, "who gives another answer is no rival"
        if number >= sizes.warm:
            yield took[Hop], took[Plain]


def _middle(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of the round whose ratio is the median."""
    return sorted(pairs, key=lambda pair: pair[0] / pair[1])[(len(pairs) - 1) // 2]


def against_plain_pyspark(spark: SparkSession, made: Bench) -> Iterator[Result]:
    """The second of two turns, after one to warm up; pairs are compared of the first."""
    asking = list(standing(made.sizes.subscriptions, made.laid.seed))
    filed, known = rival.filing(spark, asking), spark.sparkContext.broadcast({str(each.id): each for each in asking})
    hop, events = Hop(spark, made.laid, made.state, made.scratch), min(made.sizes.rival, made.sizes.events // 2)
    rates = []
    for number in range(2):
        span = (number * events, (number + 1) * events)
        out, begun = str(made.scratch / f"rival-{number}"), perf_counter()
        rival.job(records(spark, made.laid, *span), filed, known).write.parquet(out)
        theirs = events / (perf_counter() - begun)
        rates.append((hop.turn(*span, (*KEPT, DELIVERIES)).rate, theirs))
        spark.catalog.clearCache()
    found = {tuple(row) for row in spark.read.parquet(out).select("offset", "item", "subscription").collect()}
    assert found == hop.pairs(*span), "who finds other pairs is no rival"
    note = f"the same {len(found):,} pairs; rows are written into files by both"
    details = {"subscriptions": made.sizes.subscriptions, "publications": events}
    yield against_rival("the whole job", rates[-1][0], "/s", RIVAL, rates[-1][1], sizes=details, note=note)


def as_a_stream(spark: SparkSession, made: Bench, *, grow: bool) -> Iterator[Result]:
    sizes, begin = made.sizes, made.sizes.batch * made.sizes.warm
    if grow and (missing := begin + sizes.growth * GROWTH[-1] - sizes.events) > 0:
        made.laid.publish(sizes.events, sizes.events + missing)
    marks = stream(spark, made.data, sizes.batch)
    yield from shares(made, marks)
    if grow:
        yield growth(marks, begin, sizes.growth)
        yield from sizes_of_rows(spark, made)


def shares(made: Bench, marks: Sequence[Mark]) -> Iterator[Result]:
    """From the end of the warm batches to the end of all."""
    sizes = made.sizes
    begun = next(each for each in marks if each.records >= sizes.batch * sizes.warm or each is marks[-2])
    took, events = marks[-1].cpu - begun.cpu, marks[-1].records - begun.records
    half = max(1, sizes.batch // CORES)
    spans = [(number * half, (number + 1) * half) for number in range(3)]
    alone_took = staged(made.laid, made.state, made.scratch, spans)
    found = by_stage(took, alone_took, events / (half * (len(spans) - 1)))
    whole, case = sum(found.values()), f"{sizes.subscriptions:,} subscriptions, processor time"
    details = {"subscriptions": sizes.subscriptions, "publications": events}
    for stage, seconds in found.items():
        yield alone(f"{case}: {stage}", 100 * seconds / whole, "%", sizes=details)
    writing = 100 * sum(found[stage] for stage in (ROWS, LEFT, PUBLISHED)) / whole
    driver = 100 * took.driver / whole
    for part, share, most in (
        (f"{ROWS} and outbox", writing, MOST_WRITING),
        ("all of the driver", driver, MOST_DRIVER),
    ):
        yield against_floor(f"{case}: {part}", share, "%", "at most", most, target=1.0, sizes=details)
    yield alone(f"{case}, all of it", whole / events * 1e6, "µs a publication", sizes=details)


def by_stage(took: Cpu, alone_took: Mapping[str, float], times: float) -> dict[str, float]:
    """Seconds; `times` as many publications were in the stream as in the stages by themselves."""
    in_tasks = sum(alone_took[stage] for stage in IN_TASKS)
    found = {stage: took.workers * alone_took[stage] / in_tasks for stage in IN_TASKS}
    outbox = min(took.driver, alone_took[PUBLISHED] * times)
    return {**found, PUBLISHED: outbox, "driver, commits and the rest": took.driver - outbox, "JVM": took.jvm}


def growth(marks: Sequence[Mark], begin: int, least: int) -> Result:
    begun = next(each for each in marks if each.records >= begin)
    points = []
    for times in GROWTH:
        reached = next(each for each in marks if each.records >= begun.records + times * least)
        points.append((reached.records - begun.records, (reached.cpu - begun.cpu).all))
    note = ", ".join(f"{events:,} in {seconds:.1f} s" for events, seconds in points) + " of the processor"
    case, most = "growth with publications", MOST_EXPONENT
    return against_floor(case, exponent(points), "exponent", "linear, and a tenth", most, target=1.0, note=note)


def sizes_of_rows(spark: SparkSession, made: Bench) -> Iterator[Result]:
    """With an outcome for each delivery, and a few records that cannot be read."""
    storage = Storage.at(Places(made.data).tables)
    columns = reading.scan(storage, MATCHES).select(["notification", "subscription", "log_offset", "item"]).columns
    pairs = zip(*(column.to_pylist() for column in columns), strict=True)
    made.laid.append(OUTCOMES, outcomes(pairs))
    made.laid.append(LOG, (b"\x95unreadable %d" % number for number in range(100)))
    stream(spark, made.data, made.sizes.batch)
    for table in (NOTIFICATIONS, MATCHES, HISTORY, QUARANTINE):
        size, rows = bytes_a_row(storage, table)
        yield alone(f"table {table}", size, "bytes a row", sizes={"rows": rows})
    with closing(Outbox.open(Places(made.data).outbox)) as outbox:
        sent = sum(each.deliveries for each in outbox.batches())
    size = Places(made.data).outbox.stat().st_size / max(sent, 1)
    yield alone("outbox", size, "bytes a delivery", sizes={"deliveries": sent})
