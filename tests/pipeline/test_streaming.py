"""The streaming job in the shared session: batches, tables, progress and what stops it."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.stage import Told, catch_up, storage_of

from tocsin.pipeline.batch import BatchResult, work
from tocsin.pipeline.errors import OutOfStep, PipelineError, sentence
from tocsin.pipeline.run import Progress, RunSettings, check_in_step, delivers, keep_running, publishing
from tocsin.pipeline.session import SparkSettings
from tocsin.pipeline.status import status
from tocsin.pipeline.tables.reading import read, scan
from tocsin.pipeline.task import Task
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark


@contextmanager
def opened(data: Path) -> Iterator[Outbox]:
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        yield outbox


def fill(recorder: "Recorder", count: int) -> None:
    for name in ("one", "two"):
        recorder.subscribe(name, "a")
    for number in range(count):
        recorder.raw("a" if number % 2 else "b")
    recorder.outcome("one", 3, "retry", "delivered")
    recorder.save()


def test_batches_tables_outbox_and_status_agree(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 20)
    recorder.raw("a", b"not XML")
    recorder.save()
    done = catch_up(spark, RunSettings(recorder.data, rows=10, once=True))
    assert [each.counted["records"] for each in done] == [10, 10, 4]
    with opened(recorder.data) as outbox:
        sent = outbox.pending(0, 100)
        assert [(each.at.offset, each.match.subscription) for _, each in sent] == [
            (offset, name) for offset in range(3, 22, 2) for name in ("one", "two")
        ]
        assert [batch.end for batch in outbox.batches()][-1] == '{"log": 23, "outcomes": 1}'
    now = status(recorder.data)
    counts = {"notifications": 20, "matches": 20, "history": 2, "quarantine": 1}
    assert now.tables == counts | {"asked": 0, "replies": 0, "harvests": 0}
    assert (now.batches, now.rows, now.deliveries, now.lag) == (3, 24, 20, {"log": 0, "outcomes": 0})
    assert not [*recorder.data.glob("tables/deliveries/*/*")]


def test_the_tables_say_what_happened(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 2)
    recorder.raw("a", b"not XML")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    said = read(spark, storage_of(recorder.data), "notifications").orderBy("log_offset").collect()
    assert [(row.id, row.node, row.log_offset, row["item"], row.topic, row.dialect) for row in said] == [
        ("urn:uuid:c2", "n", 2, 0, "b", "raw"),
        ("urn:uuid:c3", "n", 3, 0, "a", "raw"),
    ]
    assert bytes(said[0].payload) == b"<reading/>"
    assert said[0].time.timestamp() == 1_700_000_002
    told = read(spark, storage_of(recorder.data), "history").orderBy("attempt").collect()
    assert [(row.subscription, row.log_offset, row.result, row.attempt) for row in told] == [
        ("one", 3, "retry", 1),
        ("one", 3, "delivered", 2),
    ]
    failed = scan(storage_of(recorder.data), "quarantine").to_pylist()
    assert [(row["log"], row["log_offset"], row["subscription"]) for row in failed] == [("log", 4, None)]
    assert failed[0]["reason"].startswith("Refusal: ")


def test_what_is_not_committed_is_not_read(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 2)
    catch_up(spark, RunSettings(recorder.data, once=True))
    written = next((recorder.data / "tables/matches").glob("day=*/*.parquet"))
    written.with_name("of-an-attempt-that-failed.parquet").write_bytes(written.read_bytes())
    assert scan(storage_of(recorder.data), "matches").num_rows == 2
    assert read(spark, storage_of(recorder.data), "matches").count() == 2


def test_where_the_node_delivers_only_tables_are_written(embedded: "Recorder", spark: SparkSession) -> None:
    fill(embedded, 4)
    done = catch_up(spark, RunSettings(embedded.data, once=True))
    assert done[0].counted["matches"] == 4
    with opened(embedded.data) as outbox:
        assert outbox.pending(0, 10) == []
        assert outbox.committed() == {0}
    with pytest.raises(PipelineError, match="embedded engine"):
        delivers(embedded.data, True)


def test_it_goes_on_where_it_was(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 4)
    catch_up(spark, RunSettings(recorder.data, once=True))
    recorder.raw("a")
    recorder.save()
    done = catch_up(spark, RunSettings(recorder.data, once=True))
    assert [(each.id, each.counted["records"], each.repeated) for each in done] == [(1, 1, False)]
    assert status(recorder.data).tables["notifications"] == 5


def test_damage_ends_the_job_with_a_sentence(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 4)
    segment = next((recorder.data / "log").glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[-5] ^= 1
    segment.write_bytes(content)
    with pytest.raises(Exception, match="CorruptLog") as raised:
        catch_up(spark, RunSettings(recorder.data, once=True))
    said = sentence(raised.value, recorder.data / "spark.log")
    assert said.startswith(f"{segment} is damaged at byte ")
    assert "\n" not in said


def test_a_checkpoint_that_was_removed_is_noticed(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 4)
    catch_up(spark, RunSettings(recorder.data, once=True))
    (recorder.data / "checkpoint").rename(recorder.data / "elsewhere")
    with pytest.raises(OutOfStep, match="do not belong together"), opened(recorder.data) as outbox:
        check_in_step(recorder.data, outbox)


def test_a_status_before_anything_ran(recorder: "Recorder") -> None:
    fill(recorder, 4)
    now = status(recorder.data)
    assert (now.batches, now.lag, now.last) == (0, {"log": 6, "outcomes": 1}, None)


def test_a_query_that_fails_by_what_may_pass_is_started_again(
    recorder: "Recorder", spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(recorder, 4)
    failures = iter(["an executor is gone", "a worker is out of memory"])

    def unlucky(frame: DataFrame, task: Task) -> BatchResult:
        if (reason := next(failures, None)) is not None:
            raise RuntimeError(reason)
        return work(frame, task)

    monkeypatch.setattr("tocsin.pipeline.batch.work", unlucky)
    monkeypatch.setattr("tocsin.pipeline.run.FIRST_PAUSE", 0.01)
    told, stop = Told(), Event()
    settings = RunSettings(recorder.data)
    with publishing(settings, told) as batches:
        told.enough = stop
        keep_running(spark, settings, batches, told, stop)
    states = [each["event"] for each in map(json.loads, told.said.getvalue().splitlines())]
    assert states == ["ready", "restarting", "ready", "restarting", "ready"]
    assert "an executor is gone" in told.said.getvalue()
    assert [(each.id, each.counted["records"]) for each in told.done] == [(0, 7)]
    assert status(recorder.data).tables["notifications"] == 4


def test_damage_is_not_tried_again(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 4)
    segment = next((recorder.data / "log").glob("*.log"))
    segment.write_bytes(segment.read_bytes()[:-5] + b"~~~~~")
    settings = RunSettings(recorder.data)
    with pytest.raises(Exception, match="is damaged at byte"), publishing(settings, Told()) as batches:
        keep_running(spark, settings, batches, Told(), Event())


def test_the_status_says_what_the_job_says(recorder: "Recorder", tmp_path: Path) -> None:
    fill(recorder, 4)
    progress = Progress(StringIO(), recorder.data / "pipeline.json")
    progress.state("restarting", reason="an executor is gone", seconds=1)
    progress.stages({"batchId": 3, "durationMs": {"addBatch": 120, "walCommit": 30}})
    progress.state("ready")
    now = status(recorder.data)
    assert (now.state, now.stages, now.error) == ("ready", {"addBatch": 120, "walCommit": 30}, "an executor is gone")
    assert now.lag_seconds > 60 * 60 * 24, "records of the test are of a past year"


def test_what_is_asked_for_wins_over_our_settings_and_over_what_was_submitted(tmp_path: Path) -> None:
    asked = SparkSettings(conf=(("spark.ui.enabled", "true"), ("spark.x", "1")))
    found = asked.settings(tmp_path, {"spark.master": "spark://a:7077", "spark.x": "2", "spark.y": "3"})
    assert (found["spark.master"], found["spark.ui.enabled"], found["spark.x"], found["spark.y"]) == (
        "spark://a:7077",
        "true",
        "1",
        "3",
    )
    assert (
        SparkSettings("local[3]").settings(tmp_path, {"spark.master": "spark://a:7077"})["spark.master"] == "local[3]"
    )
