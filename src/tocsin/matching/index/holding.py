"""What holds of one notification, gathered by the indexes: the combining step starts from it."""

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Levels = NDArray[np.float64]
ALWAYS = 0  # the atom that always holds
HOLDS = 0.0  # the level of an atom that holds
_NO_NUMBERS: Numbers = np.zeros(0, np.int32)


class Holding:
    """Levels, by number; limits of sides, many at once; atoms that hold, many at once; and those few of which an index
    could not tell. No number is there twice.

    An atom with a number holds or not. An ordered comparison has none: it holds if the level of its side reaches its
    bound. A side is a path with a direction, and has a number like an atom.
    """

    __slots__ = ("arrays", "doubtful", "levels", "limits", "sides")

    def __init__(self) -> None:
        self.levels = {ALWAYS: HOLDS}
        self.sides: Numbers = _NO_NUMBERS
        self.limits: Sequence[float] = ()
        self.arrays: list[Numbers] = []
        self.doubtful: list[Numbers] = []

    def hold(self, atoms: Iterable[int]) -> None:
        for atom in atoms:
            self.levels[atom] = HOLDS

    def reach(self, levels: dict[int, float]) -> None:
        """Of several values at a path the one that reaches furthest counts."""
        for number, level in levels.items():
            if level > self.levels.get(number, -inf):
                self.levels[number] = level

    def limited(self) -> tuple[Numbers, Levels]:
        """The sides whose limits were found many at once, and these."""
        return self.sides, np.array(self.limits, np.float64)

    def reached(self) -> tuple[Numbers, Levels]:
        """All other numbers that have a level, and these."""
        numbers = np.array(list(self.levels), np.int32)
        levels = np.array(list(self.levels.values()), np.float64)
        if not self.arrays:
            return numbers, levels
        numbers = np.concatenate((numbers, *self.arrays))
        return numbers, np.concatenate((levels, np.full(len(numbers) - len(levels), HOLDS)))
