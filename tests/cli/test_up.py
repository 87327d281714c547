"""up: the platform from start to drained."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.commands import TOCSIN
from tests.cli.commands import process as tocsin
from tests.effort import brief


@pytest.mark.spark
@pytest.mark.parametrize("engine", brief(["spark", "embedded"]))
def test_up_with_the_demo_ends_by_itself_and_sums_up(tmp_path: Path, engine: str) -> None:
    said = tocsin(
        "up", "--demo", "--for", "3s", "--json", "--port", "0", "--engine", engine, "--data", str(tmp_path / "d")
    )
    summary = json.loads(said.stdout)
    assert summary["published"] > 0
    assert summary["delivered"] == summary["matched"] > summary["published"]
    assert set(summary["by_dialect"]["in"]) == set(summary["by_dialect"]["out"]) == DIALECTS
    assert sum(summary["by_dialect"]["out"].values()) == summary["delivered"]
    assert summary["dead_letters"] == 0
    assert summary["pipeline"]["batches"] > 0
    assert summary["pipeline"]["rows"] >= summary["published"]
    assert "Traceback" not in said.stderr


DIALECTS = {"wsn-1.3", "wse-2004-08", "cloudevents"}


@pytest.mark.long
@pytest.mark.spark
def test_ctrl_c_stops_it_cleanly_and_leaves_no_process(tmp_path: Path) -> None:
    command = (*TOCSIN, "up", "--demo", "--port", "0", "--data", str(tmp_path / "d"))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        while "delivered" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=250)
    assert process.returncode == 0
    assert "summary" in words
    assert not _processes_on(tmp_path)


def _processes_on(folder: Path) -> list[str]:
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) != os.getpid():
            try:
                command = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in command:
                found.append(command)
    return found


def test_without_a_jdk_nothing_is_started(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    done = tocsin("up", "--data", str(folder), check=False, JAVA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "JDK 17" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not folder.exists()


def test_a_wrong_duration_is_told(tmp_path: Path) -> None:
    done = tocsin("up", "--for", "soon", "--data", str(tmp_path / "d"), check=False)
    assert done.returncode == 2
    assert "30s" in done.stderr
