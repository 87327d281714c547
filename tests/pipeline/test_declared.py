"""Hierarchies, producers and spaces change between notifications: both engines meet each as of its record."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.pipeline.stage import Told, rows_of, standing
from tests.pipeline.test_both_engines import by_hops, by_queues
from tests.pipeline.test_same_pairs import span

from tocsin.flow.flow import normalise
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches
from tocsin.model.content_topic import parse_box
from tocsin.model.declarations import Declaration, Hierarchy, Producer, Withdrawn
from tocsin.model.filters import Filter, InBox, ProducerIs, TypeIs
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.space import Dimension, InformationSpace
from tocsin.model.subscription import Subscription
from tocsin.pipeline.hop import hop
from tocsin.pipeline.run import RunSettings, publishing
from tocsin.store.log.reader import LogReader

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

NUMBERS = InformationSpace("numbers", (Dimension("n", "number"),))
WORDS = InformationSpace("numbers", (Dimension("n", "string"),))
Pairs = set[tuple[int, str]]


def declaration(chance: Random) -> Declaration:
    kind = chance.choice("xy")
    match chance.randrange(5):
        case 0:
            return Hierarchy("types", (("t", (kind,)), ("x", ("top",))))
        case 1:
            return Hierarchy("categories", (("low", (kind,)),))
        case 2:
            return Producer("/s", (chance.choice(("low", "x")),))
        case 3:
            return chance.choice((NUMBERS, WORDS))
        case _:
            return Withdrawn(*chance.choice((("producer", "/s"), ("space", "numbers"))))


def filters(chance: Random) -> tuple[Filter, ...]:
    kind = chance.choice(("x", "y", "top"))
    box: InBox = parse_box("numbers:>3", NUMBERS)
    choices: tuple[tuple[Filter, ...], ...] = (
        (TypeIs((kind,)),),
        (ProducerIs((), (kind,)),),
        (box,),
        (TypeIs((kind,)), ProducerIs((), ("x",))),
    )
    return chance.choice(choices)


def is_box(asked: tuple[Filter, ...]) -> bool:
    return isinstance(asked[0], InBox)


def of_space(what: Declaration) -> bool:
    return isinstance(what, InformationSpace) or (isinstance(what, Withdrawn) and what.what == "space")


def record_everything(recorder: "Recorder", steps: int, seed: int) -> None:
    """As a node allows it: boxes lie in a space that is declared, and while they stand it is not changed."""
    chance, known = Random(seed), Catalogue()
    standing: list[Subscription] = []
    for step in range(steps):
        kind = chance.random()
        if kind < 0.15 or not standing:
            since = chance.choice([None, chance.randint(0, step)])
            made = recorder.subscribe(f"s{step}", "a", since=since)
            asked = filters(chance)
            while is_box(asked) and known.spaces.get("numbers") != NUMBERS:
                asked = filters(chance)
            standing.append(replace(made, filters=asked))
            recorder.records[-1] = replace(recorder.records[-1], subscription=standing[-1])
        elif kind < 0.2:
            recorder.change(replace(standing.pop(chance.randrange(len(standing))), state="ended"))
        elif kind < 0.4:
            what = declaration(chance)
            while of_space(what) and any(is_box(each.filters) for each in standing):
                what = declaration(chance)
            recorder.declare(what)
            known.declare(what)
        else:
            one, other = chance.randrange(9), chance.randrange(9)
            said = (f"numbers:{one}", f"numbers:<={one}", f"numbers:{one} || numbers:{other}..9")
            recorder.cloud_event("a", contenttopic=chance.choice(said))
    recorder.save()


def by_loop(recorder: "Recorder") -> Iterator[tuple[int, str]]:
    """One by one, by nothing but the oracle: each notification with what stood and was declared at its record."""
    for record in recorder.records:
        if isinstance(record, Accepted):
            known = Catalogue(each.what for each in recorder.records[: record.at.offset] if isinstance(each, Declared))
            (said,) = normalise(record)
            for each in first_states(recorder, record.at.offset):
                if matches(each, said, known):
                    yield record.at.offset, each.id


def first_states(recorder: "Recorder", offset: int) -> Iterator[Subscription]:
    """As they are there; who comes later as it comes, and who has ended before not at all."""
    states: dict[str, Subscription] = {}
    for record in recorder.records:
        if isinstance(record, Changed) and (record.at.offset < offset or record.subscription.id not in states):
            states[record.subscription.id] = record.subscription
    return (each for each in states.values() if each.state != "ended")


def first_of(recorder: "Recorder", name: str) -> int:
    changes = (each for each in recorder.records if isinstance(each, Changed))
    return next(each.at.offset for each in changes if each.subscription.id == name)


@pytest.mark.parametrize("seed", range(4))
def test_hops_queues_and_a_plain_loop_agree(recorder: "Recorder", seed: int) -> None:
    record_everything(recorder, 250, seed)
    hops = by_hops(recorder, Random(seed))
    assert hops == asyncio.run(by_queues(recorder))
    pairs: Pairs = {(offset, name) for name, places in hops.items() for offset, _ in places}
    assert pairs == set(by_loop(recorder))
    assert len(pairs) > 100


def test_a_task_may_begin_anywhere(recorder: "Recorder") -> None:
    record_everything(recorder, 150, 9)
    expected, chance, end = set(by_loop(recorder)), Random(9), len(recorder.records)
    with standing(recorder.data) as met, closing(LogReader(recorder.data / "log")) as log:
        for _ in range(30):
            start, stop = sorted(chance.sample(range(end), 2))
            seen = list(hop(log.frames(start, stop), met, customise=False))
            found = {(each.offset, one.id) for each in seen for told in each.told for one in told.matched}
            stood = {(at, name) for at, name in expected if start <= at < stop and first_of(recorder, name) < at}
            assert found == stood and not any(each.failed for each in seen)


def test_frozen_meets_all_records_with_what_is_declared_now(recorder: "Recorder") -> None:
    recorder.cloud_event("a")
    recorder.declare(Hierarchy("types", (("t", ("x",)),)))
    made = recorder.subscribe("s", "a")
    recorder.change(replace(made, filters=(TypeIs(("x",)),)))
    recorder.save()
    frozen = standing(recorder.data, frozen_at=len(recorder.records))
    with frozen as met, closing(LogReader(recorder.data / "log")) as log:
        told = [each.told for each in hop(log.frames(0, 4), met, customise=False, log=log) if each.told]
    assert [[one.id for one in each.matched] for (each,) in told] == [["s"]]


@pytest.mark.spark
def test_spark_finds_the_same(recorder: "Recorder", spark: SparkSession) -> None:
    """In two batches of five partitions."""
    record_everything(recorder, 200, 5)
    data: Path = recorder.data
    cut, end = 90, len(recorder.records)
    with publishing(RunSettings(data), Told()) as batches:
        batches(span(spark, data, 0, cut), 0)
        batches(span(spark, data, cut, end), 1)
    rows = rows_of(data, "matches")
    assert {(row["log_offset"], row["subscription"]) for row in rows} == set(by_loop(recorder))
    assert len(rows) > 100
