"""What Spark says of its progress, and the bar that is drawn of it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tocsin.cli.progress import spark_bar
from tocsin.pipeline.progress import watched

TASKS = 4


def waiting_for(folder: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Each task ends when there is a file of its number: the test is what moves it."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                deadline = time.monotonic() + 120
                while not Path(folder, str(number)).exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
            yield batch

    return run


@pytest.mark.long
@pytest.mark.spark
def test_it_moves_with_the_tasks_of_a_job(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        """The next task may end when it was seen that the last one did."""
        seen.append((done, total))
        if total:
            (tmp_path / str(done)).touch()

    with watched(spark, tell):
        frame = spark.range(0, TASKS, numPartitions=TASKS)
        assert frame.mapInArrow(waiting_for(str(tmp_path)), frame.schema).count() == TASKS
    counts = [done for done, total in seen if total >= TASKS]
    assert counts == sorted(counts) and {*range(TASKS)} <= set(counts), "one after the other"
    assert seen[-1][0] == seen[-1][1] >= TASKS


@pytest.mark.spark
def test_nobody_who_looks_costs_nothing(spark: SparkSession) -> None:
    with watched(spark, None):
        assert spark.range(3).count() == 3


def test_the_bar_is_for_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def draw(terminal: bool) -> str:
        if terminal:
            monkeypatch.setenv("FORCE_COLOR", "1")
        with spark_bar("summing up") as bar:
            bar.tell(0, 0)
            bar.step("costs")
            bar.tell(3, 8)
        out, err = capfd.readouterr()
        assert out == "", "whoever asks for JSON has it by itself"
        return err

    assert draw(terminal=False) == ""
    drawn = draw(terminal=True)
    assert "costs" in drawn and "3/8" in drawn and "tasks" in drawn
