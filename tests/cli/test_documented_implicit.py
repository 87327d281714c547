"""docs/implicit.md: its files can be read, its commands run, its counts are those of the simulator."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.inside import inside

from tocsin.routing.implicit.notifier import MOST_NAMES
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.semantics.interest import ino as edge
from tocsin.semantics.interest import ino as service
from tocsin.semantics.interest import taxonomy, world_json
from tocsin.sim.implicit import LIMIT, disseminate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "implicit.md").read_text("utf-8")
FILES = dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines() if line.strip()
]


@pytest.mark.broker
def test_its_commands_run(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    assert len(FILES) == 7 and len(COMMANDS) > 20
    for line in COMMANDS:
        program, *words = shlex.split(line)
        assert program == "tocsin"
        inside(*words, *(() if words[0] == "implicit" else ("--broker", broker)))


def test_its_counts_are_those_of_the_simulator() -> None:
    rows = [row(path) for path in (ROOT / "examples" / "scenarios").glob("fig-*.json")]
    assert len(rows) == 6 and not [each for each in rows if each not in PAGE]


def row(path: Path) -> str:
    read = world_json.read(path.read_bytes())
    assert read.publish is not None
    world, told = read.world(), read.publish
    results = [disseminate(world, told.root, told.topic, name) for name in PROTOCOLS]
    counts = ["limit" if each.stopped else f"{each.notifications} ({each.repetitions})" for each in results]
    return f"| {' | '.join([path.stem, str(len(results[0].receivers)), *counts])} |\n"


def test_its_bounds_are_those_of_the_code() -> None:
    numbers = (taxonomy.LONGEST_NAME, taxonomy.DEEPEST, service.MOST_CATEGORIES, edge.MOST_VOTES, MOST_NAMES, LIMIT)
    table = PAGE.partition("| what | bound |")[2].partition("\n\n")[0]
    assert not [each for each in numbers if f"{each:,}" not in table]
