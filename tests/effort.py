"""How hard to try: EFFORT=0.1 for a quick look, 10 for a long one."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

EFFORT = float(os.environ.get("EFFORT", 1))


def examples(number: int) -> int:
    return max(1, round(number * EFFORT))


def brief(values: Iterable[Any], *few: Any) -> list[Any]:
    """All values to be a parameter; those that are not of the few, or not the first where none is named, are long."""
    every = list(values)
    kept = few or every[:1]
    return [each if each in kept else long(each) for each in every]


def long(*values: Any) -> Any:
    """Values of parameters that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.long)
