"""Spark and a plain loop over the log find the same pairs, and write the same messages."""

from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from tocsin.flow.flow import Flow, normalise
from tocsin.model.delivery import Delivery
from tocsin.model.identity import after
from tocsin.model.records import Accepted, Changed, Record
from tocsin.model.subscription import Subscription
from tocsin.pipeline import tables
from tocsin.pipeline.batch import Batches
from tocsin.pipeline.source import NAME
from tocsin.store.database import Store
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark

TOPICS = "abc"
DIALECTS = ("cloudevents", "wsn-1.3", "wse-2004-08")


def publish(recorder: "Recorder", chance: Random) -> None:
    topic = chance.choice(TOPICS)
    match chance.randrange(4):
        case 0:
            recorder.raw(topic)
        case 1:
            recorder.cloud_event(topic)
        case 2:
            recorder.notify(*chance.choices(TOPICS, k=chance.randint(1, 4)))
        case _:
            recorder.event(topic)


def change(recorder: "Recorder", chance: Random, subscription: Subscription) -> Subscription:
    """Renewed, paused, resumed or ended. A record takes a second, so leases run out between the others."""
    match chance.randrange(4):
        case 0:
            return recorder.change(replace(subscription, expires=after(recorder.now, 30)))
        case 1:
            return recorder.change(replace(subscription, state="paused"))
        case 2:
            return recorder.change(replace(subscription, state="active"))
        case _:
            return recorder.change(replace(subscription, state="ended"))


def record_everything(recorder: "Recorder", steps: int = 400) -> None:
    chance = Random(3)
    standing: list[Subscription] = []
    for step in range(steps):
        kind = chance.random()
        if kind < 0.15 or not standing:
            lease = chance.choice([None, 5.0, 20.0, 60.0])
            standing.append(recorder.subscribe(f"s{step}", chance.choice(TOPICS), chance.choice(DIALECTS), lease))
        elif kind < 0.35:
            place = chance.randrange(len(standing))
            standing[place] = change(recorder, chance, standing[place])
        else:
            publish(recorder, chance)
    recorder.save()


def loop(records: list[Record]) -> list[Delivery]:
    flow, found = Flow("http://127.0.0.1:8080"), []
    for record in records:
        match record:
            case Changed(subscription=subscription):
                flow.apply(subscription)
            case Accepted():
                for said in normalise(record):
                    found += [flow.deliver(said, each) for each in flow.match(said)]
    return found


def span(spark: SparkSession, data: Path, start: int, stop: int) -> DataFrame:
    options = {"data": str(data), "start": str(start), "stop": str(stop), "parts": "5", "least": "1"}
    return spark.read.format(NAME).options(**options).load()


def test_same_pairs(recorder: "Recorder", spark: SparkSession) -> None:
    """In five partitions a batch; the second batch makes the workers go back."""
    record_everything(recorder)
    data, cut, end = recorder.data, 150, len(recorder.records)
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        batches = Batches(data, outbox, deliver=True, done=lambda done: None)
        batches(span(spark, data, cut, end), 0)
        batches(span(spark, data, 0, cut), 1)
        found = [delivery for _, delivery in outbox.pending(0, 1_000_000)]
    expected = loop(recorder.records)
    late = [each for each in expected if each.at.offset >= cut]
    assert found == [*late, *expected[: len(expected) - len(late)]]
    assert len({each.match.subscription for each in found}) > 20
    pairs = {(row["offset"], row["index"], row["subscription"]) for row in tables.scan(data, "matches").to_pylist()}
    assert pairs == {(each.at.offset, each.index, each.match.subscription) for each in expected}


def test_a_change_while_the_pipeline_runs_is_met_from_its_offset_on(recorder: "Recorder", spark: SparkSession) -> None:
    """The workers keep their index between batches; the change was written by the node in between."""
    recorder.raw("a")
    recorder.save()
    with closing(Outbox.open(recorder.data / "outbox.db")) as outbox:
        batches = Batches(recorder.data, outbox, deliver=True, done=lambda done: None)
        batches(span(spark, recorder.data, 0, 1), 0)
        recorder.subscribe("s", "a")
        recorder.raw("a")
        recorder.save()
        with closing(Store.open(recorder.data / "tocsin.db")) as store:
            assert store.applied() == 2
        batches(span(spark, recorder.data, 2, 3), 1)  # begins behind the change
        assert [delivery.at.offset for _, delivery in outbox.pending(0, 9)] == [2]
