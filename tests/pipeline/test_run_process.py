"""The job as a process: what it tells, how it ends, and that being killed costs and repeats nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession

from tocsin.pipeline import tables
from tocsin.pipeline.batch import Batches, PublishedBatch
from tocsin.pipeline.run import RunSettings, start
from tocsin.pipeline.status import status
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark

CHILD = Path(__file__).with_name("run_child.py")
SECONDS = 90.0


def wait_until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not met():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


@contextmanager
def child(data: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILD), str(data), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def events(process: subprocess.Popen[str], until: str) -> list[dict[str, Any]]:
    """What the process tells, up to the first event of that name."""
    assert process.stdout is not None
    found: list[dict[str, Any]] = []
    for line in process.stdout:
        found.append(json.loads(line))
        if found[-1]["event"] == until:
            return found
    raise AssertionError(f"no {until} in {found}")


def processes_of(data: Path) -> list[int]:
    """Those that have the directory in their command line: the job and its JVM, whose scratch space is there."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(data).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def fill(recorder: "Recorder", count: int) -> None:
    recorder.subscribe("s", "a")
    for _ in range(count):
        recorder.raw("a")
    recorder.save()


@pytest.mark.long
@pytest.mark.kills
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_publishing_every_row_is_there_once(when: str, recorder: "Recorder", spark: SparkSession) -> None:
    """Batch 1 of 3 is written to the tables, and its process killed before, or just after, it is published."""
    fill(recorder, 29)
    with child(recorder.data, "0", when, "1") as process:
        assert process.wait(SECONDS) == -signal.SIGKILL
    wait_until(lambda: not processes_of(recorder.data))
    assert tables.files(recorder.data, "matches", {1}), "killed with the tables of the batch on disk"
    assert status(recorder.data).batches == (1 if when == "before" else 2)
    done: list[PublishedBatch] = []
    with closing(Outbox.open(recorder.data / "outbox.db")) as outbox:
        again = Batches(recorder.data, outbox, deliver=True, done=done.append)
        query = start(spark, RunSettings(recorder.data, rows=10, once=True), again)
        assert query.awaitTermination(60)
        sent = [delivery.at.offset for _, delivery in outbox.pending(0, 100)]
    assert [(each.id, each.repeated) for each in done] == [(1, when == "after"), (2, False)]
    assert sent == [*range(1, 30)]
    for table in ("notifications", "matches"):
        assert tables.scan(recorder.data, table).column("offset").to_pylist() == [*range(1, 30)]
    assert not [*recorder.data.glob("tables/deliveries/*/*")]


@pytest.mark.long
def test_it_tells_what_it_does_and_stops_when_told_to(recorder: "Recorder") -> None:
    fill(recorder, 4)
    with child(recorder.data, "0") as process:
        told = events(process, "batch")
        assert [each["event"] for each in told if each["event"] != "ready"] == ["starting", "batch"]
        counts = {"id": 0, "rows": 5, "notifications": 4, "matches": 4, "deliveries": 4, "history": 0, "errors": 0}
        assert told[-1].items() >= counts.items()
        process.send_signal(signal.SIGTERM)
        assert events(process, "stopped")[-1] == {"event": "stopped"}
        assert process.wait(SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    wait_until(lambda: not processes_of(recorder.data))
    assert not (recorder.data / "scratch").exists()


@pytest.mark.long
def test_damage_ends_it_with_one_sentence(recorder: "Recorder") -> None:
    fill(recorder, 4)
    segment = next((recorder.data / "log").glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[-5] ^= 1
    segment.write_bytes(content)
    with child(recorder.data, "0") as process:
        failed = events(process, "failed")[-1]
        assert process.wait(SECONDS) == 1
        assert process.stderr is not None
        assert process.stderr.read() == f"{failed['reason']}\n"
    assert f"{segment} is damaged" in failed["reason"]


@pytest.mark.long
def test_when_its_parent_is_killed_it_ends_and_so_does_the_jvm(recorder: "Recorder") -> None:
    fill(recorder, 4)
    script = (
        "import os, subprocess, sys\n"
        "sys.exit(subprocess.run([sys.executable, sys.argv[1], sys.argv[2], str(os.getpid())]).returncode)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(CHILD), str(recorder.data)], stdout=subprocess.PIPE, text=True
    )
    try:
        events(parent, "batch")
        assert len(processes_of(recorder.data)) >= 3
        os.kill(parent.pid, signal.SIGKILL)
        assert events(parent, "stopped")
        wait_until(lambda: not processes_of(recorder.data))
    finally:
        parent.kill()
        parent.communicate()
