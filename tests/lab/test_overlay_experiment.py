"""The experiment on rings in the small: all is measured, and the promises stand beside it."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.lab import experiment


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> experiment.Report:
    chosen = {"nodes": "100", "subscriptions": "25", "notifications": "40"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tocsin.sim.ring_costs.MOST_RUNNING", 4)
        patch.setattr("tocsin.lab.experiments.overlay.DIMENSIONS", (1, 3))
        return experiment.run("overlay", out=tmp_path_factory.mktemp("lab"), progress=lambda text: None, chosen=chosen)


def rows(report: experiment.Report, title: str) -> list[dict[str, Any]]:
    found = next(each for each in report.tables if title in each.title)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_tables_and_a_picture(report: experiment.Report) -> None:
    assert [Path(each).name for each in report.figures] == ["overlay-growth.png"]
    assert Path(report.figures[0]).read_bytes()[:4] == b"\x89PNG"
    assert [row["nodes"] for row in rows(report, "at rest")] == [10, 30, 100]
    assert [row["dimensions"] for row in rows(report, "by dimensions")] == [1, 3]


def test_promises_are_kept_at_every_size(report: experiment.Report) -> None:
    for row in (*rows(report, "at rest"), *rows(report, "by dimensions")):
        assert row["hops, mean"] <= row["½ log2 N"] + 1
        assert 1 <= row["touched / owners"] <= 1.3
        assert (row["recall"], row["duplicates"]) == (1.0, 0)
    for row in rows(report, "Load"):
        assert row["max / mean, by load"] < row["max / mean, by chance"]
