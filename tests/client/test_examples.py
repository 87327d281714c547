"""Every example runs as it stands, and the documentation names it."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole.shell import BrokerProcess, environment

ROOT = Path(__file__).parents[2]
PRINTED = {
    "publish": "cloudevents: accepted as urn:uuid:",
    "listen": 'listened/level: {"river": "Inn"} in application/json',
    "pull": "pulled/severe: <alert>Ilz</alert>",
    "manage": "WS-Eventing 2004/08 has no Pause; these have: wsn-1.3",
    "current": "the last level is <level>423</level>",
    "register": "no longer registered",
    "implicit": 'the pilot hears of Storm: {"beaufort":11}',
    "acknowledge": "2 of 3 confirm, 1 do not (deadline)",
    "query": "54 beds are free: 2 x 12, 1 x 0, 1 x 30",
    "site_select": "6 of 8 sites are meant\n2 x success\n1 x exception\n1 x needs a restart\n",
    "crisis_desk": "beds: 12, 40; 1 of 3 outstanding",
    "without_a_loop": "blocking/severe: <alert>Passau</alert>",
}


def test_each_example_is_tested_and_documented() -> None:
    found = {each.stem for each in (ROOT / "examples").glob("*.py")}
    assert found == PRINTED.keys()
    words = (ROOT / "docs" / "python.md").read_text()
    assert not [each for each in found if f"(../examples/{each}.py)" not in words]


@pytest.mark.broker
@pytest.mark.parametrize("name", PRINTED)
def test_an_example(broker: BrokerProcess, name: str) -> None:
    command = (sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py"), broker.url)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout
    assert done.stderr == ""
