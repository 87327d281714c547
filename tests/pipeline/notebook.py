"""Runs docs/notebook.md: its blocks as one program, in a session that its reader made.

`python -m tests.pipeline.notebook` writes what was printed into the page.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.whole.shell import BrokerProcess, environment

PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
_CUT = "\f"
_QUIET = "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 pyspark-shell"


def printed(page: str, place: Path) -> list[str]:
    """What each block prints. The clock is not that of UTC, nor the environment that of our own jobs."""
    broker = BrokerProcess.start(place / "data")
    try:
        program = f"\nprint({_CUT!r}, end='')\n".join(block for block, _ in BLOCK.findall(page))
        program = program.replace("127.0.0.1:8080", f"127.0.0.1:{broker.port}")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        mine = {"PATH": path, "TZ": "Asia/Tokyo", "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": _QUIET}
        given = {name: value for name, value in environment().items() if not name.startswith("PYSPARK_")} | mine
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, cwd=place, env=given, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr[-4000:]
        return [tidy(each) for each in done.stdout.split(_CUT)]
    finally:
        broker.kill()


def tidy(text: str) -> str:
    """Without the empty lines that Spark puts behind its tables."""
    return text.rstrip("\n") + "\n" if text.strip() else ""


def written(page: str, outputs: list[str]) -> str:
    found = iter(outputs)

    def block(match: re.Match[str]) -> str:
        text = next(found)
        return f"```python\n{match[1]}```\n" + (f"\n```text\n{text}```\n" if text else "")

    return BLOCK.sub(block, page)


if __name__ == "__main__":
    page = PAGE.read_text("utf-8")
    with TemporaryDirectory() as folder:
        PAGE.write_text(written(page, printed(page, Path(folder))), "utf-8")
