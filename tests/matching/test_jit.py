import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """
from tocsin.matching.jit import kernel

@kernel
def twice(number: int) -> int:
    return 2 * number

assert twice(4) == 8
"""


@pytest.mark.parametrize("is_there", [True, False], ids=["a cache of the user", "no cache at all"])
def test_a_kernel_beside_which_nothing_can_be_written(is_there: bool, tmp_path: Path) -> None:
    (tmp_path / "doubling.py").write_text(SOURCE)
    (tmp_path / "__pycache__").write_text("not a folder: nothing can be written into it, whoever we are")
    cache = tmp_path / "cache"
    if not is_there:
        cache.write_text("not a folder")
    run([sys.executable, "doubling.py"], tmp_path, XDG_CACHE_HOME=str(cache))
    assert bool([*cache.rglob("*.nbi")]) == is_there


def test_a_kernel_is_kept_beside_its_source(tmp_path: Path) -> None:
    (tmp_path / "doubling.py").write_text(SOURCE)
    run([sys.executable, "doubling.py"], tmp_path)
    assert [each.suffix for each in sorted((tmp_path / "__pycache__").glob("doubling.twice*"))] == [".nbc", ".nbi"]


def run(words: list[str], folder: Path, **more: str) -> None:
    subprocess.run(words, cwd=folder, env=os.environ | more, check=True)
