"""What stands at many paths of a JSON document: all found in one walk, which follows what both have."""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.markup.conditions import Constant
from tocsin.matching.evidence import constant_of
from tocsin.matching.index.value_index import ValueIndex

Steps = tuple[str | int, ...]


class _Place:
    __slots__ = ("below", "index")

    def __init__(self) -> None:
        self.below: dict[str | int, _Place] = {}
        self.index: ValueIndex | None = None


class JsonWalk:
    def __init__(self) -> None:
        self._root = _Place()

    def __bool__(self) -> bool:
        return self._root.index is not None or bool(self._root.below)

    def at(self, steps: Steps) -> ValueIndex | None:
        place: _Place | None = self._root
        for step in steps:
            place = None if place is None else place.below.get(step)
        return None if place is None else place.index

    def add(self, steps: Steps, index: ValueIndex) -> None:
        place = self._root
        for step in steps:
            place = place.below.setdefault(step, _Place())
        place.index = index

    def remove(self, steps: Steps) -> None:
        trail = [self._root]
        for step in steps:
            trail.append(trail[-1].below[step])
        trail[-1].index = None
        for step, above, place in zip(reversed(steps), reversed(trail[:-1]), reversed(trail), strict=False):
            if place.index is not None or place.below:
                return
            del above.below[step]

    def values(self, document: object) -> Iterator[tuple[ValueIndex, Constant]]:
        waiting = [(self._root, document)]
        while waiting:
            place, value = waiting.pop()
            if place.index is not None:
                yield place.index, constant_of(value)
            if place.below:
                waiting += _followed(place.below, value)

    def indexes(self) -> Iterator[ValueIndex]:
        waiting = [self._root]
        while waiting:
            place = waiting.pop()
            waiting += place.below.values()
            if place.index is not None:
                yield place.index


def _followed(below: dict[str | int, _Place], value: object) -> Iterator[tuple[_Place, object]]:
    """Whichever are fewer are looked up among the others; an index from the end is one more name of an element."""
    if isinstance(value, dict):
        names = value if len(value) < len(below) else below
        return ((below[name], value[name]) for name in names if name in below and name in value)
    if isinstance(value, list):
        size = len(value)
        if 2 * size < len(below):
            return ((below[at], value[at]) for at in range(-size, size) if at in below)
        return ((place, value[at]) for at, place in below.items() if isinstance(at, int) and -size <= at < size)
    return iter(())
