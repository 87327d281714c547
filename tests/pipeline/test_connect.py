"""By Spark Connect: what can go by a server gives the same there, and what cannot says so."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.cli.commands import process
from tests.pipeline import connect_child
from tests.pipeline.test_cluster import HOME, told
from tests.pipeline.test_same_pairs import record_everything

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.replay import ReplaySettings, replay_on
from tocsin.pipeline.session import SparkSettings, session

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
CHILD = Path(connect_child.__file__)


@pytest.mark.parametrize(
    ("remote", "said"),
    [
        ("sc://127.0.0.1:1", "no Connect server answers at sc://127.0.0.1:1"),
        ("spark://127.0.0.1:7077", "is not the address of a Connect server; write one such as sc://host:15002"),
        ("sc://127.0.0.1:port", "is not the address of a Connect server"),
    ],
)
def test_an_address_where_no_server_is(remote: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=said), session(tmp_path / "log", tmp_path, SparkSettings(remote=remote)):
        raise AssertionError("there is none")


def test_run_needs_its_driver_here(recorder: "Recorder") -> None:
    recorder.save()
    words = ("pipeline", "run", "--once", "--data", str(recorder.data), "--remote", "sc://127.0.0.1:1")
    done = process(*words, check=False)
    assert done.returncode == 1
    assert "`run` cannot go by Spark Connect: batches are published by the driver" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["event"] == "failed"
    both = process("pipeline", "replay", "--data", str(recorder.data), *words[-2:], "--master", "local", check=False)
    assert both.returncode == 2
    assert "with --remote the server has its own" in both.stderr


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Its address."""
    log = tmp_path / "server.log"
    here = (
        "spark.ui.enabled=false",
        "spark.connect.grpc.binding.address=127.0.0.1",
        "spark.connect.grpc.binding.port=0",
    )
    conf = [word for each in here for word in ("--conf", each)]
    words = [str(HOME / "bin/spark-submit"), "--class", SERVER, "--master", "local[2]", *conf, "spark-internal"]
    mine = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as file:
        started = subprocess.Popen(words, env={**os.environ, **mine}, cwd=tmp_path, stdout=file, stderr=file)
    try:
        yield "sc://" + told(log, "Spark Connect server started at: ").rpartition(": ")[2].strip()
    finally:
        started.terminate()
        started.wait(60)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_server_finds_the_same(recorder: "Recorder", spark: SparkSession, server: str) -> None:
    record_everything(recorder, 200)
    words = [sys.executable, str(CHILD), server, str(recorder.data)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip() == connect_child.summary(spark, recorder.data)
    asked = ReplaySettings(recorder.data, diff=True)
    again = process("pipeline", "replay", "--data", str(recorder.data), "--diff", "--json", "--remote", server)
    found = json.loads(again.stdout)
    here = replay_on(spark, asked)
    assert (found["matches"], found["by_subscription"]) == (here.matches, here.by_subscription)
    assert here.diff is not None
    assert found["diff"]["new"]["count"] == here.diff.new.count == here.matches
