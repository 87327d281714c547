"""What is in the quarantine, tried again: after an upgrade, and after somebody mended a subscription."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from msgspec.structs import replace
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from tests.cli.inside import inside
from tests.judging import DEEP, wide
from tests.pipeline.conftest import Recorder
from tests.pipeline.stage import catch_up, rows_of, storage_of

from tocsin.cli.mend import show
from tocsin.flow.flow import normalise
from tocsin.model.delivery import Delivery, Outcome
from tocsin.model.filters import Content
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.hop import Failure
from tocsin.pipeline.mend import SHARED, Mended, MendSettings, mend, mend_on
from tocsin.pipeline.run import RunSettings, owned
from tocsin.pipeline.status import status
from tocsin.pipeline.tables.schemas import as_stored
from tocsin.pipeline.task import Frames, Sink, Task
from tocsin.store.outbox import Outbox

pytestmark = pytest.mark.spark
MISTAKE, UNREAD = "ValueError: a mistake of then", "not outcomes, as of then"


class OlderTask(Task):
    """As a version did that could not read what was published on b, nor outcomes."""

    def _keep(self, log: str, frames: Frames, sink: Sink) -> int:
        def older(record: Accepted) -> tuple[Notification, ...]:
            if record.door.endswith("/b"):
                raise ValueError("a mistake of then")
            return normalise(record)

        def unread(payload: bytes) -> tuple[Outcome, ...] | Failure:
            return Failure(UNREAD, record=payload)

        with patch("tocsin.pipeline.hop.normalise", older), patch("tocsin.pipeline.task.decode_outcomes", unread):
            return super()._keep(log, frames, sink)


@pytest.fixture
def upgraded(recorder: Recorder, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Records 1 and 3 and an outcome were in the way of an older version."""
    recorder.subscribe("one", "b")
    for topic in "bab":
        recorder.raw(topic)
    recorder.outcome("one", 1, "delivered")
    recorder.save()
    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)
    with monkeypatch.context() as older:
        older.setattr("tocsin.pipeline.batch.Task", OlderTask)
        catch_up(spark, RunSettings(recorder.data, once=True))
    cloudpickle.unregister_pickle_by_value(here)
    assert len(rows_of(recorder.data, "quarantine")) == 3
    yield recorder


def sent(data: Path) -> list[Delivery]:
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        return [delivery for _, delivery in outbox.pending(0, 100)]


def offsets(data: Path, table: str) -> list[int]:
    return sorted(row["log_offset"] for row in rows_of(data, table))


def test_what_an_older_version_could_not_read_is_mended_once(upgraded: Recorder, spark: SparkSession) -> None:
    data = upgraded.data
    found = Mended(3, {MISTAKE: 2, UNREAD: 1}, {}, notifications=2, matches=2, history=1, deliveries=2)
    assert mend_on(spark, MendSettings(data)) == found
    assert (sent(data), offsets(data, "notifications"), offsets(data, "mended")) == ([], [2], []), "a dry run"
    assert mend_on(spark, MendSettings(data, deliver=True)) == replace_published(found)
    assert mend_on(spark, MendSettings(data, deliver=True)) == Mended(0)
    assert [each.at.offset for each in sent(data)] == [1, 3]
    tables = {name: offsets(data, name) for name in ("notifications", "matches", "history", "mended")}
    assert tables == {"notifications": [1, 2, 3], "matches": [1, 3], "history": [1], "mended": [0, 1, 3]}
    assert status(data).replays == 1


def replace_published(found: Mended) -> Mended:
    return Mended(**{**vars(found), "published": True})


def test_beside_the_streaming_job_its_rows_wait_for_that(upgraded: Recorder, spark: SparkSession) -> None:
    data = upgraded.data
    with owned(data, "pipeline"):
        assert mend_on(spark, MendSettings(data, stop=2, deliver=True)).mended == {MISTAKE: 1, UNREAD: 1}
        assert offsets(data, "notifications") == [2]
        rest = mend_on(spark, MendSettings(data, deliver=True))
        assert rest.mended == {MISTAKE: 1}, "what is marked and in no table yet is known too"
    upgraded.raw("a")
    upgraded.save()
    catch_up(spark, RunSettings(data, once=True))
    assert (offsets(data, "notifications"), offsets(data, "mended")) == ([1, 2, 3, 4], [0, 1, 3])
    assert [each.at.offset for each in sent(data)] == [1, 3]


