"""A log in Kafka as DataFrames: what two nodes accepted, who would want it, and that their own subscriptions do."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.whole.acts import get, publish, subscribe, until
from tests.whole.shell import wait_until
from tests.whole.sink import Sink

from tocsin.spark import PipelineError, match, normalise, read_log, stream_log
from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.shared.conftest import Nodes

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kafka]


async def test_a_shared_log_as_frames(
    nodes: "Nodes", http: HttpClient, sink: Sink, spark: SparkSession, tmp_path: Path
) -> None:
    one, two, log = nodes.start("one"), nodes.start("two"), nodes.log
    name = await subscribe(http, two, sink.url("a"), "t")
    await until(lambda: get(http, f"{one.url}/api/subscriptions"), lambda found: len(found["items"]) == 1)
    await publish(http, one, "t", 1, 2)
    await publish(http, two, "u", 3)
    await wait_until(lambda: read_log(spark, log).count() >= 3, "nodes have put all of it into the shared log")
    said = normalise(read_log(spark, log)).cache()
    assert sorted(row.topic for row in said.collect()) == ["t", "t", "u"]
    assert len({row.node for row in said.collect()}) == 2
    given = match(said, [{"id": "all", "consumer": "http://c/"}])
    assert [row.subscription for row in given.collect()] == ["all"] * 3
    assert [row.subscription for row in match(said, one.data).collect()] == [name] * 2
    streamed = normalise(stream_log(spark, log)).writeStream.format("memory").queryName("shared")
    query = streamed.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    assert query.awaitTermination(100)
    assert spark.table("shared").count() == 3
    with pytest.raises(PipelineError, match="each partition of a shared log counts by itself"):
        read_log(spark, log, 0, 2)
