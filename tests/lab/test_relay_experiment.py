"""The experiment on relay on demand in the small: what it counts adds up, and nothing is hidden."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.lab import experiment
from tocsin.lab.experiments import relay as relay_experiment
from tocsin.lab.experiments._relay_points import Point, Workload, crossing, measured


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> experiment.Report:
    chosen = {"topics": "4", "longest": "10", "notifications": "40"}
    fewer = {"SHARES": (0.0, 0.5, 1.0), "CHANGES": (0.05, 0.3, 1.0), "LEASES": (1.0, 10.0), "RATES": (1.0, 10.0)}
    with pytest.MonkeyPatch.context() as patch:
        for name, values in fewer.items():
            patch.setattr(relay_experiment, name, values)
        out = tmp_path_factory.mktemp("lab")
        return experiment.run("relay", out=out, progress=lambda text: None, chosen=chosen)


def rows(report: experiment.Report, title: str) -> list[dict[str, Any]]:
    found = next(each for each in report.tables if title in each.title)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_tables_and_picture(report: experiment.Report) -> None:
    assert [len(each.rows) for each in report.tables] == [3 * 5, 2 * 3, 2 * 2]
    assert all(each.notes for each in report.tables)
    assert [Path(each).name for each in report.figures] == ["relay-messages.png"]
    assert Path(report.figures[0]).read_bytes()[:4] == b"\x89PNG"


def test_counts_add_up_and_nothing_is_hidden(report: experiment.Report) -> None:
    for row in [*rows(report, "all the time"), *rows(report, "half of the time")]:
        assert row["with"] == row["relayed"] + row["told"] + row["ends told"]
        assert row["as in paper"] == row["with"] + 2 * row["asked"]
        assert row["asked"] <= row["relayed"] <= row["without"]
        assert row["hidden"] == 0


def test_what_is_wanted_is_all_relayed_and_what_is_not_hardly(report: experiment.Report) -> None:
    for row in rows(report, "all the time"):
        assert row["without"] == 4 * row["notifications a topic"]
        wanted = row["wanted"] * row["without"]
        assert wanted <= row["with"] <= wanted + 3 * 4
        assert row["asked"] == 4, "once a lease and a topic"


def test_it_pays_while_subscriptions_seldom_change(report: experiment.Report) -> None:
    for row in rows(report, "half of the time"):
        assert (row["with / without"] < 1) is (row["changes a notification"] < 0.4)
        assert row["told"] + row["ends told"] <= 2 * row["asked"] + 2 * row["publishers"] * 4


def test_a_longer_lease_saves_more_and_makes_subscribers_wait_longer(report: experiment.Report) -> None:
    busy = [row for row in rows(report, "How long") if row["notifications a second"] == 10]
    ratios = [row["with / without"] for row in busy]
    assert ratios == sorted(ratios, reverse=True) and ratios[-1] < 0.05
    assert [row["longest wait of a subscriber s"] for row in busy] == [1.1, 11.0]


def test_the_same_seed_counts_the_same() -> None:
    workload = Workload(3, 20, changes=0.3)
    assert measured(workload, 5) == measured(workload, 5)


def test_the_crossing_lies_between_two_points() -> None:
    def point(changes: float, relays: int) -> Point:
        return Point(Workload(1, 100, changes=changes), 100, relays, 0, 0, 0, 0, 0)

    assert crossing([point(1.0, 150), point(0.01, 50)], "ratio") == pytest.approx(0.1)
    assert crossing([point(1.0, 90), point(0.01, 50)], "ratio") is None