def test_pairs_are_mended_with_what_holds_today(recorder: Recorder, spark: SparkSession) -> None:
    """One subscription has a filter that nobody can evaluate, one a form that nobody can write; a third is told."""
    subscriptions = [recorder.subscribe(name, "a") for name in ("deep", "odd", "good")]
    deep = recorder.change(replace(subscriptions[0], filters=(*subscriptions[0].filters, Content("xpath", DEEP))))
    form = replace(subscriptions[1].form, dialect="unheard-of")
    odd = recorder.change(replace(subscriptions[1], filters=(), form=form))
    recorder.raw("a", wide())
    recorder.notify("b", "b")
    recorder.save()
    data = recorder.data
    catch_up(spark, RunSettings(data, once=True))
    kept = {(row["log_offset"], row["item"], row["subscription"]) for row in rows_of(data, "quarantine")}
    assert kept == {(5, 0, "deep"), (5, 0, "odd"), (6, 0, "odd"), (6, 1, "odd")}
    before = sent(data)
    same = mend_on(spark, MendSettings(data, deliver=True))
    assert (same.quarantined, same.mended, sum(same.failing.values()), same.published) == (4, {}, 4, None)
    recorder.change(replace(deep, filters=subscriptions[0].filters))
    recorder.change(replace(odd, form=subscriptions[1].form))
    recorder.save()
    done = mend_on(spark, MendSettings(data, deliver=True, as_of=9))
    assert (sum(done.mended.values()), done.failing, done.matches, done.deliveries) == (4, {}, 1, 4)
    fresh = {(each.at.offset, each.index, each.match.subscription) for each in sent(data)[len(before) :]}
    assert fresh == kept and all(each.is_made() for each in sent(data)[len(before) :])
    pairs = [(row["log_offset"], row["item"], row["subscription"]) for row in rows_of(data, "matches")]
    assert len(pairs) == len(set(pairs)) and kept < set(pairs)


def test_what_is_of_a_shared_log_stays_and_says_so(recorder: Recorder, spark: SparkSession) -> None:
    recorder.save()
    table = DeltaTable.create(storage_of(recorder.data).table("quarantine"), as_stored("quarantine"))
    row = {"log": "log/3", "log_offset": 7, "time": 0, "reason": MISTAKE, "record": b"", "day": 0}
    write_deltalake(table, pa.Table.from_pylist([row], as_stored("quarantine")), mode="append")
    assert mend_on(spark, MendSettings(recorder.data)) == Mended(1, {}, {SHARED: 1})


def test_without_a_quarantine_there_is_nothing_to_do(recorder: Recorder) -> None:
    recorder.save()
    assert mend(MendSettings(recorder.data)) == Mended(0), "and no Spark is started"


def test_where_the_node_delivers_nothing_else_does(embedded: Recorder) -> None:
    embedded.save()
    with pytest.raises(PipelineError, match="belongs to the embedded engine"):
        mend(MendSettings(embedded.data, deliver=True))


def test_it_is_told(recorder: Recorder, capfd: pytest.CaptureFixture[str]) -> None:
    show(Mended(3, {MISTAKE: 2}, {UNREAD: 1}, notifications=2, matches=1, deliveries=1))
    told = capfd.readouterr().err.splitlines()
    assert told[1:] == [
        f"{MISTAKE}     2",
        "still fails               rows",
        f"{UNREAD}     1",
        "of 3 rows 2 can be mended: 2 notifications, 1 match, 1 delivery",
        "nothing was changed. Say --deliver to do it.",
    ]
    recorder.save()
    command = ("pipeline", "replay", "--quarantine", "--data", str(recorder.data))
    assert '"quarantined":0' in inside(*command, "--json").stdout
    assert inside(*command, "--diff", check=False).returncode == 2
