"""Rows as columns of numbers, which grow by a quarter; places that were given back are taken first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 64


class Columns:
    """A column may hold several numbers a row."""

    def __init__(self, **kinds: type[np.generic] | tuple[type[np.generic], int]) -> None:
        self._columns: dict[str, NDArray[Any]] = {name: _zeros(_LEAST, kind) for name, kind in kinds.items()}
        self.end = 0  # of the rows, those given back among them
        self._room = _LEAST
        self._free: list[int] = []

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> Columns:
        """Full, to begin with."""
        made = cls()
        made._columns = dict(columns)
        made.end = made._room = min(map(len, columns.values()))
        return made

    def __getitem__(self, name: str) -> NDArray[Any]:
        """As it is now: growing replaces it."""
        return self._columns[name]

    def __len__(self) -> int:
        return self.end - len(self._free)

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        if self.end == self._room:
            self._room += max(_LEAST, self._room // 4)
            for name, column in self._columns.items():
                more = np.zeros((self._room - len(column), *column.shape[1:]), column.dtype)
                self._columns[name] = np.concatenate((column, more))
        self.end += 1
        return self.end - 1

    def give_back(self, row: int) -> None:
        self._free.append(row)

    def arrays(self) -> Iterable[NDArray[Any]]:
        return self._columns.values()


def _zeros(rows: int, kind: type[np.generic] | tuple[type[np.generic], int]) -> NDArray[Any]:
    if isinstance(kind, tuple):
        return np.zeros((rows, kind[1]), kind[0])
    return np.zeros(rows, kind)
