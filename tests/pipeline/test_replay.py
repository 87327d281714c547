"""A range of the log again: what would be delivered, and its delivery when told to."""

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.replay import ReplaySettings, replay_on
from tocsin.pipeline.status import status
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark


@pytest.fixture
def filled(recorder: "Recorder") -> "Recorder":
    """Records 0 to 3 come before the second subscription, 5 and 6 after it."""
    recorder.subscribe("early", "a")
    for topic in "aba":
        recorder.raw(topic)
    recorder.subscribe("late", "a")
    for topic in "ab":
        recorder.raw(topic)
    recorder.save()
    return recorder


def test_a_dry_run_writes_nothing(filled: "Recorder", spark: SparkSession) -> None:
    found = replay_on(spark, ReplaySettings(filled.data))
    assert (found.records, found.notifications, found.matches, found.deliveries) == (7, 5, 4, 4)
    assert found.by_subscription == {"early": 3, "late": 1}
    assert (found.batch, found.published) == (None, None)
    assert not (filled.data / "outbox.db").exists()
    assert not (filled.data / "tables").exists()


def test_a_range_meets_the_subscriptions_of_its_time(filled: "Recorder", spark: SparkSession) -> None:
    assert replay_on(spark, ReplaySettings(filled.data, 1, 4)).by_subscription == {"early": 2}


def test_or_those_of_today(filled: "Recorder", spark: SparkSession) -> None:
    found = replay_on(spark, ReplaySettings(filled.data, 1, 4, current=True))
    assert found.by_subscription == {"early": 2, "late": 2}


def test_delivery_is_asked_for_and_happens_once(filled: "Recorder", spark: SparkSession) -> None:
    asked = ReplaySettings(filled.data, 1, 4, deliver=True)
    first, second = replay_on(spark, asked), replay_on(spark, asked)
    third = replay_on(spark, ReplaySettings(filled.data, 1, 4, deliver=True, again=1))
    assert [first.published, second.published, third.published] == [True, False, True]
    with closing(Outbox.open(filled.data / "outbox.db")) as outbox:
        assert [delivery.at.offset for _, delivery in outbox.pending(0, 10)] == [1, 3, 1, 3]
    now = status(filled.data)
    assert (now.batches, now.replays, now.deliveries, now.lag["log"]) == (0, 2, 4, 7)


def test_a_range_the_log_does_not_have_is_refused(filled: "Recorder", spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match="records 0 up to 7, not 5 up to 9"):
        replay_on(spark, ReplaySettings(filled.data, 5, 9))
