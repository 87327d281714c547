"""Functions on DataFrames: the pairs and bytes of a replay, from subscriptions of a node or from others."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.judging import DEEP, wide
from tests.pipeline.stage import catch_up
from tests.pipeline.test_same_pairs import record_everything

from tocsin.flow.flow import UNJUDGED
from tocsin.model.delivery import Delivery
from tocsin.model.filters import Content
from tocsin.model.space import Dimension, InformationSpace
from tocsin.model.subscription import Form
from tocsin.pipeline.replay import ReplaySettings, replay_on
from tocsin.pipeline.run import RunSettings
from tocsin.spark import PipelineError, Subscriptions, customise, match, normalise, read_log, read_table, stream_log
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark
Sent = tuple[Any, ...]


def record_trouble(recorder: "Recorder") -> None:
    """A filter that cannot be evaluated, a form that cannot be written, a pull point, a record that cannot be read."""
    undecided = recorder.subscribe("undecided", "wide")
    recorder.change(replace(undecided, filters=(*undecided.filters, Content("xpath", DEEP))))
    recorder.change(replace(recorder.subscribe("unwritable", "a"), form=Form("of-tomorrow")))
    recorder.change(replace(recorder.subscribe("pulls", "a"), consumer=None))
    recorder.change(replace(recorder.subscribe("thin", "b"), form=Form("wsn-1.3", "1.2", "2005/08", thin=True)))
    recorder.raw("wide", wide())
    recorder.raw("a", b"not XML")


def delivered(data: Path) -> list[Sent]:
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        return sorted(map(as_row, (each for _, each in outbox.pending(0, 1_000_000))))


def as_row(each: Delivery) -> Sent:
    made = (dict(each.headers), each.body, None) if each.is_made() else (None, None, each.body.decode())
    return each.at.offset, each.index, each.match.subscription, each.to.address, *map(as_text, made)


def as_text(value: object) -> str:
    """A filter that takes too long is stopped by one clock or another."""
    text = str(value)
    return UNJUDGED if text.startswith(UNJUDGED) else text


def test_the_pairs_and_bytes_are_those_of_a_replay(recorder: "Recorder", spark: SparkSession) -> None:
    record_trouble(recorder)
    record_everything(recorder, 200)
    data, cut = recorder.data, len(recorder.records) - 20
    again = replay_on(spark, ReplaySettings(data, as_of=cut, deliver=True))
    said = normalise(read_log(spark, data, parts=3, least=1))
    with Subscriptions(data, as_of=cut) as wanted:
        pairs = match(said, wanted).cache()
        rows = customise(pairs, wanted).collect()
        assert pairs.where("error IS NULL").count() == again.matches
        snapshots = {row.snapshot for row in pairs.select("snapshot").distinct().collect()}
        assert snapshots == {wanted.published.digest}
        pairs.unpersist()
    assert said.where("error IS NULL").count() == again.notifications
    unread = [row for row in rows if row.subscription is None]
    sent = sorted(
        (row.log_offset, row["item"], row.subscription, row.consumer, *map(as_text, (row.headers, row.body, row.error)))
        for row in rows
        if row.subscription is not None
    )
    assert sent == delivered(data)
    assert {row.dialect for row in rows} >= {"cloudevents", "wsn-1.3", "wse-2004-08"}
    kinds = {str(row.content_type).partition(";")[0] for row in rows}
    assert kinds == {"application/cloudevents+json", "application/soap+xml", "None"}
    assert not [row for row in rows if row.subscription == "pulls"]
    assert [row.error.startswith("Refusal: ") for row in unread] == [True], "what cannot be read is handed on"
    assert [as_text(row.error) for row in rows if row.subscription == "undecided"] == [UNJUDGED]


def test_a_record_that_cannot_be_read_is_a_row(recorder: "Recorder", spark: SparkSession) -> None:
    recorder.raw("a")
    recorder.raw("a", b"not XML")
    recorder.save()
    said = normalise(read_log(spark, recorder.data))
    good, bad = said.orderBy("log_offset").collect()
    assert (good.error, good.topic, bytes(good.payload)) == (None, "a", b"<reading/>")
    assert (bad.id, bad.log_offset) == (None, 1)
    assert bad.error.startswith("Refusal: ")
    assert b"not XML" in bytes(bad.payload)
    with pytest.raises(PipelineError, match="the log has records 0 up to 2, not 1 up to 3"):
        read_log(spark, recorder.data, 1, 3)


def test_subscriptions_that_no_node_has(recorder: "Recorder", spark: SparkSession) -> None:
    """As values, as documents of the API, and as a DataFrame of documents."""
    known = recorder.subscribe("known", "b")
    recorder.declare(InformationSpace("levels", (Dimension("n", "number"),)))
    recorder.raw("a")
    recorder.raw("b")
    recorder.cloud_event("c", contenttopic="levels:7")
    recorder.save()
    said = normalise(read_log(spark, recorder.data)).cache()
    asked: dict[str, Any] = {"id": "asked", "consumer": "http://c/", "topic": "a", "dialect": "wsn-1.3"}
    text = json.dumps({"consumer": "http://d/"})
    box = {"consumer": "http://e/", "filters": [{"urn:tocsin:dialect:content-topic": "levels:>5"}]}
    wanted = Subscriptions([known, asked, text, box], node=recorder.data)
    found = match(said, wanted).select("log_offset", "subscription")
    everything = {(offset, "subscription-3") for offset in (2, 3, 4)}
    assert {tuple(row) for row in found.collect()} == {(3, "known"), (2, "asked"), (4, "subscription-4"), *everything}
    (sent,) = customise(match(said, [asked]), [asked]).collect()
    assert (sent.consumer, sent.dialect, b"Notify" in sent.body) == ("http://c/", "wsn-1.3", True)
    for frame in (
        spark.createDataFrame([(json.dumps(asked),)], "document string"),
        spark.createDataFrame(
            [("asked", "http://c/", "a", None)], "id string, consumer string, topic string, mode string"
        ),
    ):
        assert [row.subscription for row in match(said, frame).collect()] == ["asked"]


def test_subscriptions_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"subscription 2 cannot be read: .*unknown field `topics`"):
        Subscriptions([{"consumer": "http://c/"}, {"consumer": "http://c/", "topics": "a"}])
    with pytest.raises(PipelineError, match=r"subscription 1 cannot be read: .*no-such"):
        Subscriptions([{"consumer": "http://c/", "dialect": "no-such"}])
    with pytest.raises(PipelineError, match="two subscriptions are called 'one'"):
        Subscriptions([{"id": "one", "consumer": "http://c/"}] * 2)
    with pytest.raises(PipelineError, match="is not a data directory"):
        Subscriptions(tmp_path / "nowhere")


def test_files_go_when_they_are_closed(recorder: "Recorder", tmp_path: Path) -> None:
    recorder.subscribe("s", "a")
    recorder.save()
    with Subscriptions(recorder.data, state=tmp_path / "shared"):
        assert [*(tmp_path / "shared/_state").glob("frames-*/snapshots/*")]
    assert not [*(tmp_path / "shared/_state").iterdir()]
    with Subscriptions(recorder.data) as wanted:
        (folder,) = (recorder.data / "tables/_state").iterdir()
        assert wanted.published.snapshot is not None
        assert wanted.published.snapshot.startswith(folder.name)
    assert not folder.exists()


def test_a_frame_without_the_columns_is_refused(recorder: "Recorder", spark: SparkSession) -> None:
    recorder.subscribe("s", "a")
    recorder.raw("a")
    recorder.save()
    said = normalise(read_log(spark, recorder.data))
    with pytest.raises(PipelineError, match="has no matching, error: give what `normalise` returns"):
        match(said.drop("matching", "error"), recorder.data)
    with pytest.raises(PipelineError, match="has no subscription: give what `match` returns"):
        customise(said, recorder.data)
    other = [{"consumer": "http://c/"}]
    (row,) = customise(match(said, recorder.data), other).collect()
    assert row.error == "there is no subscription 's' among those given; match and customise with the same"


def test_a_stream(recorder: "Recorder", spark: SparkSession, tmp_path: Path) -> None:
    recorder.subscribe("s", "a")
    for _ in range(3):
        recorder.raw("a")
    recorder.outcome("s", 1, "delivered")
    recorder.save()
    pairs = match(normalise(stream_log(spark, recorder.data, rows=2)), recorder.data)
    writer = pairs.writeStream.format("memory").queryName("streamed").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(60)
    assert query.exception() is None
    assert sorted(row.log_offset for row in spark.table("streamed").collect()) == [1, 2, 3]


def test_tables(recorder: "Recorder", spark: SparkSession) -> None:
    recorder.subscribe("s", "a")
    recorder.raw("a")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    kept = read_table(spark, "notifications", recorder.data / "tables")
    made = normalise(read_log(spark, recorder.data))
    assert kept.drop("day").collect() == made.drop("matching", "error").collect()
    with pytest.raises(PipelineError, match="there is no table 'notification'; there are notifications, matches"):
        read_table(spark, "notification", recorder.data / "tables")
