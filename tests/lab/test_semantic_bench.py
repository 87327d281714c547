"""Small runs of the benchmark of graph patterns: that it measures what it says, not how fast anything is."""

import json
from math import isfinite
from pathlib import Path

import pytest

from tocsin.lab import bench
from tocsin.lab.bench import Timing
from tocsin.lab.benches import _graph_rivals, semantic
from tocsin.lab.benches._graph_cases import Start, warm_start
from tocsin.lab.benches._graph_rivals import BY_HOME, IGRAPH, OURS, OXIGRAPH, RUSTWORKX, against_rivals, stand
from tocsin.lab.benches._growth import HIERARCHIES, PAPER, Growth, apart, graph_growth
from tocsin.lab.experiment import EXPERIMENTS
from tocsin.lab.experiments import growth

SMALL = {
    "subscriptions": "60", "largest": "150", "changed": "60", "changes": "10", "events": "12",
    "vertexes": "200", "rounds": "1", "cold": "false",
}  # fmt: skip
KEYS = {"case", "ours", "unit", "rival", "rival_value", "ratio", "target", "met"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in a process of its own, few events."""
    monkeypatch.setattr(semantic, "apart", lambda measure, *arguments: measure(*arguments))
    monkeypatch.setattr(semantic, "warm_start", lambda: Start(0.2, 0.5, 0.6))
    monkeypatch.setattr(semantic, "RATED", 60)
    monkeypatch.setattr(semantic, "READ", 4)


@pytest.mark.usefixtures("quick")
def test_results_have_the_documented_keys() -> None:
    found = json.loads(bench.to_json(bench.run("semantic", seed=2, chosen=SMALL)))
    assert found.keys() == {"name", "machine", "versions", "seed", "results"}
    assert {"igraph", "rustworkx", "pyoxigraph", "numba"} <= found["versions"].keys()
    for result in found["results"]:
        assert result.keys() >= KEYS
        assert isfinite(result["ours"])
        assert (result["rival"] is None) == (result["ratio"] is None)
    assert {each["target"] for each in found["results"]} - {None} == {100, 1000, 1 / 15, 1}
    cases = {each["case"]: each for each in found["results"]}
    assert {"reading, Arrow, in bulk", "reading, XML, lifted", "2 classes, matches", "start, first match"} <= set(cases)
    assert cases["40 siblings, 41 are asked for"]["note"] == "right"
    assert "undecided" in cases["clique of 13, in one of 12"]["note"]


def test_a_rival_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_graph_rivals, "find_spec", lambda name: None if name == "igraph" else name)
    found = {str(each.rival): each for each in against_rivals(stand(1, 20, 4), 1)}
    assert list(found) == [IGRAPH + BY_HOME, RUSTWORKX + BY_HOME, IGRAPH, RUSTWORKX, OXIGRAPH]
    for name, each in found.items():
        assert (each.rival_value is None) == name.startswith("igraph") == ("igraph is not installed" in each.note)
        assert each.ours > 0


def test_a_rival_that_finds_others_does_not_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_graph_rivals, "found_by", lambda index, event, model: [-1])
    with pytest.raises(AssertionError):
        list(against_rivals(stand(1, 20, 4), 1))


def test_the_rivals_find_what_there_is() -> None:
    ours = stand(4, 150, 8)
    makers = _graph_rivals.MAKERS
    _graph_rivals.check_rivals(ours, {name: make(ours.queries) for name, make in makers.items()}, len(ours.events))
    assert sum(len(ours.found(each)) for each in ours.events)
    assert makers.keys() == {IGRAPH, RUSTWORKX, IGRAPH + BY_HOME, RUSTWORKX + BY_HOME, OXIGRAPH}


def test_the_target_is_for_rivals_that_know_the_class_of_home_and_for_sparql() -> None:
    timings = {name: Timing(1, cost, cost, (cost,)) for name, cost in ((OURS, 1.0), *((n, 500.0) for n in RIVALS))}
    ours = stand(1, 5, 1)
    found = {name: _graph_rivals.compared(ours, name, timings, _graph_rivals.PACES[""]).met for name in RIVALS}
    assert found == {IGRAPH + BY_HOME: True, RUSTWORKX + BY_HOME: True, IGRAPH: None, OXIGRAPH: False}


RIVALS = (IGRAPH + BY_HOME, RUSTWORKX + BY_HOME, IGRAPH, OXIGRAPH)


def grown(count: int, cost: float, size: int) -> Growth:
    return Growth(PAPER, count, 90.0, size * count, count / 50, Timing(10, cost, 2 * cost), 2 * count, count)


def test_what_growth_has_to_show() -> None:
    each_size = [grown(1_000, 50.0, 80), grown(10_000, 100.0, 50), grown(1_000_000, 1_400.0, 140)]
    cost, memory = semantic.limits(each_size, 10_000)
    assert cost.met and memory.met and cost.rival == "ours with 10,000"
    cost, memory = semantic.limits([*each_size[:2], grown(1_000_000, 1_600.0, 160)], 10_000)
    assert cost.met is False and memory.met is False
    assert [each.ours for each in semantic.growth(each_size) if each.unit == "exponent"] == [
        pytest.approx(0.49, abs=0.02)
    ]


def test_a_process_of_its_own_measures_an_index() -> None:
    found = apart(graph_growth, PAPER, 50, 1, 10)
    assert (found.subscriptions, found.timing.calls) == (50, 10)
    assert found.build > 0 and found.index_bytes > 0 and found.notes > 0
    assert 0 <= found.rate <= 100


def test_a_process_finds_its_first_pattern() -> None:
    found = warm_start(times=1)
    assert 0 < found.first < found.cpu and found.wall > 0


def test_growth_is_a_table_and_a_picture(tmp_path: Path) -> None:
    assert "graphs" in EXPERIMENTS.entries()
    found = {name: [graph_growth(name, count, 1, 10) for count in (50, 100)] for name in (PAPER, HIERARCHIES)}
    table = growth.findings(PAPER, found[PAPER], growth.GRAPHS)
    assert [row[0] for row in table.rows] == [50, 100]
    assert len(table.columns) == len(table.rows[0])
    growth.draw(tmp_path / "growth.png", "Growth", found)
    assert (tmp_path / "growth.png").stat().st_size > 10_000
