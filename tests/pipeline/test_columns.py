"""Columns that were added to tables since they were made, and the snapshot that decided, from match to history."""

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up, rows_of, storage_of

from tocsin.model.delivery import Outcome
from tocsin.model.identity import Instant
from tocsin.pipeline.run import RunSettings
from tocsin.pipeline.tables.reading import read
from tocsin.pipeline.tables.schemas import HISTORY, as_stored
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark


def make_older(recorder: "Recorder") -> None:
    """The table `history` as it was before it said which snapshot decided, with one row."""
    schema = as_stored(HISTORY)
    older = schema.remove(schema.get_field_index("snapshot"))
    place = storage_of(recorder.data).table(HISTORY)
    table = DeltaTable.create(place, older, partition_by=["day"])
    row = {"notification": "e0", "subscription": "early", "log_offset": 0, "result": "delivered", "attempt": 1}
    days = {"time": Instant(0), "day": 0}
    write_deltalake(table, pa.Table.from_pylist([row | days], older), mode="append")


def test_a_table_made_before_a_column_goes_on_with_it(recorder: "Recorder", spark: SparkSession) -> None:
    make_older(recorder)
    assert [row["snapshot"] for row in rows_of(recorder.data, HISTORY)] == [None], "before anything is written"
    assert read(spark, storage_of(recorder.data), HISTORY).select("snapshot").collect() == [(None,)]
    recorder.subscribe("s", "a")
    recorder.outcome("s", 1, "retry", "delivered")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    assert sorted(row["subscription"] for row in rows_of(recorder.data, HISTORY)) == ["early", "s", "s"]
    table = DeltaTable(storage_of(recorder.data).table(HISTORY))
    assert "snapshot" in {each.name for each in table.schema().fields}


def test_who_reads_without_us_may_filter_by_any_column(recorder: "Recorder", spark: SparkSession) -> None:
    """Also what was written when the table did not say of which columns its files have bounds."""
    make_older(recorder)
    recorder.subscribe("s", "a")
    recorder.outcome("s", 1, "retry", "delivered")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    rows = DeltaTable(storage_of(recorder.data).table(HISTORY)).to_pyarrow_dataset()
    wanted = {
        "s": pc.field("result") == "retry",
        "early": pc.field("attempt").is_valid() & (pc.field("log_offset") < 1),
    }
    for name, which in wanted.items():
        assert rows.to_table(filter=which)["subscription"].to_pylist() == [name]


def test_the_history_says_which_snapshot_decided(recorder: "Recorder", spark: SparkSession) -> None:
    for name in ("one", "two"):
        recorder.subscribe(name, "a")
    recorder.raw("a")
    recorder.save()
    settings = RunSettings(recorder.data, once=True, snapshot_changes=1)
    catch_up(spark, settings)
    recorder.raw("a")
    recorder.save()
    catch_up(spark, settings)
    decided = {(row["log_offset"], row["subscription"]): row["snapshot"] for row in rows_of(recorder.data, "matches")}
    assert any(decided.values()), "a snapshot was made"
    with closing(Outbox.open(recorder.data / "outbox.db")) as outbox:
        sent = [each for _, each in outbox.pending(0, 100)]
    assert {(each.at.offset, each.match.subscription): each.snapshot for each in sent} == decided
    told = [Outcome(each.match, each.at, 0, Instant(0), "delivered", 1, "", each.snapshot) for each in sent]
    recorder._outcomes.append(msgspec.msgpack.encode(told))
    recorder.save()
    catch_up(spark, settings)
    rows = rows_of(recorder.data, HISTORY)
    assert {(row["log_offset"], row["subscription"]): row["snapshot"] for row in rows} == decided


def test_what_is_on_disk_without_it_stays_readable() -> None:
    match, at = ("e1", "s"), ("n", 1)
    older = msgspec.msgpack.encode([[match, at, 0, 5, "dead", 1, "because"]])
    (outcome,) = msgspec.msgpack.decode(older, type=tuple[Outcome, ...])
    assert (outcome.detail, outcome.snapshot) == ("because", None)
