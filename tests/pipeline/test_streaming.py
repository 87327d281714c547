"""The streaming job in the shared session: batches, tables, progress and what stops it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from tocsin.pipeline import tables
from tocsin.pipeline.batch import Batches, PublishedBatch
from tocsin.pipeline.errors import OutOfStep, PipelineError, sentence
from tocsin.pipeline.run import RunSettings, check_in_step, delivers, start
from tocsin.pipeline.status import status
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark


@contextmanager
def opened(data: Path) -> Iterator[Outbox]:
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        yield outbox


def catch_up(spark: SparkSession, settings: RunSettings) -> list[PublishedBatch]:
    """Reads what is there, as `run` with `once`."""
    done: list[PublishedBatch] = []
    with opened(settings.data) as outbox:
        check_in_step(settings.data, outbox)
        deliver = delivers(settings.data, settings.deliver)
        query = start(spark, settings, Batches(settings.data, outbox, deliver=deliver, done=done.append))
        try:
            query.awaitTermination(60)
        finally:
            query.stop()
    return done


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
    assert now.tables == {"notifications": 20, "matches": 20, "history": 2, "errors": 1}
    assert (now.batches, now.rows, now.deliveries, now.lag) == (3, 24, 20, {"log": 0, "outcomes": 0})
    assert not [*recorder.data.glob("tables/deliveries/*/*")]


def test_the_tables_say_what_happened(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 2)
    recorder.raw("a", b"not XML")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    said = tables.read(spark, recorder.data, "notifications").orderBy("offset").collect()
    assert [(row.id, row.node, row.offset, row["index"], row.topic, row.dialect) for row in said] == [
        ("urn:uuid:c2", "n", 2, 0, "b", "raw"),
        ("urn:uuid:c3", "n", 3, 0, "a", "raw"),
    ]
    assert bytes(said[0].payload) == b"<reading/>"
    assert said[0].when.timestamp() == 1_700_000_002
    told = tables.read(spark, recorder.data, "history").orderBy("attempt").collect()
    assert [(row.subscription, row.offset, row.result, row.attempt) for row in told] == [
        ("one", 3, "retry", 1),
        ("one", 3, "delivered", 2),
    ]
    failed = tables.scan(recorder.data, "errors").to_pylist()
    assert [(row["log"], row["offset"], row["subscription"]) for row in failed] == [("log", 4, None)]
    assert failed[0]["reason"].startswith("Refusal: ")


def test_a_batch_that_is_not_committed_is_not_read(recorder: "Recorder", spark: SparkSession) -> None:
    fill(recorder, 2)
    catch_up(spark, RunSettings(recorder.data, once=True))
    written = tables.folder(recorder.data, "matches", 0)
    written.with_name("batch=1").mkdir()
    for file in written.iterdir():
        (written.with_name("batch=1") / file.name).write_bytes(file.read_bytes())
    assert tables.scan(recorder.data, "matches").num_rows == 2
    assert tables.read(spark, recorder.data, "matches").count() == 2


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
