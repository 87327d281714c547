"""A program that goes by Spark Connect: what would be sent for a log, in short."""

import sys
from hashlib import blake2b
from pathlib import Path

from pyspark.sql import SparkSession

from tocsin.spark import Subscriptions, customise, match, normalise, read_log


def summary(spark: SparkSession, data: Path) -> str:
    """How many messages, and a digest of who would be sent which bytes."""
    with Subscriptions(data) as wanted:
        rows = customise(match(normalise(read_log(spark, data)), wanted), wanted).collect()
    sent = sorted((row.log_offset, row["item"], row.subscription, bytes(row.body), row.error or "") for row in rows)
    return f"{len(sent)} {blake2b(repr(sent).encode(), digest_size=16).hexdigest()}"


if __name__ == "__main__":
    opened = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    print(summary(opened, Path(sys.argv[2])))
    opened.stop()
