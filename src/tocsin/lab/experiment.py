"""Experiments: what a paper measured, measured again with what is in production."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct

from tocsin.lab.registry import SEED, Machine, Registry, UnknownChoice, UnknownName, this_machine, versions

__all__ = ["EXPERIMENTS", "UnknownChoice", "UnknownName"]

EXPERIMENTS = Registry("experiment", "tocsin.lab.experiments")
experiment = EXPERIMENTS.register
Progress = Callable[[str], None]
Cell = str | int | float | None
Rows = tuple[tuple[Cell, ...], ...]
Columns = Mapping[str, str | Callable[[Any], Cell]]  # an attribute of what a row is about, or what is told of it


class Findings(Struct, frozen=True):
    """A table's columns and rows; notes say what to see in it."""

    title: str
    columns: tuple[str, ...]
    rows: Rows
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, things: Iterable[Any], columns: Columns, *notes: str) -> "Findings":
        """A row a thing."""
        asked = [attrgetter(each) if isinstance(each, str) else each for each in columns.values()]
        return cls(title, tuple(columns), tuple(tuple(ask(thing) for ask in asked) for thing in things), notes)


class Figure(Struct, frozen=True):
    """`draw` writes the picture to a path that ends in .png."""

    name: str
    draw: Callable[[Path], None]


class Outcome(Struct, frozen=True):
    tables: tuple[Findings, ...]
    figures: tuple[Figure, ...] = ()


class Report(Struct, frozen=True):
    name: str
    machine: Machine
    versions: Mapping[str, str]
    seed: int
    tables: tuple[Findings, ...]
    figures: tuple[str, ...]


def run(
    name: str, *, seed: int = SEED, out: Path, progress: Progress, chosen: Mapping[str, str] | None = None
) -> Report:
    found = EXPERIMENTS.entry(name)
    choices = found.chosen(chosen or {})
    machine = this_machine()
    outcome = found.run(seed, progress, *choices)
    return Report(name, machine, versions(("matplotlib",)), seed, outcome.tables, _drawn(name, outcome, out))


def _drawn(name: str, outcome: Outcome, out: Path) -> tuple[str, ...]:
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}-{figure.name}.png" for figure in outcome.figures]
    for figure, path in zip(outcome.figures, paths, strict=True):
        figure.draw(path)
    return tuple(map(str, paths))
