"""Content topics (DHT broker s3): points and boxes of an information space, as text.

`weather:Piscataway,NJ/29/48.9` is a point, `weather:*,NJ/>25/<50` a box. A side is `*` (any); a string, `pre*`, `*suf`
or `pre*suf`; `a|b|c`; or a number or xs:dateTime as `<n`, `<=n`, `>n`, `>=n`, `a..b` (both included) or `n`. In strings
`/ | * % < >` and a dot at either end are written as in URIs, `%2F`.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from math import inf, isfinite
from typing import TypeVar

from tocsin.model.filters import InBox
from tocsin.model.names import LONGEST_TOPIC
from tocsin.model.refusal import Refusal
from tocsin.model.space import (
    FIRST_TIME,
    LAST_TIME,
    WHOLE,
    Coordinate,
    Dimension,
    InformationSpace,
    Interval,
    Like,
    OneOf,
    Point,
    Side,
)

CONTENT_TOPIC = "contenttopic"  # the attribute of a notification that holds its content topic, as CloudEvents has it
MOST_MEMBERS = 256  # of a set

_SPACE = " \t\r\n"
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,5})?", re.ASCII)
_DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = 1e-6  # times are read to the microsecond
_RESERVED = re.compile(r"[*|<>]|%(?![0-9A-Fa-f]{2})|^\.\.|\.\.\Z")
_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_TO_ENCODE = re.compile(r"[/|*%<>\x00-\x1f\x7f]|^[. ]|[. ]\Z")
_Read = TypeVar("_Read")


class _Wrong(ValueError):
    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


def space_of(text: str) -> str:
    """The name before the colon; empty when there is none."""
    return text.partition(":")[0].strip(_SPACE) if ":" in text else ""


def parse_box(text: str, space: InformationSpace) -> InBox:
    """Equal boxes are read from texts that say the same with the members of sets in another order."""
    return InBox(space.name, tuple(_at_the_door(text, space, _side)))


def parse_point(text: str, space: InformationSpace) -> Point:
    return tuple(_at_the_door(text, space, _coordinate))


def point_in(space: InformationSpace, text: str) -> Point | None:
    """None for what is no point of that space."""
    try:
        return tuple(_each(text, space, _coordinate))
    except _Wrong:
        return None


def write_box(box: InBox, space: InformationSpace) -> str:
    sides = zip(space.dimensions, box.sides, strict=True)
    return f"{space.name}:{'/'.join(_side_text(dimension, side) for dimension, side in sides)}"


def write_point(point: Point, space: InformationSpace) -> str:
    coordinates = zip(space.dimensions, point, strict=True)
    return f"{space.name}:{'/'.join(_coordinate_text(dimension, each) for dimension, each in coordinates)}"


def _at_the_door(text: str, space: InformationSpace, read: Callable[[Dimension, str, int], _Read]) -> list[_Read]:
    try:
        return list(_each(text, space, read))
    except _Wrong as wrong:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        why = f"content topic {shown!r}, position {wrong.at}: {wrong}"
        raise Refusal("bad-topic-expression", why) from None


def _each(text: str, space: InformationSpace, read: Callable[[Dimension, str, int], _Read]) -> Iterator[_Read]:
    if len(text) > LONGEST_TOPIC:
        raise _Wrong(LONGEST_TOPIC, f"it has {len(text)} characters, {LONGEST_TOPIC} are allowed")
    name, colon, rest = text.partition(":")
    if not colon:
        raise _Wrong(len(text), "a colon is expected after the name of the space")
    if name != space.name and name.lstrip(_SPACE) != space.name:
        raise _Wrong(0, f"the space {space.name!r} was expected")
    parts, at = rest.rstrip(_SPACE).split("/"), len(name) + 1
    if len(parts) != len(space.dimensions):
        raise _not_so_many(parts, at, space)
    for dimension, part in zip(space.dimensions, parts, strict=True):
        yield read(dimension, part, at)
        at += len(part) + 1


def _not_so_many(parts: list[str], at: int, space: InformationSpace) -> _Wrong:
    """Where the first dimension is that does not exist, or the first that is missing."""
    known = parts[: len(space.dimensions)]
    names = ", ".join(each.name for each in space.dimensions)
    beyond = "there is no such dimension" if len(parts) > len(known) else "a dimension is missing"
    why = f"{beyond}; {len(space.dimensions)} are expected: {names}"
    return _Wrong(at + sum(map(len, known)) + len(known) - (beyond == "a dimension is missing"), why)


def _side(dimension: Dimension, part: str, at: int) -> Side:
    if part == "*":
        return WHOLE
    if not part:
        raise _Wrong(at, f"nothing is said of {dimension.name}; write * for any")
    match dimension.kind:
        case "enumeration":
            chosen = {_member(dimension, each, position) for each, position in _members(part, at)}
            return OneOf(tuple(each for each in dimension.values if each in chosen))
        case "string" if "|" in part:
            return OneOf(tuple(sorted({_text(each, position) for each, position in _members(part, at)})))
        case "string" if "*" in part:
            return _like(part, at)
        case "string":
            return OneOf((_text(part, at),))
    side = _interval(dimension, part, at)
    (low, high), (lowest, highest) = side.closed, dimension.ends
    if ".." in part and low > high:
        raise _Wrong(at, f"no point lies in it: {dimension.name} has its smaller end first")
    if max(low, lowest) > min(high, highest):
        raise _Wrong(at, f"no point lies in it: {dimension.name} {_range_text(dimension)}")
    return side


def _members(part: str, at: int) -> Iterator[tuple[str, int]]:
    if part.count("|") >= MOST_MEMBERS:
        raise _Wrong(at, f"a set of {part.count('|') + 1} members, {MOST_MEMBERS} are allowed; use several boxes")
    for each in part.split("|"):
        yield each, at
        at += len(each) + 1


def _like(part: str, at: int) -> Like:
    prefix, _, suffix = part.partition("*")
    after = at + len(prefix) + 1
    if "*" in suffix:
        raise _Wrong(after + suffix.index("*"), "a second *; one is allowed in a side, the character is written %2A")
    return Like(_text(prefix, at) if prefix else "", _text(suffix, after) if suffix else "")


def _interval(dimension: Dimension, part: str, at: int) -> Interval:
    after = at + 2 if part[1:2] == "=" else at + 1
    match part[0], part[1:2] == "=":
        case "<", is_closed:
            return Interval(high=_number(dimension, part[after - at :], after), high_open=not is_closed)
        case ">", is_closed:
            return Interval(low=_number(dimension, part[after - at :], after), low_open=not is_closed)
    low, dots, high = part.partition("..")
    first = _number(dimension, low, at)
    return Interval(first, _number(dimension, high, at + len(low) + 2) if dots else first)


def _range_text(dimension: Dimension) -> str:
    if (dimension.low, dimension.high) == (-inf, inf):
        return "has its smaller end first"
    ends = (_number_text(dimension, each) if isfinite(each) else "any" for each in (dimension.low, dimension.high))
    return "is between {} and {}".format(*ends)


def _coordinate(dimension: Dimension, part: str, at: int) -> Coordinate:
    match dimension.kind:
        case "string":
            return _text(part, at)
        case "enumeration":
            return _member(dimension, part, at)
    number = _number(dimension, part, at)
    if not dimension.low <= number <= dimension.high:
        raise _Wrong(at, f"{part} is outside: {dimension.name} {_range_text(dimension)}")
    return number


def _number(dimension: Dimension, part: str, at: int) -> float:
    if dimension.kind == "time":
        found = _DATE_TIME.fullmatch(part)
        if found is None:
            raise _Wrong(at, f"{dimension.name} is a time, such as 2030-01-31T12:00:00Z, not {part[:40]!r}")
        if found[3] is None:
            raise _Wrong(at + len(part), "a time has a zone: write Z, or an offset such as +01:00")
        try:
            when = datetime.fromisoformat(f"{found[1]}.{(found[2] or '').ljust(6, '0')}{found[3]}")
        except ValueError as problem:
            raise _Wrong(at, f"there is no such time: {problem}") from None
        seconds = (when - _EPOCH).total_seconds()
        if not FIRST_TIME <= seconds <= LAST_TIME:
            raise _Wrong(at, "in UTC, it is outside the years 1 to 9999")
        return seconds
    number = float(part) + 0.0 if _NUMBER.fullmatch(part) else inf  # -0 is 0
    if not isfinite(number):
        raise _Wrong(at, f"{dimension.name} is a number, such as 29 or -1.5e3, not {part[:40]!r}")
    return number


def _member(dimension: Dimension, part: str, at: int) -> str:
    value = _text(part, at)
    if value not in dimension.values:
        shown = ", ".join(dimension.values[:10]) + (", ..." if len(dimension.values) > 10 else "")
        raise _Wrong(at, f"{dimension.name} has no value {value[:40]!r}; it is one of {shown}")
    return value


def _text(part: str, at: int) -> str:
    if not part:
        raise _Wrong(at, "a value is expected")
    if (found := _RESERVED.search(part)) is not None:
        why = f"{found[0]!r} has no meaning here; as a character of a string it is written %{ord(found[0][0]):02X}"
        raise _Wrong(at + found.start(), why)
    return _ENCODED.sub(lambda encoded: _decoded(encoded, at), part) if "%" in part else part


def _decoded(encoded: re.Match[str], at: int) -> str:
    try:
        return bytes.fromhex(encoded[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        raise _Wrong(at + encoded.start(), f"{encoded[0]} is not UTF-8") from None


def _side_text(dimension: Dimension, side: Side) -> str:
    match side:
        case Like(prefix, suffix):
            return f"{_encoded(prefix)}*{_encoded(suffix)}"
        case OneOf(values):
            return "|".join(map(_encoded, values))
        case Interval():
            low, high = side.low, side.high
            if (low, high) == (-inf, inf):
                return "*"
            if low == -inf:
                return f"<{'' if side.high_open else '='}{_number_text(dimension, high)}"
            if high == inf:
                return f">{'' if side.low_open else '='}{_number_text(dimension, low)}"
            low, high = _closed(dimension, side)
            text = _number_text(dimension, low)
            return text if low == high else f"{text}..{_number_text(dimension, high)}"


def _closed(dimension: Dimension, side: Interval) -> tuple[float, float]:
    """Both ends inside, which the grammar wants of two; the coordinates in between are the same."""
    if dimension.kind == "time":
        return side.low + side.low_open * _TICK, side.high - side.high_open * _TICK
    return side.closed


def _coordinate_text(dimension: Dimension, value: Coordinate) -> str:
    return _encoded(value) if isinstance(value, str) else _number_text(dimension, value)


def _number_text(dimension: Dimension, value: float) -> str:
    if dimension.kind == "time":
        return (_EPOCH + timedelta(seconds=value)).isoformat().removesuffix("+00:00") + "Z"
    return repr(value).removesuffix(".0")


def _encoded(text: str) -> str:
    return _TO_ENCODE.sub(lambda character: f"%{ord(character[0]):02X}", text)
