"""`pipeline simulate` beside the machines, as a command; `tocsin lab run simulate` has ten thousand services."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import process

from tocsin.lab.experiments.simulate import COLUMNS, Compared, findings
from tocsin.pipeline.simulate import Simulated, Simulation
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.sim.counting import Count


@pytest.mark.long
@pytest.mark.spark
def test_both_count_the_same(tmp_path: Path) -> None:
    sizes = ("--set", "services=400", "--set", "limit=3")
    done = process("lab", "run", "simulate", *sizes, "--out", str(tmp_path), "--json")
    (table,) = json.loads(done.stdout)["tables"]
    assert table["notes"] == ["All counts are equal."] and table["title"].startswith("400 services in")
    rows, figures = table["rows"], slice(2, len(COLUMNS) - 1)
    assert len(rows) == 2 * len(PROTOCOLS)
    for simulated, machines in zip(rows[::2], rows[1::2], strict=True):
        assert simulated[figures] == machines[figures] and simulated[4] > 100
    skipped = dict(zip(PROTOCOLS, (each[6] for each in rows[1::2]), strict=True))
    assert skipped["bin"] > 0 and skipped["hin"] > 0, "the limit was felt"


def test_a_difference_is_told() -> None:
    one, other = Count(3, 1, 2), Count(4, 2, 2)
    result = Simulated("r", "t", "din", 3, 1, 2, 0, 0, 0, 0, 2, 0.1)
    found = findings(
        Simulation("", 9, 2, 2, 1, [result]),
        [Compared("din", one, one, (0.1, 0.2)), Compared("hin", one, other, (0.1, 0.2))],
    )
    assert found.notes == ("Not equal: HIN.",)
    assert [row[:3] for row in found.rows[2:]] == [("HIN", "simulate", 3), ("HIN", "the machines", 4)]
