"""Benchmarks, each with its rivals in the same run, timed by turns so that noise hits all alike; and their reports."""

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import TypedDict, Unpack

from msgspec import Struct, json, structs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tocsin.lab.registry import SEED, Machine, Registry, UnknownChoice, UnknownName, this_machine, versions

Clock = Callable[[], int]
Work = Callable[[], object]


class Timing(Struct, frozen=True):
    """Of one call, in microseconds."""

    calls: int
    median: float
    p99: float
    rounds: tuple[float, ...] = ()  # the median of each round of a race

    @property
    def per_second(self) -> float:
        return 1e6 / self.median if self.median else 0.0


def race(
    contestants: Mapping[str, Work],
    *,
    rounds: int = 40,
    slice_ms: float = 10.0,
    calls: int | None = None,
    before: Mapping[str, Work] | None = None,
    clock: Clock = perf_counter_ns,
) -> dict[str, Timing]:
    """Each contestant gets a slice in each round, and each round begins with another one. What is to be done `before`
    each call of a contestant is not timed.

    A slice is `calls` calls, by default as many as fit into `slice_ms`; every call is timed on its own, less what
    reading the clock costs. The garbage collector rests inside a slice and works between rounds.
    """
    counts = {name: calls or _calls_in(work, slice_ms, clock) for name, work in contestants.items()}
    samples: dict[str, list[int]] = {name: [] for name in contestants}
    names = list(contestants)
    with frozen_gc():
        cost = sorted(-(clock() - clock()) for _ in range(201))[100]
        for turn in range(rounds):
            cut = turn % len(names)
            for name in names[cut:] + names[:cut]:
                samples[name] += _slice(contestants[name], counts[name], clock, (before or {}).get(name))
            gc.collect()
    return {name: _raced([max(sample - cost, 0) for sample in each], rounds) for name, each in samples.items()}


def timing(nanoseconds: Sequence[int]) -> Timing:
    ordered = sorted(nanoseconds)
    return Timing(len(ordered), percentile(ordered, 50) / 1000, percentile(ordered, 99) / 1000)


def _raced(nanoseconds: Sequence[int], rounds: int) -> Timing:
    size = len(nanoseconds) // rounds
    medians = tuple(timing(nanoseconds[turn * size : (turn + 1) * size]).median for turn in range(rounds))
    return structs.replace(timing(nanoseconds), rounds=medians)


