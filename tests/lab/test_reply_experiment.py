"""The experiment on replies in the small: what it says is measured, and the formulas stand beside it."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.lab import experiment
from tocsin.lab.experiments import _reply_paces, _reply_points, _reply_processes, _reply_trees
from tocsin.lab.experiments._reply_points import Task, heights, measured, points, tasks
from tocsin.routing.reply import costs
from tocsin.routing.reply.trees import FullTree


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> experiment.Report:
    chosen = {"receivers": "300", "workers": "0", "trees": "3", "real": "0"}
    out = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_reply_trees, "NODES", 200)
        patch.setattr(_reply_paces, "MESSAGES", 20)
        return experiment.run("reply", out=out, progress=lambda text: None, chosen=chosen)


def table(report: experiment.Report, title: str) -> list[dict[str, Any]]:
    found = next(each for each in report.tables if title in each.title)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_tables_and_pictures(report: experiment.Report) -> None:
    titles = [each.title for each in report.tables]
    assert len(titles) == len(set(titles)) == 1 + 8 + 4
    for findings in report.tables:
        assert findings.rows and len(set(findings.columns)) == len(findings.columns)
        assert all(len(row) == len(findings.columns) for row in findings.rows)
    names = ["reply-table-1.png", "reply-averages.png", "reply-time.png"]
    assert [Path(each).name for each in report.figures] == names
    assert all(Path(each).read_bytes()[:4] == b"\x89PNG" for each in report.figures)


def test_messages_are_those_of_the_formulas(report: experiment.Report) -> None:
    rows = table(report, "whole trees")
    assert {row["b"] for row in rows} == {2, 3, 4, 5}
    assert {row["algorithm"] for row in rows} == {"dispatcher", "message", "mixed"}
    for row in rows:
        tree = FullTree(row["b"], row["h"])
        if row["algorithm"] == "mixed":
            assert tree.edges < row["reply messages"] < tree.receivers * tree.height
        else:
            assert row["reply messages"] == row["formula"]
        assert row["outstanding"] == ("?" if row["algorithm"] == "message" else 0)
    assert {row["|P|"] > row["|R|"] for row in rows} == {True, False}


@pytest.mark.parametrize("branching", _reply_points.BRANCHINGS)
def test_each_depth_stands_beside_its_formula(report: experiment.Report, branching: int) -> None:
    sent = table(report, f"Table 1, b = {branching}, h = {heights(branching, 300)[-1]}, |R|")
    assert [row["depth"] for row in sent] == list(range(len(sent)))
    assert {row["messages: disp."] for row in sent[1:]} == {1.0}
    kept = next(each for each in report.tables if f"b = {branching}," in each.title and "keeps" in each.title)
    for row in kept.rows:
        few, bound, many, behind, passing, formula = row[1:7]
        assert isinstance(few, float) and isinstance(bound, int) and few <= bound
        assert isinstance(many, float) and isinstance(behind, int) and 0.8 * behind <= many <= behind
        assert isinstance(passing, float) and isinstance(formula, int) and passing <= formula


def test_averages_follow_the_corrected_formulas(report: experiment.Report) -> None:
    for row in table(report, "Averages"):
        assert row["disp., many"] == pytest.approx(row["corrected"], rel=0.1)
        assert row["as printed"] * (row["b"] - 1) == pytest.approx(row["corrected"])
        assert 0.5 * row["corrected "] < row["mess."] < row["corrected "]


def test_merging_takes_as_long_as_telling_and_the_others_wait_at_the_root(report: experiment.Report) -> None:
    rows = table(report, "Reply time")
    assert {row["besides µs"] for row in rows} == {0.0, 100.0}
    busy = rows[-1]
    assert busy["dispatcher / told"] < 2.5 < busy["naive / told"] < busy["message / told"]


def test_trees_are_classed(report: experiment.Report) -> None:
    rows = table(report, "reservation")
    part, held, deeper, grown = rows
    assert part["preserving"] == 3 and part["largest overload"] == 1
    assert held["too wide"] == 0 and held["too deep"] > 0
    assert deeper["preserving"] >= held["preserving"]
    assert grown["preserving"] == 0 and grown["too wide"] == 3


def test_heights_of_about_each_size() -> None:
    assert heights(2, 1_000_000) == [10, 13, 16, 20]
    assert [5**height for height in heights(5, 10_000)] == [625, 3125]


def test_large_trees_are_run_for_what_matters_alone() -> None:
    asked = list(tasks(1_000_000, 10, 1))
    large = [each for each in asked if each.tree.receivers > 500_000 and each.many]
    assert {each.algorithm for each in large} == {"dispatcher"}
    assert asked[0].tree == max((each.tree for each in asked), key=lambda tree: tree.dispatchers)


def test_processes_side_by_side_find_the_same() -> None:
    asked = [Task(name, FullTree(2, 5), False, 4, 1) for name in ("dispatcher", "mixed")]
    apart = points(asked, 1, lambda text: None)
    assert [each.by_depth for each in apart] == [measured(each).by_depth for each in asked]


def test_the_mean_is_of_what_was_sent() -> None:
    tree = FullTree(2, 6)
    merging, passing = (measured(Task(name, tree, True, 10**9, 1)) for name in ("dispatcher", "message"))
    assert merging.mean_entries == pytest.approx(costs.mean_linear(tree))
    assert passing.mean_entries == costs.plan("message", tree, costs.Load(1, 1, 5)).edge.entries.mean


def test_a_pace_is_measured() -> None:
    found = _reply_paces.measured_paces(1000, repeated=2)
    assert found.link == 1000
    assert found.reply.message > 0 and found.single.message > 0 and found.merge.byte > 0


@pytest.mark.long
def test_over_processes_both_ways_get_all_replies() -> None:
    merged, naive = _reply_processes.measured(14)
    assert merged.receivers == naive.receivers == 14
    assert merged.told > 0 and merged.replied > 0 and 0 < naive.told <= naive.replied + naive.told
