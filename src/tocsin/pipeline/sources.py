"""Our data sources in a session of Spark, whoever made the session, and in how many parts they are read."""

from weakref import WeakSet

from pyspark.sql import SparkSession

from tocsin.pipeline.source import NAME, LogSource
from tocsin.store.places import LOG
from tocsin.store.shared.address import SharedLog

REMOTE_PARTS = 8
_known: WeakSet[SparkSession] = WeakSet()
_known_shared: WeakSet[SparkSession] = WeakSet()


def register(spark: SparkSession) -> str:
    """The name of the source. Spark warns of one that is registered twice."""
    if spark not in _known:
        spark.dataSource.register(LogSource)
        _known.add(spark)
    return NAME


def register_shared(spark: SparkSession) -> str:
    """That of a log that nodes share; not with the other, because it needs Kafka's client."""
    from tocsin.pipeline.shared.source import NAME as SHARED
    from tocsin.pipeline.shared.source import SharedSource

    if spark not in _known_shared:
        spark.dataSource.register(SharedSource)
        _known_shared.add(spark)
    return SHARED


def shared_ranges(shared: SharedLog) -> str:
    """All that nodes accepted and that is kept by now, as the source takes it."""
    from tocsin.pipeline.shared.source import extent, placed

    found = ((name, *ends) for name, ends in extent(shared).items() if placed(name)[0] == LOG)
    return " ".join(f"{name}:{first}:{end}" for name, first, end in found)


def parallelism(spark: SparkSession) -> int:
    """The cores that there are; who goes by Spark Connect cannot ask for them."""
    return REMOTE_PARTS if is_remote(spark) else int(spark.sparkContext.defaultParallelism)


def is_remote(spark: SparkSession) -> bool:
    """Whether the session goes by Spark Connect. Its own classes cannot be imported where its packages are missing."""
    return type(spark).__module__.startswith("pyspark.sql.connect")
