"""Comparisons with the values at one path: equality by look-up, order by limits; and the walk over JSON paths."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf, isnan, nextafter

from tocsin.markup.conditions import Attribute, Compare, Constant, Exists, JsonPath, Path
from tocsin.markup.content import constant_of, integer, number
from tocsin.matching.index.postings import HOLDS, HoldingAtoms

Levels = dict[int, float]  # of atoms that hold and of sides, by number
_BOOLEANS = {"true": (True,), "false": (False,)}


def is_ordered(asked: object) -> bool:
    return isinstance(asked, Compare) and asked.how not in ("=", "!=")


def bound_of(asked: Compare) -> float:
    """What the level of its side must reach. More than a number is at least the next one; upper bounds are negated."""
    value = asked.value
    assert isinstance(value, float)
    match asked.how:
        case ">=":
            return value
        case ">":
            return nextafter(value, inf)
        case "<=":
            return -value
    return -nextafter(value, -inf)


class ValueIndex:
    """The comparisons at one path, by atom number. Its two sides are the highest and the lowest value at the path."""

    __slots__ = (
        "_differs",
        "_is_attribute",
        "_is_json",
        "_numbers",
        "_ordered",
        "equal",
        "exists",
        "path",
        "sides",
    )

    def __init__(self, path: Path, sides: tuple[int, int]) -> None:
        self.path, self.sides = path, sides
        self._is_json, self._is_attribute = isinstance(path, JsonPath), isinstance(path, Attribute)
        self.equal: dict[Hashable, int] = {}
        self._differs: dict[Hashable, int] = {}
        self.exists = -1
        self._ordered = 0  # how many bounds there are
        self._numbers = 0  # how many compare numbers

    def __len__(self) -> int:
        return len(self.equal) + len(self._differs) + self._ordered + (self.exists >= 0)

    def side_of(self, asked: Compare) -> int:
        return self.sides[asked.how not in (">", ">=")]

    def add(self, atom: int, asked: Compare | Exists) -> None:
        if isinstance(asked, Exists):
            self.exists = atom
            return
        self._numbers += isinstance(asked.value, float)
        match asked.how:
            case "=":
                self.equal[key_of(asked.value)] = atom
            case "!=":
                self._differs[key_of(asked.value)] = atom

    def remove(self, asked: Compare | Exists) -> None:
        if isinstance(asked, Exists):
            self.exists = -1
            return
        self._numbers -= isinstance(asked.value, float)
        match asked.how:
            case "=":
                del self.equal[key_of(asked.value)]
            case "!=":
                del self._differs[key_of(asked.value)]

    def hold(self) -> None:
        """One bound more."""
        self._ordered += 1
        self._numbers += 1

    def release(self) -> None:
        """One bound less."""
        self._ordered -= 1
        self._numbers -= 1

    def number(self, asked: Compare | Exists) -> int | None:
        """Of an atom that is there; an ordered one has none here."""
        if isinstance(asked, Exists):
            return self.exists if self.exists >= 0 else None
        match asked.how:
            case "=":
                return self.equal.get(key_of(asked.value))
            case "!=":
                return self._differs.get(key_of(asked.value))
        return None

    def match(self, values: Sequence[Constant], holding: HoldingAtoms) -> None:
        for each in values:
            holding.reach(self.of_value(each))
        if self._differs and values:
            holding.hold(self.different(values))

    def of_value(self, value: Constant) -> Levels:
        """What one value makes hold, whatever others stand there; only that some value differs is not told."""
        numbers = list(self._as_numbers(value)) if self._numbers else []
        atoms = [self.exists] if self.exists >= 0 else []
        if self.equal:
            find = self.equal.get
            atoms += (atom for key in (*self._keys(value), *numbers) if (atom := find(key)) is not None)
        levels = dict.fromkeys(atoms, HOLDS)
        if self._ordered:
            levels |= {side: level for each in numbers for side, level in zip(self.sides, (each, -each), strict=True)}
        return levels

    def constants(self) -> int:
        return len(self.equal)

    def differs(self) -> bool:
        return bool(self._differs)

    def has_numbers(self) -> bool:
        """Whether what stands there is compared as a number."""
        return self._numbers > 0

    def is_bounded(self) -> bool:
        return self._ordered > 0

    def different(self, values: Iterable[Constant]) -> Iterator[int]:
        """Some value is another one: all hold as soon as there are two.

        What is not a number differs from every number (XPath 1.0 s3.4, IEEE 754).
        """
        values = list(values)
        texts = set(map(key_of, values))
        numbers = {inf if isnan(each) else each for each in map(number, values)} if self._numbers else set()
        for key, atom in self._differs.items():
            offered = numbers if isinstance(key, float) else texts
            if len(offered) > 1 or key not in offered:
                yield atom

    def _keys(self, value: Constant) -> Iterator[Hashable]:
        """XML and attributes are strings; an attribute may also be meant as a boolean (CloudEvents SQL s3.4)."""
        yield key_of(value)
        if self._is_attribute and isinstance(value, str) and (key := _BOOLEANS.get(value.lower())) is not None:
            yield key

    def _as_numbers(self, value: Constant) -> Iterator[float]:
        """At most one, and never NaN."""
        if self._is_json:
            found = value if isinstance(value, float) else None
        else:
            found = integer(value) if self._is_attribute else number(value)
        if found is not None and found == found:
            yield found


def key_of(value: Constant) -> Hashable:
    """One key for one constant: to a dictionary `True` is `1.0`."""
    return (value,) if isinstance(value, bool) or value is None else value


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
