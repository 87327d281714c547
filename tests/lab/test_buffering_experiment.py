"""The experiment on buffering in the small: what it measures lies between the bounds, and where the paper says."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tocsin.lab import experiment
from tocsin.lab.experiments import _buffering_flows as flows
from tocsin.routing.ring.buffering import OVERHEAD, BufferManager


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> experiment.Report:
    chosen = {"seconds": "20", "course": "60", "step": "5"}
    return experiment.run("buffering", out=tmp_path_factory.mktemp("lab"), progress=lambda text: None, chosen=chosen)


def table(report: experiment.Report, title: str) -> list[dict[str, Any]]:
    found = next(each for each in report.tables if title in each.title)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_tables_and_pictures(report: experiment.Report) -> None:
    titles = [each.title for each in report.tables]
    assert len(titles) == len(set(titles)) == 3 + 4
    for findings in report.tables:
        assert findings.rows and findings.notes and len(set(findings.columns)) == len(findings.columns)
        assert all(len(row) == len(findings.columns) for row in findings.rows)
    assert [Path(each).name for each in report.figures] == ["buffering-flows.png", "buffering-course.png"]
    assert all(Path(each).read_bytes()[:4] == b"\x89PNG" for each in report.figures)


def test_what_is_measured_lies_between_the_bounds(report: experiment.Report) -> None:
    rows = [row for cost in (OVERHEAD, flows.cost_of(flows.WSN).once) for row in table(report, f"{cost:,} bytes a")]
    assert {row["payload B"] for row in rows} == set(flows.PAYLOADS)
    for row in rows:
        assert row["period ms, least"] <= row["measured"] <= row["most"]
        assert row["overhead kbit/s, least"] <= row["measured "] <= row["most "]
        assert abs(row["measured"] - row["by the equations"]) <= 1000 / row["rate /s"] + 1
        if row["rate /s"] == 1:
            assert row["measured"] == row["mean wait ms"] == row["saved %"] == 0


def test_small_payloads_wait_longer_and_save_more(report: experiment.Report) -> None:
    fast = [row for row in table(report, f"{OVERHEAD:,} bytes a") if row["rate /s"] == 20]
    assert [row["payload B"] for row in fast] == sorted(flows.PAYLOADS)
    for name in ("measured", "saved %", "in a group"):
        assert [row[name] for row in fast] == sorted((row[name] for row in fast), reverse=True)
    assert fast[0]["saved %"] == 95


def test_the_373_seconds(report: experiment.Report) -> None:
    findings = next(each for each in report.tables if "lowest period" in each.title)
    assert [row[1] for row in findings.rows] == [296, 301, 373]
    assert '"373 seconds" is milliseconds; with 3.5 KB the formula gives about 300 ms.' in findings.notes[0]
    needed = next(row[0] for row in findings.rows if row[1] == 373)
    assert isinstance(needed, int) and 5100 < needed < 5200


def test_the_threshold_keeps_the_period_still(report: experiment.Report) -> None:
    for row in table(report, "Fig. 5"):
        assert row["changes"] < 20 < row["without threshold"]
        assert row["longest wait ms"] <= 1000 and row["saved %"] > 50


def test_a_burst_holds_nothing_that_comes_alone(report: experiment.Report) -> None:
    ours, counting = table(report, "One notification each 2 s")
    assert ours["held in vain"] == 0 < counting["held in vain"]


def test_what_messages_cost_is_what_is_written(report: experiment.Report) -> None:
    rows = {row["form"]: row for row in table(report, "Bytes of a message")}
    assert [name for name, row in rows.items() if row["takes several"] == "yes"] == [
        "wsn-1.3, Notify", "wsn-1.2, Notify", "wsn-1.0, Notify", "cloudevents, batch", "between nodes",
    ]  # fmt: skip
    assert all(row["in all"] == row["once a message"] + row["with each notification"] for row in rows.values())
    assert 300 < rows["wsn-1.3, Notify"]["once a message"] < OVERHEAD


def test_groups_go_when_their_manager_says() -> None:
    arrivals = [flows.Arrival(number / 10, 10) for number in range(300)]
    found = list(flows.groups(BufferManager(1.0), arrivals))
    assert [came for each in found for came in each.came] == [each.at for each in arrivals]
    assert all(came <= each.went <= each.came[0] + 1.0 for each in found for came in each.came)


def test_the_producers_are_those_of_the_seed() -> None:
    first, again, other = (flows.many_producers(Random(seed), 32, 50) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) / 50 == pytest.approx(32 / 2.5, rel=0.15)
    assert {each.size for each in first} <= set(range(10, 501))


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(experiment.UnknownChoice, match="above zero"):
        experiment.run("buffering", out=tmp_path, progress=lambda text: None, chosen={"step": "0"})
