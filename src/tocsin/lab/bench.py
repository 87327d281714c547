"""Benchmarks, each with its rivals in the same run, and what they report."""

import math
from collections.abc import Mapping
from typing import TypedDict, Unpack

from msgspec import Struct, json

from tocsin.lab.race import Timing, race, side_by_side
from tocsin.lab.registry import SEED, Machine, Registry, UnknownChoice, UnknownName, this_machine, versions

__all__ = ["BENCHES", "Timing", "UnknownChoice", "UnknownName", "race", "side_by_side"]

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
