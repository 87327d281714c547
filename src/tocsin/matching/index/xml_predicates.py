"""The predicates of steps at one place of the XML walk: finds those that hold without asking each.

A predicate is entered under keys, one of which every element has that it holds of: of thousands of items by name few
are looked at. Where a key says all that is asked, nothing else is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf, isfinite, nextafter
from typing import TypeVar

import numpy as np
from msgspec import Struct

from tocsin.markup.conditions import Compare, Condition, Constant, Every, Exists, Negated, Some, XmlPath
from tocsin.markup.content import compares, holds, number

_FEW = 16  # for so many intervals an array is not worth its overhead
_K = TypeVar("_K")

Test = Callable[[Mapping[str, str]], bool]
Tests = dict[XmlPath, Test | None]  # None where the key is all that is asked


class Is(Struct, frozen=True):
    """An attribute with this value."""

    name: str
    value: str


class Within(Struct, frozen=True):
    """An attribute that is a number from `low` to `high`."""

    name: str
    low: float
    high: float


class Has(Struct, frozen=True):
    """An attribute of this name."""

    name: str


Key = Is | Within | Has
_COST: dict[type[Key], int] = {Is: 1, Within: 1_000, Has: 1_000_000}


def keys_of(asked: Condition) -> tuple[Key, ...] | None:
    """Of what it holds has one of these keys, at least; None if there are no such keys."""
    match asked:
        case Compare(path=XmlPath(leaf=leaf), how=how, value=value):
            return (_key(leaf[1:], how, value),)
        case Exists(path=XmlPath(leaf=leaf)):
            return (Has(leaf[1:]),)
        case Every(conditions):
            keys = [each for each in map(keys_of, conditions) if each is not None]
            return min((*keys, *_together(keys)), key=_cost, default=None)
        case Some(conditions):
            return _either(map(keys_of, conditions))
        case Negated(Negated(of)):
            return keys_of(of)
        case Negated(Some(conditions)):
            return keys_of(Every(tuple(map(Negated, conditions))))
        case Negated(Every(conditions)):
            return keys_of(Some(tuple(map(Negated, conditions))))
    return None


def _key(name: str, how: str, value: Constant) -> Key:
    if isinstance(value, str) and how == "=":
        return Is(name, value)
    if not isinstance(value, float) or not isfinite(value):
        return Has(name)
    match how:
        case "=":
            return Within(name, value, value)
        case "<":
            return Within(name, -inf, nextafter(value, -inf))
        case "<=":
            return Within(name, -inf, value)
        case ">":
            return Within(name, nextafter(value, inf), inf)
        case ">=":
            return Within(name, value, inf)
    return Has(name)


def _together(keys: Iterable[tuple[Key, ...]]) -> Iterator[tuple[Key, ...]]:
    """Both ends of an interval as one key."""
    ends: dict[str, Within] = {}
    for each in keys:
        match each:
            case (Within(name, low, high),):
                known = ends.get(name, Within(name, -inf, inf))
                ends[name] = Within(name, max(low, known.low), min(high, known.high))
    return ((each,) for each in ends.values())


def _either(keys: Iterable[tuple[Key, ...] | None]) -> tuple[Key, ...] | None:
    together: dict[Key, None] = {}
    for each in keys:
        if each is None:
            return None
        together.update(dict.fromkeys(each))
    return tuple(together)


def _cost(keys: tuple[Key, ...]) -> float:
    """Intervals with two ends have less in them."""
    return sum(
        _COST[type(each)] * (1 + (isinstance(each, Within) and (each.low == -inf or each.high == inf))) for each in keys
    )


def _is_its_key(asked: Condition) -> bool:
    match asked:
        case Compare(how=how, value=value):
            return (
                how == "=" if isinstance(value, str) else how != "!=" and isinstance(value, float) and isfinite(value)
            )
        case Exists():
            return True
        case Some(conditions):
            return all(map(_is_its_key, conditions))
    return False


def test_of(asked: Condition) -> Test:
    """Whether it holds of the attributes of an element: taken apart once, for thousands may be asked."""
    match asked:
        case Compare(path=XmlPath(leaf=leaf), how="=", value=str(value)):
            name = leaf[1:]
            return lambda attributes: attributes.get(name) == value
        case Compare(path=XmlPath(leaf=leaf), how="!=", value=str(value)):
            name = leaf[1:]
            return lambda attributes: attributes.get(name, value) != value
        case Compare(path=XmlPath(leaf=leaf) as path, how=how, value=value):
            name, constant = leaf[1:], value
            return lambda attributes: name in attributes and compares(path, attributes[name], how, constant)
        case Exists(path=XmlPath(leaf=leaf)):
            name = leaf[1:]
            return lambda attributes: name in attributes
        case Negated(Compare(path=XmlPath(leaf=leaf), how="=", value=str(value))):
            name = leaf[1:]
            return lambda attributes: attributes.get(name) != value
        case Negated(of):
            negated = test_of(of)
            return lambda attributes: not negated(attributes)
        case Every((one, other)):
            first, second = test_of(one), test_of(other)
            return lambda attributes: first(attributes) and second(attributes)
        case Every(conditions):
            every = tuple(map(test_of, conditions))
            return lambda attributes: all(each(attributes) for each in every)
        case Some(conditions):
            some = tuple(map(test_of, conditions))
            return lambda attributes: any(each(attributes) for each in some)
    return lambda _: holds(asked, lambda _: ())


class Intervals:
    """The intervals of one attribute, and which of them contain a number."""

    __slots__ = ("_at", "_highs", "_lows", "_tests")

    def __init__(self) -> None:
        self._lows, self._highs = array("d"), array("d")
        self._tests: list[tuple[XmlPath, Test | None]] = []
        self._at: dict[tuple[XmlPath, Within], int] = {}

    def __len__(self) -> int:
        return len(self._tests)

    def enter(self, key: Within, path: XmlPath, test: Test | None) -> None:
        self._at[path, key] = len(self._tests)
        self._lows.append(key.low)
        self._highs.append(key.high)
        self._tests.append((path, test))

    def leave(self, key: Within, path: XmlPath) -> None:
        """The last one takes its position."""
        at, low, high, last = self._at.pop((path, key)), self._lows.pop(), self._highs.pop(), self._tests.pop()
        if at < len(self._tests):
            self._lows[at], self._highs[at], self._tests[at] = low, high, last
            self._at[last[0], Within(key.name, low, high)] = at

    def around(self, value: float) -> Iterator[tuple[XmlPath, Test | None]]:
        if len(self._tests) <= _FEW:
            ends = zip(self._lows, self._highs, self._tests, strict=True)
            return (each for low, high, each in ends if low <= value <= high)
        lows, highs = np.frombuffer(self._lows), np.frombuffer(self._highs)
        within = np.flatnonzero((lows <= value) & (value <= highs)).tolist()
        return (self._tests[at] for at in within)


class Predicates:
    __slots__ = ("_count", "_equal", "_intervals", "_named", "_others")

    def __init__(self) -> None:
        self._count = 0
        self._equal: dict[tuple[str, str], Tests] = {}
        self._intervals: dict[str, Intervals] = {}
        self._named: dict[str, Tests] = {}
        self._others: Tests = {}

    def __len__(self) -> int:
        return self._count

    def enter(self, path: XmlPath, asked: Condition) -> None:
        self._count += 1
        keys, test = keys_of(asked), None if _is_its_key(asked) else test_of(asked)
        if keys is None:
            self._others[path] = test
        for key in keys or ():
            match key:
                case Is(name, value):
                    self._equal.setdefault((name, value), {})[path] = test
                case Within(name):
                    self._intervals.setdefault(name, Intervals()).enter(key, path, test)
                case Has(name):
                    self._named.setdefault(name, {})[path] = test

    def leave(self, path: XmlPath, asked: Condition) -> None:
        self._count -= 1
        keys = keys_of(asked)
        if keys is None:
            del self._others[path]
        for key in keys or ():
            match key:
                case Is(name, value):
                    _leave(self._equal, (name, value), path)
                case Within(name):
                    self._intervals[name].leave(key, path)
                    if not len(self._intervals[name]):
                        del self._intervals[name]
                case Has(name):
                    _leave(self._named, name, path)

    def satisfied(self, items: list[tuple[str, str]]) -> Iterable[XmlPath]:
        """The paths whose predicate holds of an element with these attributes, each once."""
        equal = self._equal
        found: Tests = {}
        for item in items:
            if (tests := equal.get(item)) is not None:
                found.update(tests)
        if self._named or self._intervals or self._others:
            for others in self._searched(items):
                found.update(others)
        if any(found.values()):
            attributes = dict(items)
            return [path for path, test in found.items() if test is None or test(attributes)]
        return found

    def _searched(self, items: list[tuple[str, str]]) -> Iterator[Tests | Iterator[tuple[XmlPath, Test | None]]]:
        """Those with other keys, or none."""
        yield self._others
        for name, value in items:
            if (named := self._named.get(name)) is not None:
                yield named
            if (intervals := self._intervals.get(name)) is not None:
                yield intervals.around(number(value))


def _leave(entered: dict[_K, Tests], key: _K, path: XmlPath) -> None:
    del entered[key][path]
    if not entered[key]:
        del entered[key]
