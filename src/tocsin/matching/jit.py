"""Kernels: functions over arrays that numba compiles to machine code when they are first called, and keeps on disk.

What is kept is for a kernel's own file as it is: the kernels that it calls are in the same file, for a change elsewhere
is not seen. Arrays must be writable: one that is not is another type to numba, and would be compiled for again.
Snapshots are mapped copy-on-write, so that they are of the same type and still share their pages.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core.event import Listener, install_listener, install_timer

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """With the lock of the interpreter: who lets go of it for microseconds may get it back after milliseconds.

    Kept beside the source, else in the user's cache; where neither can be written, it is compiled by each process.
    """
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, boundscheck=False)(function)
    except RuntimeError:  # there is no place to keep it
        compiled = numba.njit(boundscheck=False)(function)
    return compiled


class _Beginning(Listener):  # type: ignore[misc]
    def __init__(self, begins: Callable[[], None]) -> None:
        self._begins = begins

    def on_start(self, event: Any) -> None:
        del event
        self._begins()

    def on_end(self, event: Any) -> None:
        """The timer knows."""


@contextmanager
def compiling(begins: Callable[[], None], took: Callable[[float], None]) -> Iterator[None]:
    """If anything has to be compiled meanwhile, `begins` is called before, and `took` with the seconds of all of it."""
    with install_timer("numba:compile", took), install_listener("numba:compile", _Beginning(begins)):
        yield
