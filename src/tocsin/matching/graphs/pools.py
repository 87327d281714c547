"""Runs of numbers in one array: nodes, lists, and the programs of predicates with what they compare with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


class Pool(Generic[T]):
    """Grows at the end; a run that was given back is taken by the next of its length."""

    def __init__(self, kind: type[T]) -> None:
        self.array: NDArray[Any] = np.zeros(64, kind)
        self.end = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)

    @classmethod
    def of(cls, array: NDArray[Any]) -> Pool[T]:
        """Full, to begin with."""
        pool: Pool[T] = cls(array.dtype.type)
        pool.array, pool.end = array, len(array)
        return pool

    def put(self, numbers: Sequence[float]) -> int:
        free = self._free[len(numbers)]
        place = free.pop() if free else self._more(len(numbers))
        self.array[place : place + len(numbers)] = numbers
        return place

    def give_back(self, place: int, length: int) -> None:
        self._free[length].append(place)

    def free(self, length: int) -> int:
        """So many runs of that length were given back."""
        return len(self._free[length])

    def _more(self, length: int) -> int:
        while self.end + length > len(self.array):
            more = np.zeros(max(64, len(self.array) // 4), self.array.dtype)
            self.array = np.concatenate((self.array, more))
        self.end += length
        return self.end - length
