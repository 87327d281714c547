"""Filters that cannot be evaluated, in Spark's workers: dead letters for the node, and no batch that stands still."""

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.judging import DEEP, wide

from tocsin.flow.flow import UNJUDGED
from tocsin.model.filters import Content
from tocsin.pipeline.replay import ReplaySettings, replay_on
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

MANY = 200  # each for its deadline would be longer than the test has


@pytest.mark.spark
def test_a_batch_of_failures_ends_and_tells_them_all(recorder: "Recorder", spark: SparkSession) -> None:
    for name, expression in [("good", "count(/a/*) > 3 and contains(name(/*), 'a')"), ("bad", DEEP)]:
        recorder.change(replace(recorder.subscribe(name, "a"), filters=(Content("xpath", expression),)))
    for _ in range(MANY):
        recorder.raw("a", wide())
    recorder.save()
    found = replay_on(spark, ReplaySettings(recorder.data, deliver=True))
    assert (found.matches, found.errors, found.deliveries) == (MANY, MANY, 2 * MANY)
    with closing(Outbox.open(recorder.data / "outbox.db")) as outbox:
        sent = [delivery for _, delivery in outbox.pending(0, 3 * MANY)]
    unmade = [each for each in sent if not each.is_made()]
    assert {each.match.subscription for each in unmade} == {"bad"}
    assert all(each.body.decode().startswith(UNJUDGED) for each in unmade)
    assert len(unmade) == MANY
