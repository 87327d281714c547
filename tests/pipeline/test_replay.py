"""A range of the log again: what would be delivered, and its delivery when told to."""

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up, rows_of

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.replay import ReplaySettings, offset_named, replay_on
from tocsin.pipeline.run import RunSettings
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
    assert not [each for each in (filled.data / "tables").rglob("*") if each.is_file()]


def test_a_range_meets_the_subscriptions_of_its_time(filled: "Recorder", spark: SparkSession) -> None:
    assert replay_on(spark, ReplaySettings(filled.data, 1, 4)).by_subscription == {"early": 2}


def test_or_those_of_today(filled: "Recorder", spark: SparkSession) -> None:
    found = replay_on(spark, ReplaySettings(filled.data, 1, 4, as_of=7))
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


def test_or_those_of_any_other_time(filled: "Recorder", spark: SparkSession) -> None:
    assert replay_on(spark, ReplaySettings(filled.data, as_of=1)).by_subscription == {"early": 3}
    with pytest.raises(PipelineError, match="as of records 0 up to 7, not 8"):
        replay_on(spark, ReplaySettings(filled.data, as_of=8))


def test_a_time_names_the_first_record_accepted_then(filled: "Recorder") -> None:
    assert offset_named(filled.data, "3") == 3
    assert offset_named(filled.data, "2023-11-14T22:13:23Z") == 3, "records are a second apart from 22:13:20 on"
    assert offset_named(filled.data, "2023-11-14T22:13:23.5Z") == 4
    assert offset_named(filled.data, "2030-01-01T00:00:00Z") == 7
    with pytest.raises(PipelineError, match="neither an offset nor a time"):
        offset_named(filled.data, "yesterday")


def test_a_difference_says_what_is_new_and_what_is_gone(filled: "Recorder", spark: SparkSession) -> None:
    """Were the subscriptions of record 5 always there, the late one would have been told of 1 and 3; and with those of
    record 0, nobody would have been told of anything."""
    catch_up(spark, RunSettings(filled.data, once=True))
    before = rows_of(filled.data, "matches")
    same = replay_on(spark, ReplaySettings(filled.data, diff=True)).diff
    assert same is not None
    assert (same.new.count, same.gone.count) == (0, 0)
    later = replay_on(spark, ReplaySettings(filled.data, as_of=5, diff=True)).diff
    assert later is not None
    assert (later.new.by_subscription, later.gone.count) == ({"late": 2}, 0)
    assert later.new.examples == [(1, 0, "late"), (3, 0, "late")]
    none = replay_on(spark, ReplaySettings(filled.data, 0, 4, as_of=0, diff=True)).diff
    assert none is not None
    assert (none.new.count, none.gone.by_subscription) == (0, {"early": 2}), "of the range alone"
    both = replay_on(spark, ReplaySettings(filled.data, as_of=5, diff=True, deliver=True))
    assert (both.published, both.deliveries, both.diff) == (True, 6, later)
    with closing(Outbox.open(filled.data / "outbox.db")) as outbox:
        assert outbox.staged() == []
    assert rows_of(filled.data, "matches") == before, "what it is compared by is none of the table"
