"""Kernels: functions over arrays that numba compiles to machine code when they are first called, and keeps on disk.

Arrays must be writable: one that is not is another type to numba, and would be compiled for again. Snapshots are mapped
copy-on-write, so that they are of the same type and still share their pages.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Without the lock of the interpreter, without a test for negative positions where they are unsigned."""
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, boundscheck=False)(function)
    return compiled
