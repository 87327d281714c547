"""Pools: numbers for names that are in use, and runs of numbers within one growing array."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


class Pool(Generic[T]):
    """Runs of numbers in one array that grows at the end; a run given back is taken by the next of its length."""

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


class NamePool:
    def __init__(self, most: int) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._uses: list[int] = []
        self._free: list[int] = []
        self._most = most
        self.version = 0

    @classmethod
    def of(cls, names: list[str]) -> NamePool:
        made = cls(len(names))
        for each in names:
            made.take(each)
        return made

    def take(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._new(name)
            self.version += 1
        self._uses[number] += 1
        return number

    def use(self, number: int) -> None:
        self._uses[number] += 1

    def release(self, number: int) -> None:
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._numbers[self._names[number]]
            self._free.append(number)
            self.version += 1

    def number(self, name: str) -> int | None:
        return self._numbers.get(name)

    def names(self) -> list[str]:
        return list(self._names)

    def used(self) -> int:
        return len(self._numbers)

    def __len__(self) -> int:
        return len(self._names)

    def _new(self, name: str) -> int:
        if self._free:
            number = self._free.pop()
            self._names[number] = name
            return number
        if len(self._names) >= self._most:
            raise OverflowError(f"more than {self._most:,} different names are asked for")
        self._names.append(name)
        self._uses.append(0)
        return len(self._names) - 1
