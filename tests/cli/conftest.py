import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import TOCSIN


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """The address of a node of its own, which must end cleanly when told to."""
    command = (*TOCSIN, "serve", "--workers", "1", "--port", "0", "--data", str(tmp_path / "data"), "--json")
    fast = ("--set", "delivery-attempts=2", "--set", "delivery-first-backoff=20ms")
    with subprocess.Popen((*command, *fast), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said: dict[str, Any] = json.loads(process.stdout.readline())
            yield said["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            _, words = process.communicate(timeout=120)
        assert process.returncode == 0, words
