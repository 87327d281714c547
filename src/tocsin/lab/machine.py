"""On what a benchmark ran: without it a number says nothing."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct

# What lies on the way of a message; a benchmark adds its rivals.
LIBRARIES = (
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
)


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
