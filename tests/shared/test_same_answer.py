"""What Spark finds for two nodes is what a plain loop finds over each node's own log: same pairs, same bytes."""

import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up, rows_of
from tests.shared.conftest import ADVERTISED
from tests.shared.test_kills import forwarded
from tests.whole.acts import call, numbers, publish, subscribe
from tests.whole.shell import BrokerProcess, accepted, records, wait_until
from tests.whole.sink import Sink

from tocsin.flow.flow import Flow, normalise
from tocsin.model.delivery import Delivery
from tocsin.model.identity import SECOND, Instant
from tocsin.model.records import Accepted, Changed
from tocsin.pipeline.replay import ReplaySettings
from tocsin.pipeline.run import RunSettings
from tocsin.pipeline.shared.replay import SharedReplay, replay_shared_on
from tocsin.store.codec import decode_delivery
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import bounds, reader
from tocsin.store.shared.reading import read_range
from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.shared.conftest import Nodes

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kafka]
DIALECTS = ("cloudevents", "wsn-1.3", "wse-2004-08")
TOPICS = "abc"


async def say_and_change(http: HttpClient, nodes: list[BrokerProcess], sink: Sink, steps: int, chance: Random) -> None:
    """Each step at a node of its own: what one asks for, the other may not know of yet."""
    asked: list[str] = []
    for step in range(steps):
        node, kind, topic = chance.choice(nodes), chance.random(), chance.choice(TOPICS)
        if kind < 0.2 or not asked:
            url = sink.url(f"{step}")
            asked.append(await subscribe(http, node, url, topic, dialect=chance.choice(DIALECTS)))
        elif kind < 0.3:
            await call(http, "DELETE", f"{node.url}/api/subscriptions/{asked.pop(chance.randrange(len(asked)))}")
        else:
            await publish(http, node, topic, step)


def by_loop(data: Path) -> list[Delivery]:
    flow, found = Flow(ADVERTISED), list[Delivery]()
    for record in records(data):
        match record:
            case Changed(subscription=subscription):
                flow.apply(subscription)
            case Accepted():
                pairs = ((said, each) for said in normalise(record) for each in flow.match(said).wanted)
                found += [flow.deliver(*pair) for pair in pairs]
    return found


def in_the_outbox(log: str) -> list[Delivery]:
    shared = SharedLog.parse(log)
    ends = {each: bounds(reader(shared), shared.outbox, each)[1] for each in range(3)}
    read = (read_range(shared, shared.outbox, each, 0, end) for each, end in ends.items())
    return [decode_delivery(message.value() or b"") for messages in read for message in messages]


async def test_the_same_pairs_and_bytes(
    nodes: "Nodes", tmp_path: Path, http: HttpClient, sink: Sink, spark: SparkSession
) -> None:
    started = [nodes.start("one"), nodes.start("two")]
    await say_and_change(http, started, sink, 150, Random(5))
    said = sum(len(accepted(tmp_path / name)) for name in ("one", "two"))
    await wait_until(lambda: forwarded(nodes.log, "notifications") == said, "all are forwarded")
    catch_up(spark, RunSettings(tmp_path / "spark", once=True, rows=30, shared=SharedLog.parse(nodes.log)))
    expected = [each for name in ("one", "two") for each in by_loop(tmp_path / name)]
    assert len(expected) > 50
    found = {(each.at, each.index, each.match.subscription): each for each in in_the_outbox(nodes.log)}
    assert found == {(each.at, each.index, each.match.subscription): each for each in expected}
    matched = Counter(
        (row["node"], row["log_offset"], row["item"], row["subscription"])
        for row in rows_of(tmp_path / "spark", "matches")
    )
    assert matched == Counter((each.at.node, each.at.offset, each.index, each.match.subscription) for each in expected)
    replayed = replay_shared_on(
        spark, ReplaySettings(tmp_path / "spark", diff=True), SharedReplay(SharedLog.parse(nodes.log))
    )
    assert replayed.diff is not None
    assert (replayed.matches, replayed.diff.new.count, replayed.diff.gone.count) == (len(expected), 0, 0)
    assert replayed.by_subscription == Counter(each.match.subscription for each in expected)


async def test_a_replay_of_all_meets_those_of_now_and_is_delivered_once(
    nodes: "Nodes", tmp_path: Path, http: HttpClient, sink: Sink, spark: SparkSession
) -> None:
    one = nodes.start("one")
    await publish(http, one, "t", 1, 2)
    await subscribe(http, one, sink.url("a"), "t")
    await wait_until(lambda: forwarded(nodes.log, "notifications") == 2, "both are forwarded")
    asked = SharedReplay(SharedLog.parse(nodes.log), as_of=-1)
    settings = ReplaySettings(tmp_path / "spark", deliver=True)
    (tmp_path / "spark").mkdir()
    assert replay_shared_on(spark, ReplaySettings(tmp_path / "spark"), asked).matches == 2
    assert [replay_shared_on(spark, settings, asked).published for _ in range(2)] == [True, False]
    await wait_until(lambda: len(sink.received) >= 2, "both are delivered")
    assert sorted(numbers(sink, "a")) == [1, 2]
    later = SharedReplay(SharedLog.parse(nodes.log), since=Instant(time.time_ns() + 3_600 * SECOND))
    assert replay_shared_on(spark, ReplaySettings(tmp_path / "spark"), later).records == 0
