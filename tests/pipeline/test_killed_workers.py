"""Python workers that are killed in the middle of a batch: the job goes on by itself, and each row is there once."""

import json
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.doomed import Doomed, Plain
from tests.pipeline.stage import Told, rows_of
from tests.pipeline.test_run_process import fill, outbox_offsets

from tocsin.pipeline.run import RunSettings, keep_running, publishing

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = [pytest.mark.spark, pytest.mark.kills]


def run_until_published(spark: SparkSession, data: Path) -> list[str]:
    """The states that the job told."""
    told, stop = Told(), Event()
    with publishing(RunSettings(data), told) as batches:
        told.enough = stop
        keep_running(spark, RunSettings(data), batches, told, stop)
    return [each["event"] for each in map(json.loads, told.said.getvalue().splitlines())]


def test_killed_before_and_after_its_rows_are_written(
    recorder: "Recorder", spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(recorder, 9)
    monkeypatch.setattr("tocsin.pipeline.run.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("tocsin.pipeline.batch.Task", _doomed(Doomed))
    states = run_until_published(spark, recorder.data)
    assert states == ["ready", "restarting", "ready", "restarting", "ready"]
    assert sorted(each.name for each in recorder.data.glob("killed*")) == [
        "killed worker after",
        "killed worker before",
    ]
    assert outbox_offsets(recorder.data) == [*range(1, 10)]
    for table in ("notifications", "matches"):
        assert [row["log_offset"] for row in rows_of(recorder.data, table)] == [*range(1, 10)]
    written = [*recorder.data.glob("tables/matches/day=*/*.parquet")]
    assert len(written) == 2, "one is of the attempt that was killed, and in no commit"


def test_what_would_double_does_double(
    recorder: "Recorder", spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: tasks that append to the tables by themselves."""
    fill(recorder, 9)
    monkeypatch.setattr("tocsin.pipeline.run.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("tocsin.pipeline.batch.Task", _doomed(Plain))
    monkeypatch.setattr("tocsin.pipeline.tables.commits.Committer.commit", lambda self: None)
    run_until_published(spark, recorder.data)
    assert sorted(row["log_offset"] for row in rows_of(recorder.data, "matches")) == sorted([*range(1, 10)] * 2)


def _doomed(task: type[Doomed]) -> object:
    kills = (("before", "worker", 0), ("after", "worker", 0))
    return partial(task, kills=kills)
