import gc
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from rich.console import Console

from tocsin.lab import bench, registry
from tocsin.lab.bench import (
    Report,
    Result,
    Timing,
    UnknownChoice,
    UnknownName,
    against_floor,
    against_rival,
    alone,
    at_most,
    benchmark,
    number,
    percentile,
    race,
    run,
    show,
    side_by_side,
    timing,
    to_json,
)
from tocsin.lab.registry import Machine

MACHINE = Machine("Some CPU", 2, 4 << 30, (0.5, 0.25, 0.1), "Linux 6.1", "CPython 3.11.7")


class FakeClock:
    """Reading it costs 7 ns; work moves it on."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 7
        return self.now

    def work(self, nanoseconds: int) -> None:
        self.now += nanoseconds


@pytest.fixture
def no_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.BENCHES, "_entries", {})
    monkeypatch.setattr(bench.BENCHES, "_package", "tocsin.lab.no_such_folder")


@pytest.fixture
def report() -> Report:
    results = (
        against_rival("wsn to wse", 20_000.0, "messages/s", "someone", 10_000.0, target=1.5, sizes={"bytes": 4096}),
        against_floor("parse", 13.5, "µs", "lxml alone", 10.0, target=at_most(1.3), timing=Timing(9, 13.5, 41.0)),
        alone("warm-up", 3.0, "s", note="[not] compared"),
    )
    return Report("mediation", MACHINE, {"lxml": "6.0"}, 7, results)


def test_more_is_better_against_a_rival() -> None:
    result = against_rival("c", 20_000.0, "messages/s", "someone", 10_000.0, target=2.0)
    assert (result.ratio, result.met) == (2.0, True)
    assert against_rival("c", 19_999.0, "messages/s", "someone", 10_000.0, target=2.0).met is False


def test_a_floor_is_divided_by_ours() -> None:
    assert at_most(1.3) == pytest.approx(0.769, abs=0.001)
    result = against_floor("c", 12.0, "µs", "floor", 10.0, target=at_most(1.3))
    assert result.ratio == pytest.approx(0.8333, abs=0.001)
    assert result.met is True
    assert against_floor("c", 13.1, "µs", "floor", 10.0, target=at_most(1.3)).met is False


def test_without_a_target_nothing_is_met_or_missed() -> None:
    result = against_rival("c", 2.0, "x", "someone", 1.0)
    assert (result.ratio, result.target, result.met) == (2.0, None, None)


@pytest.mark.parametrize("value", [None, 0.0, float("nan"), float("inf")])
def test_without_a_rivals_value_there_is_no_ratio(value: float | None) -> None:
    result = against_rival("c", 2.0, "x", "someone", value, target=1.0, note="needs a server")
    assert (result.rival, result.ratio, result.met, result.note) == ("someone", None, None, "needs a server")


def test_a_floor_that_ours_cannot_be_compared_with() -> None:
    assert against_floor("c", 0.0, "µs", "floor", 10.0, target=1.0).met is None


def test_a_benchmark_is_run_by_its_name(no_benches: None) -> None:
    @benchmark("guess", "how well we guess", rivals=("pytest",))
    def measure(seed: int) -> Iterator[Result]:
        yield alone("seeded", float(seed), "x")

    assert [(each.name, each.summary) for each in bench.BENCHES.entries().values()] == [("guess", "how well we guess")]
    made = run("guess", seed=3)
    assert (made.name, made.seed, made.results[0].ours) == ("guess", 3, 3.0)
    assert made.versions["pytest"] == pytest.__version__
    assert measure(1) is not None


def test_two_benchmarks_of_one_name_are_refused(no_benches: None) -> None:
    benchmark("guess", "first")(lambda _seed: ())
    with pytest.raises(ValueError, match="two benchmarks named guess"):
        benchmark("guess", "second")(lambda _seed: ())


def test_an_unknown_name_is_refused_with_the_nearest(no_benches: None) -> None:
    benchmark("mediation", "")(lambda _seed: ())
    with pytest.raises(UnknownName, match=r"mediatoin is not a benchmark; did you mean mediation\?"):
        run("mediatoin")
    with pytest.raises(UnknownName, match="zzz is not a benchmark; there are: mediation"):
        run("zzz")


def test_modules_of_the_benches_folder_are_found(
    no_benches: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "found_benches"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text(
        "from tocsin.lab.bench import benchmark\n@benchmark('one', 'the first')\ndef measure(seed):\n    return []\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(bench.BENCHES, "_package", "found_benches")
    assert list(bench.BENCHES.entries()) == ["one"]
    assert run("one").results == ()


def test_the_json_is_the_one_that_others_read(report: Report) -> None:
    read: dict[str, Any] = json.loads(to_json(report))
    assert list(read) == ["name", "machine", "versions", "seed", "results"]
    assert list(read["results"][0])[:8] == ["case", "ours", "unit", "rival", "rival_value", "ratio", "target", "met"]
    first, second, third = read["results"]
    assert first | {"sizes": {"bytes": 4096}, "ratio": 2.0, "met": True, "median": None} == first
    assert second | {"met": False, "median": 13.5, "p99": 41.0} == second
    assert third | {"rival": None, "rival_value": None, "ratio": None, "target": None, "met": None} == third


def test_what_missed_its_target(report: Report) -> None:
    assert [result.case for result in report.missed] == ["parse"]


def test_the_table_is_for_people(report: Report) -> None:
    console = Console(file=StringIO(), width=160)
    show(report, console)
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "mediation, seed 7"
    assert lines[1] == "Some CPU, 2 cores, 4.0 GiB, load 0.50, 0.25, 0.10, Linux 6.1, CPython 3.11.7"
    assert lines[2] == "lxml 6.0"
    header, rival, floor, single, note = lines[3:]
    assert note == "warm-up: [not] compared"
    assert " ".join(rival.split()) == "wsn to wse bytes 4,096 20,000 messages/s someone 10,000 2.00 1.50 yes - -"
    assert floor.split()[-4:] == ["0.769", "no", "13.50", "41.00"]
    ends = {line.index(end) + len(end) for line, end in [(header, "ours"), (rival, "20,000"), (single, "3.00")]}
    assert len(ends) == 1


def test_the_table_goes_to_standard_error(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    show(report)
    said = capsys.readouterr()
    assert said.out == ""
    assert "20,000 messages/s" in " ".join(said.err.split())


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (0.76923, "0.769"), (1.0, "1.00"), (99.5, "99.50"), (214.4, "214"), (12345.6, "12,346")],
)
def test_how_numbers_are_written(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_race_times_each_call_less_the_clock() -> None:
    clock = FakeClock()
    made = race({"ours": lambda: clock.work(2000), "floor": lambda: clock.work(1000)}, rounds=4, calls=5, clock=clock)
    assert made == {"ours": Timing(20, 2.0, 2.0, (2.0,) * 4), "floor": Timing(20, 1.0, 1.0, (1.0,) * 4)}
    assert made["ours"].per_second == 500_000


def test_what_is_set_side_by_side_is_of_one_round() -> None:
    ours, floor = Timing(3, 3.0, 9.0, (2.0, 3.0, 9.0)), Timing(3, 2.0, 4.0, (1.0, 2.0, 4.0))
    assert side_by_side(ours, floor) == (2.0, 1.0)


def test_rounds_alternate_and_each_begins_with_another() -> None:
    clock, seen = FakeClock(), list[str]()
    contestants = {name: (lambda name=name: seen.append(name)) for name in "abc"}
    race(contestants, rounds=3, calls=1, clock=clock)
    assert "".join(seen) == "abc" + "bca" + "cab"


def test_a_slice_is_as_long_as_it_was_asked_to_be() -> None:
    clock = FakeClock()
    made = race({"slow": lambda: clock.work(4_999_993)}, rounds=2, slice_ms=10.0, clock=clock)
    assert made["slow"].calls == 4
    assert race({"slower": lambda: clock.work(10**9)}, rounds=2, slice_ms=10.0, clock=clock)["slower"].calls == 2


def test_the_garbage_collector_rests_inside_and_works_again_after() -> None:
    seen: list[bool] = []
    race({"ours": lambda: seen.append(gc.isenabled())}, rounds=1, calls=1)
    assert (seen, gc.isenabled(), gc.get_freeze_count()) == ([False], True, 0)


def test_the_garbage_collector_works_again_after_a_failure() -> None:
    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        race({"ours": fail}, rounds=1, calls=1)
    assert gc.isenabled()


def test_median_and_p99_are_values_that_were_seen() -> None:
    assert timing([1000 * n for n in range(1, 101)]) == Timing(100, 50.0, 99.0)
    assert timing([5000]) == Timing(1, 5.0, 5.0)


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(1, 100))
def test_a_percentile_has_that_share_at_or_below_it(values: list[int], percent: int) -> None:
    found = percentile(sorted(values), percent)
    assert found in values
    assert 100 * sum(value <= found for value in values) >= percent * len(values)
    assert 100 * sum(value < found for value in values) < percent * len(values)


def test_this_machine_is_described() -> None:
    here = registry.this_machine()
    assert here.cores >= 1
    assert here.memory_bytes > 0
    assert here.cpu
    assert here.python.startswith("CPython 3.")


def test_versions_of_what_is_installed() -> None:
    found = registry.versions(["pytest", "no-such-distribution"])
    assert found["pytest"] == pytest.__version__
    assert "lxml" in found
    assert "no-such-distribution" not in found


def test_a_cpu_without_a_model_name(tmp_path: Path) -> None:
    assert registry._cpu(tmp_path / "none")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Fast One\n")
    assert registry._cpu(tmp_path / "cpuinfo") == "Fast One"


def test_what_is_done_before_a_call_is_not_timed() -> None:
    clock, done = FakeClock(), list[str]()

    def prepare() -> None:
        done.append("before")
        clock.work(5_000)

    def work() -> None:
        done.append("call")
        clock.work(1_000)

    timings = race({"work": work, "other": lambda: None}, rounds=2, calls=2, before={"work": prepare}, clock=clock)
    assert timings["work"].median == 1.0
    assert done == ["before", "call"] * 4


def test_what_can_be_chosen_of_a_benchmark(no_benches: None) -> None:
    class Choices(Struct, frozen=True):
        size: int = 10

    benchmark("guess", "", choices=Choices)(lambda _seed, choices: [alone("size", choices.size, "x")])
    assert bench.BENCHES.entries()["guess"].defaults() == {"size": 10}
    assert [run("guess", chosen=each).results[0].ours for each in ({}, {"size": "3"})] == [10, 3]
    with pytest.raises(UnknownChoice, match="guess lets nobody choose length; there is: size=10"):
        run("guess", chosen={"length": "3"})
    with pytest.raises(UnknownChoice, match="guess: Expected `int`"):
        run("guess", chosen={"size": "three"})
