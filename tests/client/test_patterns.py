"""Every scenario of the paper's interaction taxonomy runs as it stands, and docs/patterns.md names it."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.inside import inside
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, environment

from tocsin.routing.interaction import PATTERNS

ROOT = Path(__file__).parents[2]
FOLDER, PAGE = ROOT / "examples" / "patterns", (ROOT / "docs" / "patterns.md").read_text("utf-8")
PRINTED = {
    "pipes_and_filters": ("push-1:1-explicit", "the desk sees: smoke\n"),
    "hierarchical": ("push-1:1-explicit", "headquarters hear of the highest level only: 423\n"),
    "publish_subscribe": ("push-1:n-explicit", "told: Ann Trader, Ben Trader\n"),
    "own_rule": ("push-1:1-implicit", 'told: Fire Brigade; it got {"floor":3} from Town Hall\n'),
    "interest_graph": ("push-1:n-implicit", "told in the end: Institute, Radio, Red Cross, with 0 repetitions\n"),
    "get_event": ("pull-1:1-explicit", 'the desk is answered {"free":12}\n'),
    "polling": ("pull-1:1-explicit", "polled: 410, 423\nand the last is 423\n"),
    "thin_notice": ("pull-1:1-explicit", "fetched 500000 bytes of video/mp4\n"),
    "atomic_commit": ("pull-1:n-explicit", "Flight: commit\nHotel: commit\nCar: commit\n"),
    "travel_agency": ("pull-1:1-implicit", "the traveller hears: booked, gate B12, cancelled\n"),
    "deans_office": ("pull-1:n-implicit", "told: Physics, Computer Science, Mathematics\n"),
    "lab_results": ("pull-1:n-implicit", "a doctor of another patient has 0 results\n"),
}


def test_each_scenario_is_tested_and_documented() -> None:
    assert {each.stem for each in FOLDER.glob("*.py")} == PRINTED.keys()
    assert not [each for each in PRINTED if f"(../examples/patterns/{each}.py)" not in PAGE]
    assert {pattern for pattern, _ in PRINTED.values()} == PATTERNS.keys()


@pytest.mark.parametrize("name", PATTERNS)
def test_each_pattern_has_its_row_and_its_section(name: str) -> None:
    pattern = PATTERNS[name]
    row = re.search(rf"^\| \[`{name}`\]\(#(\S+)\) \| (\S+) \| (.+?) \|", PAGE, re.MULTILINE)
    assert row is not None
    assert (row[2], row[3]) == (pattern.figure, pattern.says)
    assert f"\n## {name}\n" in PAGE
    assert row[1] == name.replace(":", "")


@pytest.mark.broker
@pytest.mark.parametrize("name", PRINTED)
def test_a_scenario(broker: BrokerProcess, name: str) -> None:
    command = (sys.executable, "-W", "error", str(FOLDER / f"{name}.py"), broker.url)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert PRINTED[name][1] in done.stdout
    assert done.stderr == ""


BLOCK = re.compile(r"```(sh|text|json|python)\n(.*?)```", re.DOTALL)
VARYING = re.compile(r"\b[0-9a-f]{32}(:\d+:[0-9a-f]{16})?\b|urn:uuid:[0-9a-f-]{36}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def test_the_code_on_the_page_is_from_the_examples() -> None:
    examples = [re.sub(r"^ +", "", each.read_text("utf-8"), flags=re.MULTILINE) for each in FOLDER.glob("*.py")]
    for kind, code in BLOCK.findall(PAGE):
        plain = re.sub(r"^ +", "", code, flags=re.MULTILINE)
        assert kind != "python" or any(plain in each for each in examples), code


@pytest.mark.broker
def test_the_commands_on_the_page_say_what_is_written(tmp_path: Path, start: Start) -> None:
    broker = start(tmp_path / "data")
    spoken, request = "", ""
    for kind, text in BLOCK.findall(PAGE):
        if kind == "json":
            (tmp_path / "world.json").write_text(text)
        elif kind == "text":
            assert tidy(spoken).endswith(tidy(text)), text
        for line in text.splitlines() if kind == "sh" else ():
            words = shlex.split(line.replace("$ID", request).replace("world.json", str(tmp_path / "world.json")))
            done = inside(*words[1:], "--broker", broker.url)
            spoken = done.stdout + done.stderr
            found = re.search(r"request ([0-9a-f]{32})\b", spoken)
            request = found[1] if found else request


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in VARYING.sub("...", text).strip().splitlines())
