"""Bounds on work that hold on any machine, however busy it is."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

_COUNTED = 35_000  # to which Python counts in a millisecond, on a quiet machine of 2024


@contextmanager
def within(milliseconds: float) -> Iterator[None]:
    """What is done inside takes no more processor time than counting for so long, before or after it, would.

    The garbage of tests that ran before is left alone meanwhile.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        unit, began = _millisecond(), process_time()
        yield
        took = process_time() - began
        assert took / max(unit, _millisecond()) <= milliseconds
    finally:
        if collects:
            gc.enable()


def _millisecond() -> float:
    began, number = process_time(), 0
    for each in range(_COUNTED):
        number += each
    return process_time() - began
