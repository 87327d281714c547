"""The examples of docs/python.md, run."""

import re
import textwrap
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")


async def run_example(heading: str, broker: str) -> None:
    """The first under that heading."""
    example = re.findall(r"```python\n(.*?)```", PAGE.partition(f"## {heading}\n")[2], re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(f"async def documented():\n{textwrap.indent(example.replace('http://127.0.0.1:8080', broker), '    ')}", names)
    await names["documented"]()
