"""`tools/walk` sees a message from the door to the consumer."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[2]
pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def walks() -> dict[str, Any]:
    command = [sys.executable, "tools/walk", "--json", "notify", "notify-known"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP, timeout=240)
    assert done.returncode == 0, done.stderr
    return {walk["name"]: walk for walk in json.loads(done.stdout)["walks"]}


@pytest.mark.parametrize("name", ["notify", "notify-known"])
def test_a_notify_passes_the_folders_in_order(walks: dict[str, Any], name: str) -> None:
    files = [step["file"] for step in walks[name]["steps"]]
    stages = ("doors/soap.py", "broker/journal.py", "store/log/log.py", "matching/engine.py", "delivery/courier.py")
    places = [files.index(stage) for stage in stages]
    assert places == sorted(places)
    assert walks[name]["files"] == len(set(files))
    assert walks[name]["functions"] == len(files)


def test_a_known_envelope_takes_a_shorter_way(walks: dict[str, Any]) -> None:
    for figure in ("files", "functions", "switches", "packagings"):
        assert walks["notify-known"][figure] < walks["notify"][figure]
