"""Benchmarks and experiments by name: what can be chosen of each, and the machine they ran on."""

import difflib
import importlib
import os
import pkgutil
import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert, structs

SEED = 1
# What lies on the way of a message; a benchmark adds its rivals.
LIBRARIES = [
    "tocsin",
    "httptools",
    "lxml",
    "msgspec",
    "numpy",
    "pyarrow",
    "pycurl",
    "pyspark",
    "starlette",
    "uvicorn",
    "uvloop",
]
Run = Callable[..., Any]


class UnknownName(Exception):
    """No benchmark or experiment is called so."""


class UnknownChoice(Exception):
    """Something that it lets nobody choose, or not so."""


class Entry(Struct, frozen=True):
    """`run` takes the seed, and the choices where there are any: a struct with what is chosen by default. `rivals` are
    distributions whose versions the report tells."""

    name: str
    summary: str
    run: Run
    rivals: tuple[str, ...] = ()
    choices: type[Struct] | None = None

    def defaults(self) -> dict[str, object]:
        return structs.asdict(self.choices()) if self.choices else {}

    def chosen(self, texts: Mapping[str, str]) -> list[Struct]:
        """The struct of choices, if there is one, from texts."""
        there = self.defaults()
        if unknown := [each for each in texts if each not in there]:
            shown = ", ".join(f"{key}={value}" for key, value in there.items()) or "nothing"
            raise UnknownChoice(f"{self.name} lets nobody choose {unknown[0]}; there is: {shown}")
        try:
            return [convert(dict(texts), self.choices, strict=False)] if self.choices else []
        except ValidationError as error:
            raise UnknownChoice(f"{self.name}: {error}") from error


class Registry:
    """All of one `kind`; each is found by being in a module of the package."""

    def __init__(self, kind: str, package: str) -> None:
        self._kind, self._package = kind, package
        self._entries: dict[str, Entry] = {}

    def register(
        self, name: str, summary: str, *, rivals: Iterable[str] = (), choices: type[Struct] | None = None
    ) -> Callable[[Run], Run]:
        def decorate(run: Run) -> Run:
            if name in self._entries:
                raise ValueError(f"there are two {self._kind}s named {name}")
            self._entries[name] = Entry(name, summary, run, tuple(rivals), choices)
            return run

        return decorate

    def entries(self) -> dict[str, Entry]:
        if find_spec(self._package):
            for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__):
                importlib.import_module(f"{self._package}.{module.name}")
        return dict(sorted(self._entries.items()))

    def entry(self, name: str) -> Entry:
        known = self.entries()
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"
            article = "an" if self._kind[0] in "aeiou" else "a"
            raise UnknownName(f"{name} is not {article} {self._kind}; {hint}")
        return known[name]


class Machine(Struct, frozen=True):
    cpu: str
    cores: int
    memory_bytes: int
    load: tuple[float, float, float]
    kernel: str
    python: str

    def __str__(self) -> str:
        load = ", ".join(f"{each:.2f}" for each in self.load)
        memory = f"{self.memory_bytes / 2**30:.1f} GiB"
        return f"{self.cpu}, {self.cores} cores, {memory}, load {load}, {self.kernel}, {self.python}"


def this_machine() -> Machine:
    """The load is the one before the benchmark: above the number of idle cores the figures are in doubt."""
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        load=os.getloadavg(),
        kernel=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def versions(more: Iterable[str] = ()) -> dict[str, str]:
    """Of those that are installed."""
    found = {name: _version(name) for name in (*LIBRARIES, *more)}
    return {name: text for name, text in found.items() if text is not None}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
