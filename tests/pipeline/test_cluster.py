"""A standalone cluster of processes: a master and two workers, which are other machines to the job."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from tests.pipeline.stage import rows_of
from tests.pipeline.test_run_process import child, fill, outbox_offsets
from tests.pipeline.test_same_pairs import loop, record_everything

from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = [pytest.mark.spark, pytest.mark.long]
HOME = Path(pyspark.__file__).parent
SECONDS = 120.0


def daemon(place: Path, name: str, *words: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["SPARK_MASTER_OPTS"] = "-Dspark.master.rest.enabled=false"
    environment["SPARK_DAEMON_MEMORY"] = "256m"
    with (place / f"{name}.log").open("wb") as log:
        return subprocess.Popen([HOME / "bin/spark-class", *words], env=environment, stdout=log, stderr=log)


def told(log: Path, sign: str) -> str:
    """The first line of a log with that in it, when it is there."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = [line for line in log.read_text("utf-8", "replace").splitlines() if sign in line]
        if found:
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"no {sign!r} in {log.read_text('utf-8', 'replace')[-2000:]}")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """Its address."""
    work = tmp_path / "cluster"
    work.mkdir()
    deploy = "org.apache.spark.deploy"
    started = [daemon(work, "master", f"{deploy}.master.Master", "-h", "127.0.0.1", "-p", "0", "--webui-port", "0")]
    try:
        address = told(work / "master.log", "Starting Spark master at ").split(" at ")[1].strip()
        for name in ("one", "two"):
            words = ("-h", "127.0.0.1", "-c", "1", "-m", "1g", "-d", str(work / name), "--webui-port", "0", address)
            started.append(daemon(work, name, f"{deploy}.worker.Worker", *words))
        for name in ("one", "two"):
            told(work / f"{name}.log", "Successfully registered with master")
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


@pytest.mark.cluster
@pytest.mark.kills
def test_an_executor_and_then_a_machine_are_killed_in_the_middle_of_a_batch(
    recorder: "Recorder", master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its rows written and not told of; the job goes on with what is left."""
    fill(recorder, 1_199)
    monkeypatch.setenv("MASTER", master)
    monkeypatch.setenv("ROWS", "600")
    with child(recorder.data, "0", "executors", "601") as process:
        assert process.wait(280) == 0, process.stderr and process.stderr.read()
    killed = sorted(each.name for each in recorder.data.glob("killed*"))
    assert killed == ["killed executor after", "killed machine after"]
    assert outbox_offsets(recorder.data) == [*range(1, 1_200)]
    for table in ("notifications", "matches"):
        assert sorted(row["log_offset"] for row in rows_of(recorder.data, table)) == [*range(1, 1_200)]


def test_a_cluster_finds_the_same(recorder: "Recorder", master: str) -> None:
    record_everything(recorder)
    conf = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=512m")
    words = (sys.executable, "-m", "tocsin", "pipeline", "run", "--once", "--data", str(recorder.data))
    done = subprocess.run([*words, "--master", master, *conf], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr + (recorder.data / "spark.log").read_text("utf-8")[-4000:]
    expected = [each for _, each in loop(recorder.records)]
    outbox = Outbox.open(recorder.data / "outbox.db")
    assert [each for _, each in outbox.pending(0, 1_000_000)] == expected
    outbox.close()
    matched = Counter(
        (row["log_offset"], row["item"], row["subscription"]) for row in rows_of(recorder.data, "matches")
    )
    assert matched == Counter((each.at.offset, each.index, each.match.subscription) for each in expected)
