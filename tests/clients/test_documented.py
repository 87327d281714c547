"""What docs/clients.md shows: each program runs as it stands, and prints what stands below it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.whole.shell import BrokerProcess, environment

pytestmark = pytest.mark.clients

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess.start(tmp_path / "data")
    yield process
    process.kill()


@pytest.mark.parametrize(("program", "printed"), PROGRAMS, ids=[f"program {at + 1}" for at in range(len(PROGRAMS))])
def test_program(program: str, printed: str, alone: BrokerProcess, tmp_path: Path) -> None:
    here = program.replace("localhost:8080", f"127.0.0.1:{alone.port}").replace(
        '"localhost", 8080', f'"127.0.0.1", {alone.port}'
    )
    assert here != program
    words = [sys.executable, "-c", here]
    ended = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, printed), ended.stderr
