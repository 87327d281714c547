"""Spark and a plain loop over the log find the same pairs, and write the same messages."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.stage import Told, rows_of

from tocsin.flow.flow import Flow, normalise
from tocsin.matching.engine import matches
from tocsin.model.delivery import Delivery
from tocsin.model.filters import ForNotifier
from tocsin.model.identity import after
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Record
from tocsin.model.subscription import Subscription
from tocsin.pipeline.run import RunSettings, publishing
from tocsin.pipeline.source import NAME
from tocsin.store.database import Store
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark

TOPICS = "abc"
DIALECTS = ("cloudevents", "wsn-1.3", "wse-2004-08")
NOTIFIERS = ("CARE", "USGS")


def publish(recorder: "Recorder", chance: Random) -> None:
    topic = chance.choice(TOPICS)
    match chance.randrange(5):
        case 0:
            recorder.raw(topic)
        case 4:
            recorder.cloud_event(topic, f"/notifiers/{chance.choice(NOTIFIERS)}")
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


def record_everything(recorder: "Recorder", steps: int = 400, seed: int = 3) -> None:
    chance = Random(seed)
    standing: list[Subscription] = []
    for step in range(steps):
        kind = chance.random()
        if kind < 0.15 or not standing:
            lease, since = chance.choice([None, 5.0, 20.0, 60.0]), chance.choice([None, None, chance.randint(0, step)])
            words = chance.choice(TOPICS), chance.choice(DIALECTS)
            made = recorder.subscribe(f"s{step}", *words, lease, since)
            if chance.random() < 0.2:
                made = recorder.change(replace(made, filters=(ForNotifier(chance.choice(NOTIFIERS)),)))
            standing.append(made)
        elif kind < 0.35:
            place = chance.randrange(len(standing))
            changed = change(recorder, chance, standing.pop(place))
            standing += [changed] if changed.state != "ended" else []
        else:
            publish(recorder, chance)
    recorder.save()


def loop(records: list[Record]) -> list[tuple[int, Delivery]]:
    """What is due at each record, with its offset; who begins in the past is due that at its own first record."""
    flow, found = Flow("http://127.0.0.1:8080"), list[tuple[int, Delivery]]()
    for offset, record in enumerate(records):
        match record:
            case Changed(subscription=subscription):
                first = subscription.id not in flow
                flow.apply(subscription)
                before = [said for each in accepted(records[:offset]) for said in each] if first else []
                found += [(offset, flow.deliver(said, subscription)) for said in before if matches(subscription, said)]
            case Accepted():
                pairs = ((said, each) for said in normalise(record) for each in flow.match(said).wanted)
                found += [(offset, flow.deliver(*pair)) for pair in pairs]
    return found


def accepted(records: list[Record]) -> Iterator[tuple[Notification, ...]]:
    return (normalise(record) for record in records if isinstance(record, Accepted))


def span(spark: SparkSession, data: Path, start: int, stop: int) -> DataFrame:
    options = {"data": str(data), "start": str(start), "stop": str(stop), "parts": "5", "least": "1"}
    return spark.read.format(NAME).options(**options).load()


def test_same_pairs(recorder: "Recorder", spark: SparkSession) -> None:
    """In five partitions a batch, whose workers go forward and back."""
    record_everything(recorder)
    data, cut, end = recorder.data, 150, len(recorder.records)
    with publishing(RunSettings(data), Told()) as batches:
        batches(span(spark, data, 0, cut), 0)
        batches(span(spark, data, cut, end), 1)
    due = loop(recorder.records)
    expected = [each for _, each in due]
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        found = [delivery for _, delivery in outbox.pending(0, 1_000_000)]
    assert found == expected
    assert len({each.match.subscription for each in found}) > 20
    told = {each.at.offset for each in found}
    doors = {each.door for each in recorder.records if isinstance(each, Accepted) and each.at.offset in told}
    assert doors > {f"/notifiers/{name}" for name in NOTIFIERS}, "services are told, too"
    assert sum(offset > each.at.offset for offset, each in due) > 100, "many are told of what was before them"
    pairs = {(row["log_offset"], row["item"], row["subscription"]) for row in rows_of(data, "matches")}
    assert pairs == {(each.at.offset, each.index, each.match.subscription) for each in expected}


def test_a_change_while_the_pipeline_runs_is_met_from_its_offset_on(recorder: "Recorder", spark: SparkSession) -> None:
    """The workers keep their index between batches; the change was written by the node in between."""
    recorder.raw("a")
    recorder.save()
    with publishing(RunSettings(recorder.data), Told()) as batches:
        batches(span(spark, recorder.data, 0, 1), 0)
        recorder.subscribe("s", "a")
        recorder.raw("a")
        recorder.save()
        with closing(Store.open(recorder.data / "tocsin.db")) as store:
            assert store.applied() == 2
        batches(span(spark, recorder.data, 2, 3), 1)  # begins behind the change
    with closing(Outbox.open(recorder.data / "outbox.db")) as outbox:
        assert [delivery.at.offset for _, delivery in outbox.pending(0, 9)] == [2]
