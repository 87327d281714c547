"""Normalise, match and customise as functions on DataFrames, and the log and the tables as DataFrames.

They work in whatever session they are given, on batches and on streams. What failed is never left out: its row says why
in the column `error`, and is handed on.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.frame_tasks import FOUND, NORMALISED, PAIRED, SENT, FrameTask, normalised
from tocsin.pipeline.nodes import name_of
from tocsin.pipeline.ranges import log_range
from tocsin.pipeline.sources import parallelism, register, register_shared, shared_ranges
from tocsin.pipeline.subscriptions import Subscriptions, Wanted, subscriptions_of
from tocsin.pipeline.tables import reading
from tocsin.pipeline.tables.schemas import SIMULATIONS, STREAMED, SUBSCRIPTIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.shared.address import SCHEME, SharedLog

Log: TypeAlias = str | Path | SharedLog


def read_log(
    spark: SparkSession,
    log: Log | Sequence[str | Path],
    start: int | None = None,
    stop: int | None = None,
    **options: str | int,
) -> DataFrame:
    """The records of a log from the offset `start` up to `stop`, by default all that are kept by now.

    `log` is a node's data directory, as every machine of the cluster sees it; or the address of a log that nodes share,
    such as kafka://host:9092/name, which is read whole. A row is a record: where it is (`log`, `partition`, `offset`),
    how many changes it `meets`, and `payload`, its bytes for `normalise`. `parts` is how many tasks read it, by default
    one for each core, and for a shared log one for each partition.

    Of several data directories all is read; `log` is then log/NODE for all but the first.
    """
    home, others = _directories(log)
    if others:
        _check_whole(start, stop, "each node's log", "node and log_offset, which `normalise` gives")
        frames = (read_log(spark, data, None, None, **options, node=name) for name, data in others.items())
        return reduce(DataFrame.unionByName, frames, read_log(spark, home, None, None, **options))
    if (shared := _shared(home)) is None:
        first, last = log_range(Path(str(home)), start, stop)
        said = _options(spark, home, {"start": first, "stop": last, **options})
        return spark.read.format(register(spark)).options(**said).load()
    _check_whole(start, stop, "each partition of a shared log", "partition and offset")
    source = spark.read.format(register_shared(spark))
    return source.options(shared=shared.url, ranges=shared_ranges(shared), **options).load()


def stream_log(spark: SparkSession, log: Log | Sequence[str | Path], **options: str | int) -> DataFrame:
    """The log as it grows, for `writeStream`: the rows of `read_log`, and among them those of the log of outcomes.

    `rows` is how many records a batch has at most.
    """
    home, others = _directories(log)
    if (shared := _shared(home)) is None:
        named = {"others": json.dumps({name: str(data) for name, data in others.items()})} if others else {}
        return spark.readStream.format(register(spark)).options(**_options(spark, home, named | options)).load()
    return spark.readStream.format(register_shared(spark)).options(shared=shared.url, **options).load()


def normalise(records: DataFrame) -> DataFrame:
    """A row for each notification in these records, with the columns of the table `notifications`.

    `matching` has what else matching goes by: when it was `accepted` in nanoseconds, whether its type is a `qualified`
    name, the notifier (`addressee`) or `pull_point` that it is for alone, and the neighbour that passed it on (`by`).
    A record that cannot be read is a row with its `log_offset`, the `error`, and the record itself as `payload`.
    Changed subscriptions, declarations and outcomes are no notifications, and have no rows.
    """
    return records.select("log", "offset", "payload").mapInArrow(normalised, from_arrow_schema(NORMALISED))


def match(notifications: DataFrame, subscriptions: Subscriptions | Wanted) -> DataFrame:
    """A row for each notification and `subscription` that wants it, with the columns of `normalise`.

    The notifications meet the subscriptions as if these had always stood; `Subscriptions` says what can be given.
    `snapshot` names the compiled subscriptions that decided. Where a filter could not be evaluated the row has the
    subscription and the `error`; what came with an error is handed on.
    """
    met = subscriptions_of(subscriptions)
    rows = _columns(notifications, NORMALISED.names, "normalise")
    found = rows.mapInArrow(FrameTask(met.storage, met.published).match, from_arrow_schema(FOUND))
    pairs = found.withColumn("found", F.explode("found")).select("*", "found.*").drop("found")
    return pairs.withColumn("snapshot", F.lit(met.published.digest))


def customise(pairs: DataFrame, subscriptions: Subscriptions | Wanted) -> DataFrame:
    """What would be sent for each pair of `match`: `consumer`, `dialect`, `content_type`, `headers` and `body`.

    Give it the same `Subscriptions` as `match`. Headers that are made when it is sent, such as signatures, are not
    among them. What could not be written has the `error` and no body. Nothing is sent to a pull point, so its pairs are
    left out.
    """
    met = subscriptions_of(subscriptions)
    rows = _columns(pairs, PAIRED, "match")
    return rows.mapInArrow(FrameTask(met.storage, met.published).customise, from_arrow_schema(SENT))


def read_table(
    spark: SparkSession,
    name: str,
    tables: str | Path | Storage = "data/tables",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A table of the pipeline as it is now: `notifications`, `matches`, `history`, `quarantine`, `asked`,
    `replies`, `harvests`, `subscriptions` or `simulations`.

    `tables` is a folder or the address of an object store, `options` those of delta-rs for it.
    """
    if name not in (known := (*STREAMED, SUBSCRIPTIONS, SIMULATIONS)):
        raise PipelineError(f"there is no table {name!r}; there are {', '.join(known)}")
    return reading.read(spark, tables if isinstance(tables, Storage) else Storage.at(tables, options), name)


def _directories(log: Log | Sequence[str | Path]) -> tuple[Log, dict[str, Path]]:
    """The first, and the others by the names of their nodes."""
    if isinstance(log, str | Path | SharedLog):
        return log, {}
    first, *rest = log
    return first, {name_of(data): data for data in (Path(each).absolute() for each in rest)}


def _check_whole(start: int | None, stop: int | None, what: str, columns: str) -> None:
    if start is not None or stop is not None:
        hint = f"read it whole, and take what you want by its columns {columns}"
        raise PipelineError(f"{what} counts by itself, so it has no start and stop; {hint}")


def _shared(log: Log) -> SharedLog | None:
    if isinstance(log, str) and log.startswith(f"{SCHEME}://"):
        return SharedLog.parse(log)
    return log if isinstance(log, SharedLog) else None


def _options(spark: SparkSession, data: object, said: Mapping[str, str | int]) -> dict[str, str]:
    all_of_them = {"data": Path(str(data)).absolute(), "parts": parallelism(spark), **said}
    return {name: str(value) for name, value in all_of_them.items()}


def _columns(frame: DataFrame, names: Iterable[str], maker: str) -> DataFrame:
    if missing := [each for each in names if each not in frame.columns]:
        raise PipelineError(
            f"the DataFrame has no {', '.join(missing)}: give what `{maker}` returns, with all its columns"
        )
    return frame.select(*names)
