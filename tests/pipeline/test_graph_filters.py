"""Graph patterns over an ontology that changes, of RDF and of what is lifted: each as of its record."""

import asyncio
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.matching.graph_events import AUCTION, CHANGED, GRAPHS, LIFTINGS, turtle
from tests.pipeline.stage import Told, rows_of, standing
from tests.pipeline.test_both_engines import by_hops, by_queues
from tests.pipeline.test_declared import by_loop
from tests.pipeline.test_same_pairs import span

from tocsin.model.declarations import Declaration, Withdrawn
from tocsin.model.filters import Filter, Not, TopicIs
from tocsin.model.names import QName
from tocsin.pipeline.hop import hop
from tocsin.pipeline.run import RunSettings, publishing
from tocsin.store.log.reader import LogReader

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

CHANGES: tuple[Declaration, ...] = (AUCTION, CHANGED, *LIFTINGS, Withdrawn("lifting", LIFTINGS[0].name))
KINDS = ("Desktop", "Notebook", "Chair")


def publish(recorder: "Recorder", chance: Random) -> None:
    topic, amount = chance.choice("ab"), chance.choice(("399.5", "450.0"))
    if chance.random() < 0.6:
        targets = [(chance.choice(("target", "main")), chance.choice(KINDS)) for _ in range(chance.randint(0, 2))]
        recorder.raw(topic, turtle(chance.choice(("Selling", "Buying")), targets, amount), "text/turtle")
    else:
        inside = chance.choice(("<pc/>", "<chair/>", "<pc/><chair/>"))
        recorder.raw(topic, f"<offer>{inside}<price><amount>{amount}</amount></price></offer>".encode())


def record_everything(recorder: "Recorder", steps: int, seed: int) -> None:
    chance = Random(seed)
    for each in (AUCTION, *LIFTINGS):
        recorder.declare(each)
    for step in range(steps):
        kind = chance.random()
        if kind < 0.15 or step == 0:
            asked: Filter = chance.choice(GRAPHS)
            more: tuple[Filter, ...] = chance.choice(((), (TopicIs(((QName("", "a"),),)),), (Not(GRAPHS[0]),)))
            made = recorder.subscribe(f"s{step}", "a")
            recorder.records[-1] = replace(recorder.records[-1], subscription=replace(made, filters=(asked, *more)))
        elif kind < 0.25:
            recorder.declare(chance.choice(CHANGES))
        else:
            publish(recorder, chance)
    recorder.save()


@pytest.mark.parametrize("seed", range(2))
def test_hops_queues_and_a_plain_loop_agree(recorder: "Recorder", seed: int) -> None:
    record_everything(recorder, 120, seed)
    hops = by_hops(recorder, Random(seed))
    assert hops == asyncio.run(by_queues(recorder))
    pairs = {(offset, name) for name, places in hops.items() for offset, _ in places}
    assert pairs == set(by_loop(recorder))
    assert len(pairs) > 50


def test_a_task_goes_on_from_a_snapshot(recorder: "Recorder") -> None:
    record_everything(recorder, 120, 7)
    made, end = 80, len(recorder.records)
    with standing(recorder.data, made, least=1) as met, closing(LogReader(recorder.data / "log")) as log:
        assert met.digest is not None
        seen = list(hop(log.frames(made, end), met, customise=False, log=log))
    found = {(each.offset, one.id) for each in seen for told in each.told for one in told.matched}
    assert found == {(at, name) for at, name in by_loop(recorder) if at >= made}
    assert found


@pytest.mark.spark
def test_spark_finds_the_same(recorder: "Recorder", spark: SparkSession) -> None:
    """In two batches, the second of which begins at a snapshot."""
    record_everything(recorder, 120, 3)
    data: Path = recorder.data
    cut, end = 70, len(recorder.records)
    with publishing(RunSettings(data, snapshot_changes=1), Told()) as batches:
        batches(span(spark, data, 0, cut), 0)
        batches(span(spark, data, cut, end), 1)
    rows = rows_of(data, "matches")
    assert {row["snapshot"] is None for row in rows} == {True, False}
    assert {(row["log_offset"], row["subscription"]) for row in rows} == set(by_loop(recorder))
    assert len(rows) > 50
