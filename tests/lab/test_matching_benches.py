"""Small runs of the benchmarks of matching: that they measure what they say, not how fast anything is."""

import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from tocsin.cli import application
from tocsin.lab import bench
from tocsin.lab.bench import Timing
from tocsin.lab.benches import content, engine, spaces, topics
from tocsin.lab.benches._growth import Growth, apart, engine_growth, exponent
from tocsin.lab.benches._matching import ONE_BY_ONE, up_to
from tocsin.lab.benches.spaces import NARROWING, SCAN, Scan
from tocsin.lab.experiment import EXPERIMENTS
from tocsin.lab.experiments import growth
from tocsin.lab.workloads.texts import WEATHER, numbers
from tocsin.model.filters import InBox
from tocsin.model.space import InformationSpace, Point

KEYS = {"case", "ours", "unit", "rival", "rival_value", "ratio", "target", "met"}
SMALL = {
    "topics": {"largest": "300", "topics": "20", "rounds": "2", "calls": "10"},
    "content": {"filters": "200", "more": "500", "notifications": "10", "rounds": "2"},
    "spaces": {"boxes": "400", "points": "30", "rounds": "2"},
    "engine": {"largest": "200", "subscriptions": "200", "notifications": "20", "changes": "10"},
}


@pytest.mark.parametrize("name", SMALL)
def test_results_have_the_documented_keys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "apart", in_this_process)
    report = bench.run(name, seed=2, chosen=SMALL[name])
    found = json.loads(bench.to_json(report))
    assert found.keys() == {"name", "machine", "versions", "seed", "results"}
    assert (found["name"], found["seed"]) == (name, 2)
    for result in found["results"]:
        assert result.keys() >= KEYS
        assert isfinite(result["ours"])
        assert (result["rival"] is None) == (result["ratio"] is None)
    assert {each["target"] for each in found["results"]} - {None} == TARGETS[name]


def in_this_process(measure: Callable[..., Growth], count: int, *arguments: int) -> Growth:
    """Quicker to start than one of its own, but it grows or does not."""
    return replace(measure(count, *arguments), index_bytes=300 * count)


TARGETS = {"topics": {1 / 50}, "content": {200, 1 / 5}, "spaces": {4}, "engine": {1}}


def test_a_choice_that_is_none_is_refused() -> None:
    ran = CliRunner().invoke(application, ["bench", "run", "spaces", "--set", "balls=3"])
    assert ran.exit_code == 2
    assert "lets nobody choose balls; there is: boxes=100000" in ran.stderr


def test_the_cases_of_topics() -> None:
    found = list(topics.expressions(1, 200, topics.Sizes(topics=10, rounds=2, calls=5)))
    assert [(each.case.rpartition("topics ")[2], each.rival) for each in found] == [
        ("seen before", topics.LOOK_UP),
        ("never seen", topics.LOOK_UP),
        ("after a change", topics.LOOK_UP),
        ("seen before", topics.IDENTICAL),
        ("seen before", ONE_BY_ONE),
    ]


def test_an_engine_that_finds_others_than_lxml_does_not_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "wanted", lambda engine, event: ["somebody else"])
    with pytest.raises(AssertionError):
        list(content.measure(1, content.Sizes(filters=20, more=40, notifications=5, rounds=1)))


@pytest.mark.parametrize("space", [numbers(3), numbers(6), WEATHER], ids=lambda space: space.name)
def test_the_scans_find_what_the_index_and_the_sides_say(space: InformationSpace) -> None:
    asked, points = spaces.drawn(space, 5, spaces.Sizes(boxes=3000, points=60))
    index, scan = spaces.index_of(space, asked), Scan(space, asked)
    there = 0
    for point in points:
        expected = [at for at, box in enumerate(asked) if inside(box, point)]
        assert sorted(index.match(point).tolist()) == expected
        assert scan.scan(point).tolist() == scan.narrow(point).tolist() == expected
        there += len(expected)
    assert there or len(space.dimensions) == 6


def inside(box: InBox, point: Point) -> bool:
    return all(each in side for each, side in zip(point, box.sides, strict=True))


def test_only_the_plain_scan_in_three_dimensions_has_a_target() -> None:
    found = list(spaces.measure(1, spaces.Sizes(boxes=300, points=10, rounds=1)))
    assert [(each.sizes.get("dimensions"), each.rival) for each in found if each.target] == [(3, SCAN)]
    assert [each.sizes["dimensions"] for each in found if each.rival == NARROWING] == [3, 6, 4]


def test_an_engine_is_measured() -> None:
    found = engine_growth(300, 1, 20)
    assert (found.subscriptions, found.timing.calls) == (300, 20)
    assert found.build > 0 and found.timing.median > 0


def test_a_process_of_its_own_measures_the_same() -> None:
    found = apart(engine_growth, 50, 1, 10)
    assert (found.subscriptions, found.timing.calls) == (50, 10)


def test_growth_is_told_as_the_power_of_the_size() -> None:
    assert exponent([(1, 2), (10, 20), (100, 200)]) == pytest.approx(1.0)
    assert exponent([(10, 7), (1000, 70)]) == pytest.approx(0.5)


def sample(count: int, cost: float, size: int) -> Growth:
    return Growth("engine", count, 50.0, size * count, count // 100, Timing(10, cost, 2 * cost))


def test_what_growth_has_to_show() -> None:
    each_size = [sample(1_000, 100.0, 900), sample(10_000, 200.0, 500)]
    found = {each.case: each for each in engine.growth(each_size)}
    assert found["10,000 subscriptions, memory"].met and found["1,000 subscriptions, memory"].met is None
    assert found["growth of a notification's cost"].ours == pytest.approx(0.301, abs=0.001)
    assert found["growth of a notification's cost"].met
    assert "growth, where it is steepest" not in found


def test_growth_that_is_above_linear_only_at_the_end_is_told() -> None:
    each_size = [sample(1_000, 100.0, 900), sample(10_000, 200.0, 500), sample(100_000, 2_400.0, 513)]
    found = {each.case: each for each in engine.growth(each_size)}
    assert found["growth of a notification's cost"].met
    steepest = found["growth, where it is steepest"]
    assert steepest.met is False and "from 10,000 to 100,000 subscriptions it costs 12.0 times" in steepest.note
    assert found["100,000 subscriptions, memory"].met is False


def test_sizes_up_to_the_largest() -> None:
    assert up_to(1_000_000) == [1_000, 10_000, 100_000, 1_000_000]
    assert up_to(25_000) == [1_000, 10_000, 25_000]
    assert up_to(400) == [400]


def test_growth_is_drawn(tmp_path: Path) -> None:
    assert "matching" in EXPERIMENTS.entries()
    found = [sample(1_000, 100.0, 900), sample(10_000, 200.0, 500)]
    table = growth.findings("Growth", found, growth.ENGINE)
    assert [len(row) for row in table.rows] == [len(table.columns)] * 2
    assert "power 0.30" in table.notes[0]
    growth.draw(tmp_path / "growth.png", "Growth", {"median": found})
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
