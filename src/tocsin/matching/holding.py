"""What holds of one notification, gathered by the indexes: the combining step starts from it."""

from math import inf

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
_LEAST = 16


class Holding:
    """Atoms that hold, by number, one by one or many at once; terms that were found at once; and limits.

    An ordered comparison needs no number: it holds if its bound is not beyond the limit of its side. A side is a path
    with a direction. Used again for the next notification.
    """

    def __init__(self) -> None:
        self.atoms: list[int] = []
        self.arrays: list[Numbers] = []
        self.terms: list[Numbers] = []
        self.reached: dict[int, float] = {}  # by side, the limit
        self.limits = np.full(_LEAST, -inf)

    def clear(self) -> None:
        if self.reached:
            self.limits[list(self.reached)] = -inf
        self.atoms, self.arrays, self.terms, self.reached = [], [], [], {}

    def reach(self, side: int, limit: float) -> None:
        if limit > self.reached.get(side, -inf):
            self.reached[side] = limit

    def set_limits(self) -> None:
        """All at once: one by one they would cost more than all else."""
        if self.reached:
            self.limits[list(self.reached)] = list(self.reached.values())

    def grow(self, sides: int) -> None:
        """Room for that many sides."""
        if sides > len(self.limits):
            more = np.full(max(sides, 2 * len(self.limits)) - len(self.limits), -inf)
            self.limits = np.concatenate((self.limits, more))
