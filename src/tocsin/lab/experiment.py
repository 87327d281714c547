"""Experiments by name: what a paper measured, measured again with what is in production."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from tocsin.lab.choices import UnknownChoice, defaults
from tocsin.lab.choices import made as choices_made
from tocsin.lab.machine import Machine, this_machine, versions

__all__ = [
    "Experiment",
    "Figure",
    "Findings",
    "Outcome",
    "Progress",
    "Report",
    "UnknownChoice",
    "UnknownExperiment",
    "experiment",
    "experiments",
    "run",
]

EXPERIMENTS = "tocsin.lab.experiments"
SEED = 1
Cell = str | int | float | None
Rows = tuple[tuple[Cell, ...], ...]


class UnknownExperiment(Exception):
    pass


class Findings(Struct, frozen=True):
    """A table's columns and rows; notes say what to see in it."""

    title: str
    columns: tuple[str, ...]
    rows: Rows
    notes: tuple[str, ...] = ()


class Figure(Struct, frozen=True):
    """`draw` writes the picture to a path that ends in .png."""

    name: str
    draw: Callable[[Path], None]


class Outcome(Struct, frozen=True):
    tables: tuple[Findings, ...]
    figures: tuple[Figure, ...] = ()


Progress = Callable[[str], None]
Run = Callable[..., Outcome]  # of the seed and the progress, and of the choices where there are any


class Experiment(Struct, frozen=True):
    """`choices` is a struct of what can be chosen, with what is chosen by default."""

    name: str
    summary: str
    run: Run
    choices: type[Struct] | None = None

    def defaults(self) -> dict[str, object]:
        return defaults(self.choices)


class Report(Struct, frozen=True):
    name: str
    machine: Machine
    versions: Mapping[str, str]
    seed: int
    tables: tuple[Findings, ...]
    figures: tuple[str, ...]


_registry: dict[str, Experiment] = {}


def experiment(name: str, summary: str, choices: type[Struct] | None = None) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        if name in _registry:
            raise ValueError(f"there are two experiments named {name}")
        _registry[name] = Experiment(name, summary, run, choices)
        return run

    return register


def experiments() -> dict[str, Experiment]:
    """All of them; an experiment is found by being a module of `tocsin.lab.experiments`."""
    for module in pkgutil.iter_modules(importlib.import_module(EXPERIMENTS).__path__):
        importlib.import_module(f"{EXPERIMENTS}.{module.name}")
    return dict(sorted(_registry.items()))


def run(
    name: str, *, seed: int = SEED, out: Path, progress: Progress, chosen: Mapping[str, str] | None = None
) -> Report:
    known = experiments()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"
        raise UnknownExperiment(f"{name} is not an experiment; {hint}")
    choices = choices_made(name, known[name].choices, chosen or {})
    machine = this_machine()
    outcome = known[name].run(seed, progress, *choices)
    return Report(name, machine, versions(("matplotlib",)), seed, outcome.tables, _drawn(name, outcome, out))


def _drawn(name: str, outcome: Outcome, out: Path) -> tuple[str, ...]:
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}-{figure.name}.png" for figure in outcome.figures]
    for figure, path in zip(outcome.figures, paths, strict=True):
        figure.draw(path)
    return tuple(map(str, paths))
