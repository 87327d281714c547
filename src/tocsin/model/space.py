"""Information spaces (DHT broker s3): named, typed dimensions. A point lies in one, a box is a region of it.

Numbers compare as numbers; a time is a number too, the seconds since 1970.
"""

from math import inf, isfinite, nextafter
from sys import float_info
from typing import Literal, Union

from msgspec import Struct

from tocsin.model.names import NCNAME
from tocsin.model.refusal import Refusal

Kind = Literal["string", "number", "enumeration", "time"]
Coordinate = str | float

MOST_DIMENSIONS = 16
MOST_VALUES = 4096  # of an enumeration
LONGEST_NAME = 256
FIRST_TIME, LAST_TIME = -62_135_596_800.0, 253_402_300_799.0  # the years 1 to 9999, in UTC
_FINITE = float_info.max


class Dimension(Struct, frozen=True):
    """`low` and `high` bound a number or a time, both included; `values` are those of an enumeration, in its order."""

    name: str
    kind: Kind
    low: float = -inf
    high: float = inf
    values: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """Between which all its numbers are: a coordinate is finite."""
        return max(self.low, -_FINITE), min(self.high, _FINITE)


class InformationSpace(Struct, frozen=True, tag=True, cache_hash=True):
    name: str
    dimensions: tuple[Dimension, ...]


class Interval(Struct, frozen=True, tag=True):
    """A side of numbers or times. An open end does not belong to it."""

    low: float = -inf
    high: float = inf
    low_open: bool = False
    high_open: bool = False

    @property
    def closed(self) -> tuple[float, float]:
        """The same numbers between two ends that are both inside; the first is the greater when there are none."""
        low = nextafter(self.low, inf) if self.low_open else self.low
        return low, nextafter(self.high, -inf) if self.high_open else self.high

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, float):
            return False
        above = self.low < value if self.low_open else self.low <= value
        return above and (value < self.high if self.high_open else value <= self.high)


class OneOf(Struct, frozen=True, tag=True):
    """A side of strings, or of values of an enumeration."""

    values: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.values


class Like(Struct, frozen=True, tag=True):
    """A side of strings with this prefix and this suffix, which do not overlap; with neither, any coordinate."""

    prefix: str = ""
    suffix: str = ""

    def __contains__(self, value: object) -> bool:
        if not self.prefix and not self.suffix:
            return True
        return (
            isinstance(value, str)
            and len(value) >= len(self.prefix) + len(self.suffix)
            and value.startswith(self.prefix)
            and value.endswith(self.suffix)
        )


WHOLE = Like()
Side = Union[Interval, OneOf, Like]  # noqa: UP007 - msgspec reads it
Point = tuple[Coordinate, ...]


def within(dimension: Dimension, side: Side) -> Side:
    """The same coordinates of that dimension, and no others."""
    match dimension.kind, side:
        case "string", _:
            return side
        case "enumeration", _:
            return OneOf(tuple(value for value in dimension.values if value in side))
        case _, Interval():
            low, high = side.closed
            return Interval(max(low, dimension.low), min(high, dimension.high))
    return Interval(dimension.low, dimension.high)


def overlap(side: Side, told: Side) -> bool:
    """Whether a coordinate is in both; `told` has those of its dimension alone, and some."""
    match side, told:
        case _, OneOf(values):
            return any(each in side for each in values)
        case OneOf(values), _:
            return any(each in told for each in values)
        case Like(prefix, suffix), Like():
            begins = prefix.startswith(told.prefix) or told.prefix.startswith(prefix)
            return begins and (suffix.endswith(told.suffix) or told.suffix.endswith(suffix))
        case Interval(), Interval():
            (low, high), (first, last) = side.closed, told.closed
            return max(low, first) <= min(high, last)
    return side == WHOLE


def check_space(space: InformationSpace) -> None:
    """Raises `Refusal` for a declaration in which no point could be told from another."""
    if (wrong := _wrong_with(space)) is not None:
        raise Refusal("malformed", f"information space {space.name[:80]!r}: {wrong}")


def _wrong_with(space: InformationSpace) -> str | None:
    names = [each.name for each in space.dimensions]
    if not _is_name(space.name):
        return f"its name is not an NCName of at most {LONGEST_NAME} characters"
    if not 1 <= len(names) <= MOST_DIMENSIONS:
        return f"it has {len(names)} dimensions, declare 1 to {MOST_DIMENSIONS}"
    if len(set(names)) < len(names):
        return "two dimensions have the same name"
    wrongs = ((each, _wrong_in(each)) for each in space.dimensions)
    return next((f"dimension {each.name[:80]!r}: {wrong}" for each, wrong in wrongs if wrong), None)


def _wrong_in(dimension: Dimension) -> str | None:
    is_ranged = (dimension.low, dimension.high) != (-inf, inf)
    values = dimension.values
    if not _is_name(dimension.name):
        return f"its name is not an NCName of at most {LONGEST_NAME} characters"
    match dimension.kind:
        case "string" | "enumeration" if is_ranged:
            return f"a range is of numbers or times, not of kind {dimension.kind}"
        case "string" | "number" | "time" if values:
            return f"values are of an enumeration, not of kind {dimension.kind}"
        case "number" | "time" if not dimension.low < dimension.high:
            return f"its range is {dimension.low} to {dimension.high}, the first has to be the smaller"
        case "time" if _beyond(dimension.low) or _beyond(dimension.high):
            return "its range is outside the years 1 to 9999"
        case "enumeration" if not 1 <= len(values) <= MOST_VALUES:
            return f"it has {len(values)} values, list 1 to {MOST_VALUES}"
        case "enumeration" if "" in values or len(set(values)) < len(values):
            return "each value is listed once, and none is empty"
    return None


def _beyond(time: float) -> bool:
    return isfinite(time) and not FIRST_TIME <= time <= LAST_TIME


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and NCNAME.fullmatch(text) is not None
