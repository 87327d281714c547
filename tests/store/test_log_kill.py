"""An acknowledged record is there after SIGKILL, at whatever moment."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tocsin.store.log.appender import Appender
from tocsin.store.log.reader import LogReader

CHILD = Path(__file__).with_name("appending_child.py")


def record(number: int) -> bytes:
    return b"record %d " % number * (1 + number % 300)


def append_and_kill(directory: Path, acknowledgements: int) -> Iterator[int]:
    """What the child said before it was killed; the last line may be cut."""
    command = [sys.executable, str(CHILD), "forever", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(acknowledgements):
            yield int(child.stdout.readline())
        child.kill()
        yield from (int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith(b"\n"))


@pytest.mark.kills
def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    dice, end = random.Random(20), 0
    for _ in range(8):
        acknowledged = list(append_and_kill(tmp_path, dice.randrange(1, 1500)))
        assert sorted(acknowledged) == list(range(end, end + len(acknowledged)))
        Appender.open(tmp_path, segment_bytes=200_000).close()
        reader = LogReader(tmp_path)
        assert reader.end() >= end + len(acknowledged)
        assert all(payload == record(offset) for offset, payload in reader.frames(end, reader.end()))
        end = reader.end()
    assert [offset for offset, _ in LogReader(tmp_path).frames(0, end)] == list(range(end))
