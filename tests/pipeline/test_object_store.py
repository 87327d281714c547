"""Tables in an object store: an S3 server in a process of its own, on loopback."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up
from tests.pipeline.test_run_process import SECONDS, child, fill, outbox_offsets, processes_of, wait_until

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.run import RunSettings
from tocsin.pipeline.status import status
from tocsin.pipeline.tables import reading
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark
SECRET = "not-to-be-seen"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address. Not in this process: delta-rs holds the interpreter while it waits for an answer."""
    log = tmp_path_factory.mktemp("s3") / "server.log"
    with log.open("wb") as file:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        process = subprocess.Popen(words, stdout=file, stderr=file)
    try:
        yield _address(log)
    finally:
        process.terminate()
        process.wait(30)


def _address(log: Path) -> str:
    deadline = time.monotonic() + SECONDS
    while not (found := re.search(r"Running on (http://[\d.:]+)", log.read_text("utf-8"))):
        assert time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.05)
    return found[1]


@pytest.fixture
def options(server: str) -> dict[str, str]:
    """delta-rs' own, with a bucket to use them on."""
    with urlopen(Request(f"{server}/bucket", method="PUT")):
        return {
            "AWS_ENDPOINT_URL": server,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }


def tocsin(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tocsin", *words], capture_output=True, text=True, timeout=SECONDS)


def test_tables_in_an_object_store_are_kept_and_read(
    recorder: "Recorder", spark: SparkSession, options: dict[str, str]
) -> None:
    storage = Storage.at("s3://bucket/kept/", options)
    job = RunSettings(recorder.data, once=True, storage=storage, snapshot_changes=1)
    fill(recorder, 4)
    catch_up(spark, job)
    for _ in range(3):
        recorder.raw("a")
    recorder.save()
    catch_up(spark, job)
    offsets = [*range(1, 8)]
    read = reading.read(spark, storage, "matches")
    assert sorted(row.log_offset for row in read.collect()) == offsets
    others = DeltaTable("s3://bucket/kept/matches", storage_options=options).to_pyarrow_table()
    assert sorted(others["log_offset"].to_pylist()) == offsets
    assert read.where("snapshot is not null").count(), "decided by a snapshot that tasks fetched"
    assert status(recorder.data, storage).tables["notifications"] == 7
    assert not (recorder.data / "tables").exists()


def test_what_waits_for_one_place_is_not_taken_to_another(
    recorder: "Recorder", spark: SparkSession, options: dict[str, str]
) -> None:
    fill(recorder, 4)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Outbox, "unstage", lambda self, last: None)
        catch_up(spark, RunSettings(recorder.data, once=True))
    elsewhere = RunSettings(recorder.data, once=True, storage=Storage.at("s3://bucket/moved", options))
    with pytest.raises(PipelineError, match=f"--tables {recorder.data}/tables first"):
        catch_up(spark, elsewhere)
    catch_up(spark, RunSettings(recorder.data, once=True))
    recorder.raw("a")
    recorder.save()
    catch_up(spark, elsewhere)
    assert status(recorder.data, elsewhere.storage).tables["matches"] == 1


@pytest.mark.long
@pytest.mark.kills
def test_killed_between_two_tables_of_an_object_store(recorder: "Recorder", options: dict[str, str]) -> None:
    """Options by the environment at first, then by the command; the place is known from before."""
    fill(recorder, 29)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in options.items():
            patched.setenv(name, value)
        patched.setenv("TABLES", "s3://bucket/killed")
        with child(recorder.data, "0", "between tables", "1") as process:
            assert process.wait(SECONDS) == -signal.SIGKILL, process.stderr and process.stderr.read()
    wait_until(lambda: not processes_of(recorder.data))
    given = [word for pair in options.items() for word in ("--tables-option", "=".join(pair))]
    done = tocsin("pipeline", "run", "--once", "--json", "--rows", "10", "--data", str(recorder.data), *given)
    assert done.returncode == 0, done.stderr
    told = tocsin("pipeline", "status", "--json", "--data", str(recorder.data), *given)
    rows = {name: count for name, count in json.loads(told.stdout)["tables"].items() if count}
    assert rows == {"notifications": 29, "matches": 29}
    for table in ("notifications", "matches"):
        rows = reading.scan(Storage.at("s3://bucket/killed", options), table)["log_offset"].to_pylist()
        assert sorted(rows) == [*range(1, 30)]
    assert outbox_offsets(recorder.data) == [*range(1, 30)]
    assert SECRET not in done.stdout + done.stderr + told.stdout + told.stderr
    assert not any(SECRET.encode() in each.read_bytes() for each in recorder.data.rglob("*") if each.is_file())
