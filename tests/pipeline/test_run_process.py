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
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up, rows_of

from tocsin.pipeline.run import RunSettings
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


def outbox_offsets(data: Path) -> list[int]:
    """Of all deliveries, when nothing waits for the tables any more."""
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        assert outbox.staged() == []
        return [delivery.at.offset for _, delivery in outbox.pending(0, 100_000)]


POINTS = ["before rows", "before", "after", "between tables"]
COMPACTION = ["before compaction", "during compaction", "after compaction"]


@pytest.mark.long
@pytest.mark.kills
@pytest.mark.parametrize("when", [*POINTS, *COMPACTION])
def test_killed_anywhere_every_row_is_there_once(when: str, recorder: "Recorder", spark: SparkSession) -> None:
    """Batch 1 of 3 is killed around its publishing, or the tables' commits around theirs."""
    fill(recorder, 29)
    with child(recorder.data, "0", when, "1") as process:
        assert process.wait(SECONDS) == -signal.SIGKILL
    wait_until(lambda: not processes_of(recorder.data))
    done = catch_up(spark, RunSettings(recorder.data, rows=10, once=True))
    if when in ("before", "after"):
        assert [(each.id, each.repeated) for each in done] == [(1, when == "after"), (2, False)]
    assert outbox_offsets(recorder.data) == [*range(1, 30)]
    for table in ("notifications", "matches"):
        assert sorted(row["log_offset"] for row in rows_of(recorder.data, table)) == [*range(1, 30)]
    assert not [*recorder.data.glob("tables/deliveries/*/*")]


def test_what_would_double_does_double(recorder: "Recorder", spark: SparkSession) -> None:
    """The control: without the tables' transaction version, a commit that is repeated writes its rows twice."""
    fill(recorder, 4)
    settings = RunSettings(recorder.data, rows=10, once=True)
    kept: list[tuple[int, bytes]] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Outbox, "unstage", lambda self, last: kept.extend(self.staged()))
        catch_up(spark, settings)
        catch_up(spark, settings)
        assert len(rows_of(recorder.data, "matches")) == 4, "known by its version"
        patched.setattr(DeltaTable, "transaction_version", lambda self, application: None)
        catch_up(spark, settings)
    assert kept and len(rows_of(recorder.data, "matches")) > 4, "at each commit, of which there may be several"


@pytest.mark.long
def test_it_tells_what_it_does_and_stops_when_told_to(recorder: "Recorder") -> None:
    fill(recorder, 4)
    with child(recorder.data, "0") as process:
        told = events(process, "batch")
        assert [each["event"] for each in told if each["event"] != "ready"] == ["starting", "batch"]
        counts = {"id": 0, "rows": 5, "notifications": 4, "matches": 4, "deliveries": 4, "history": 0, "quarantine": 0}
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