def side_by_side(ours: Timing, theirs: Timing) -> tuple[float, float]:
    """Both in the round whose ratio is the median of the rounds'.

    A machine that is shared changes its pace for seconds at a time, by half and more: medians over the whole race
    may then be of different times, while the slices of a round are milliseconds apart.
    """
    pairs = sorted(zip(ours.rounds, theirs.rounds, strict=True), key=lambda pair: pair[1] / max(pair[0], 1e-9))
    return pairs[(len(pairs) - 1) // 2]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest rank: a value that was really seen."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def _slice(work: Work, calls: int, clock: Clock, before: Work | None = None) -> list[int]:
    times = [0] * calls
    for at in range(calls):
        if before is not None:
            before()
        begun = clock()
        work()
        times[at] = clock() - begun
    return times


def _calls_in(work: Work, slice_ms: float, clock: Clock) -> int:
    """Also the warm-up: the first call is not counted, the quickest of the next few tells the pace."""
    work()
    pace = min(_slice(work, 3, clock))
    return max(1, min(100_000, round(slice_ms * 1e6 / max(pace, 1))))


@contextmanager
def frozen_gc() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


__all__ = ["BENCHES", "UnknownChoice", "UnknownName"]

BENCHES = Registry("benchmark", "tocsin.lab.benches")
benchmark = BENCHES.register


class Result(Struct, frozen=True):
    """`ratio` is above 1 when ours is better; `median` and `p99` are of one call of ours, in microseconds."""

    case: str
    ours: float
    unit: str
    rival: str | None
    rival_value: float | None
    ratio: float | None
    target: float | None
    met: bool | None
    sizes: Mapping[str, int]
    median: float | None
    p99: float | None
    note: str


class Report(Struct, frozen=True):
    name: str
    machine: Machine
    versions: Mapping[str, str]
    seed: int
    results: tuple[Result, ...]

    @property
    def missed(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.met is False)


def run(name: str, *, seed: int = SEED, chosen: Mapping[str, str] | None = None) -> Report:
    found = BENCHES.entry(name)
    choices = found.chosen(chosen or {})
    machine = this_machine()  # looked at first, so that its load is not our own
    return Report(name, machine, versions(found.rivals), seed, tuple(found.run(seed, *choices)))


def to_json(report: Report) -> bytes:
    return json.encode(report)


class Details(TypedDict, total=False):
    target: float | None
    sizes: Mapping[str, int]
    timing: Timing
    note: str


def against_rival(
    case: str, ours: float, unit: str, rival: str, rival_value: float | None, **details: Unpack[Details]
) -> Result:
    """More is better. Without the rival's value (it could not be had here) nothing is met; let the note say why."""
    return _result(case, ours, unit, rival, rival_value, _ratio(ours, rival_value), details)


def against_floor(
    case: str, ours: float, unit: str, floor: str, floor_value: float | None, **details: Unpack[Details]
) -> Result:
    """Less is better, and the floor is what cannot be beaten: the ratio is floor divided by ours."""
    return _result(case, ours, unit, floor, floor_value, _ratio(floor_value, ours), details)


def compared(
    case: str,
    timings: Mapping[str, Timing],
    ours: str,
    rival: str,
    label: str = "",
    *,
    target: float | None = None,
    sizes: Mapping[str, int] | None = None,
    note: str = "",
) -> Result:
    """Two contestants of a race, in microseconds a call; `label` is the rival's name in the report."""
    mine, theirs = side_by_side(timings[ours], timings[rival])
    details = Details(target=target, sizes=sizes or {}, timing=timings[ours], note=note)
    return against_floor(case, mine, "µs", label or rival, theirs, **details)


def alone(case: str, ours: float, unit: str, **details: Unpack[Details]) -> Result:
    """A figure that nothing is compared with."""
    return _result(case, ours, unit, None, None, None, details)


def at_most(times: float) -> float:
    """The target of "at most 1.3 times the floor", as a ratio."""
    return 1 / times


def _ratio(better: float | None, worse: float | None) -> float | None:
    if better is None or worse is None or not math.isfinite(better) or not math.isfinite(worse) or worse <= 0:
        return None
    return better / worse


def _result(
    case: str,
    ours: float,
    unit: str,
    rival: str | None,
    rival_value: float | None,
    ratio: float | None,
    details: Details,
) -> Result:
    target, timing = details.get("target"), details.get("timing")
    met = None if ratio is None or target is None else ratio >= target
    median, p99 = (timing.median, timing.p99) if timing else (None, None)
    sizes, note = details.get("sizes", {}), details.get("note", "")
    return Result(case, ours, unit, rival, rival_value, ratio, target, met, sizes, median, p99, note)


_MET = {True: ("yes", "green"), False: ("no", "bold red"), None: ("-", "")}
_NUMBERS = ("ours", "rival's", "ratio", "target", "median µs", "p99 µs")


def show(report: Report, console: Console | None = None) -> None:
    """To standard error unless told otherwise: standard output is for JSON alone."""
    console = console or _standard_error()
    for line in heading(report):
        console.print(line, highlight=False, markup=False)
    console.print(table(report))
    for result in report.results:
        if result.note:
            console.print(f"{result.case}: {result.note}", highlight=False, markup=False)


def _standard_error() -> Console:
    console = Console(stderr=True)
    # A file has no width; 80 columns would break the numbers.
    return console if console.is_terminal else Console(stderr=True, width=160)


def heading(report: Report) -> list[str]:
    libraries = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return [f"{report.name}, seed {report.seed}", str(report.machine), libraries]


def table(report: Report) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("case", "sizes", "ours", "unit", "rival", "rival's", "ratio", "target", "met", "median µs", "p99 µs"):
        is_number = name in _NUMBERS
        made.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for result in report.results:
        made.add_row(*_cells(result))
    return made


def _cells(result: Result) -> list[str | Text]:
    return [
        Text(result.case),
        Text(", ".join(f"{name} {size:,}" for name, size in result.sizes.items())),
        number(result.ours),
        Text(result.unit),
        Text(result.rival or "-"),
        number(result.rival_value),
        number(result.ratio),
        number(result.target),
        Text(*_MET[result.met]),
        number(result.median),
        number(result.p99),
    ]


def number(value: float | None) -> str:
    """Whole from a hundred up, three digits below; what was counted is whole anyway."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
