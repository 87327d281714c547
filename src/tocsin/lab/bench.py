"""Benchmarks by name, each with its rivals in the same run."""

import difflib
import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import TypedDict, Unpack

from msgspec import Struct, json

from tocsin.lab.choices import UnknownChoice, defaults
from tocsin.lab.choices import made as choices_made
from tocsin.lab.machine import Machine, this_machine, versions
from tocsin.lab.race import Timing, race, side_by_side

__all__ = [
    "Benchmark",
    "Report",
    "Result",
    "Timing",
    "UnknownBenchmark",
    "UnknownChoice",
    "against_floor",
    "against_rival",
    "alone",
    "at_most",
    "benchmark",
    "benchmarks",
    "race",
    "run",
    "side_by_side",
    "to_json",
]

SEED = 1
BENCHES = "tocsin.lab.benches"


class UnknownBenchmark(Exception):
    pass


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


Measure = Callable[..., Iterable[Result]]  # of the seed, and of the choices where there are any


class Benchmark(Struct, frozen=True):
    name: str
    summary: str
    measure: Measure
    rivals: tuple[str, ...] = ()
    choices: type[Struct] | None = None

    def defaults(self) -> dict[str, object]:
        return defaults(self.choices)


_registry: dict[str, Benchmark] = {}


def benchmark(
    name: str, summary: str, *, rivals: Iterable[str] = (), choices: type[Struct] | None = None
) -> Callable[[Measure], Measure]:
    """Registers a function of the seed. `rivals` are distributions whose versions the report tells; `choices` is a
    struct of what can be chosen, for a quick run."""

    def register(measure: Measure) -> Measure:
        if name in _registry:
            raise ValueError(f"there are two benchmarks named {name}")
        _registry[name] = Benchmark(name, summary, measure, tuple(rivals), choices)
        return measure

    return register


def benchmarks() -> dict[str, Benchmark]:
    """All of them; a benchmark is found by being a module of `tocsin.lab.benches`."""
    if find_spec(BENCHES):
        for module in pkgutil.iter_modules(importlib.import_module(BENCHES).__path__):
            importlib.import_module(f"{BENCHES}.{module.name}")
    return dict(sorted(_registry.items()))


def run(name: str, *, seed: int = SEED, chosen: Mapping[str, str] | None = None) -> Report:
    known = benchmarks()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"
        raise UnknownBenchmark(f"{name} is not a benchmark; {hint}")
    found = known[name]
    choices = choices_made(name, found.choices, chosen or {})
    # The machine is looked at first, so that its load is not our own.
    machine = this_machine()
    return Report(name, machine, versions(found.rivals), seed, tuple(found.measure(seed, *choices)))


def to_json(report: Report) -> bytes:
    return json.encode(report)


class Details(TypedDict, total=False):
    target: float
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
